"""A run: its checklists, models, detector, and the cases assigned to the models."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import models, protocols
from pytest_factorfair.config.options import CHECKLISTS
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import (
    Answer,
    Case,
    CaseKey,
    Checklist,
    Modality,
    Query,
    Sampling,
    asked,
    plural,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices
from pytest_factorfair.protocols import benchmark_of
from pytest_factorfair.protocols.protocol import AS_WE_DO, Published
from pytest_factorfair.session import shards, sizes

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.detection.vision import VisionDetector
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.models import Factory, Model
    from pytest_factorfair.models.cluster import Cluster
    from pytest_factorfair.models.prices import Price
    from pytest_factorfair.protocols.measurement import Counts

SIZES = {"text": {"samples", "objective", "repeats"}, "image": {"images"}}
"""The sizes that ``--factorfair-samples`` has for each kind of checklist."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A case assigned to a model; one parametrized item. ``id`` is its parameter id."""

    id: str
    model: str
    checklist: Checklist
    case: Case

    @property
    def key(self) -> CaseKey:
        return CaseKey(self.model, self.checklist.name, self.case.id)


@dataclass(frozen=True, eq=False)
class Run:
    """A run, the same in each of its processes; ``Execution`` holds the open resources of one of them.

    ``models`` are by spec; ``given_price`` applies to all of them. Replicas run in ``cluster``; None if this
    process asks every model itself. ``selected`` are the assignments that -k, -m or a path leave; None
    before pytest has collected them.
    """

    settings: Settings
    checklists: tuple[Checklist, ...]
    sampling: Sampling
    models: Mapping[str, Model]
    detector: Detector | None
    assignments: tuple[Assignment, ...]
    given_price: Price | None
    cluster: Cluster | None = None
    selected: tuple[Assignment, ...] | None = None

    def only(self, selected: Iterable[Assignment]) -> Run:
        """This run if it asks only these of its assignments, each once however many tests ask it."""
        return replace(self, selected=tuple({assignment.id: assignment for assignment in selected}.values()))

    @cached_property
    def to_ask(self) -> tuple[Assignment, ...]:
        """The assignments of this run's shard, or all, or those selected.

        Scores and gates always cover all assignments.
        """
        if self.selected is not None:
            return self.selected
        shard = self.settings.shard
        return self.assignments if shard is None else shards.part(self.assignments, shard)

    @cached_property
    def by_id(self) -> Mapping[str, Assignment]:
        return {assignment.id: assignment for assignment in self.assignments}

    @property
    def modality(self) -> Modality:
        return self.checklists[0].modality

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The declared gates.

        Raises:
            InputError: one cannot be judged in this run.
        """
        from pytest_factorfair import gates

        former = self.settings.baseline is not None
        declared = gates.expand(
            self.settings.gates, checklists=self.checklists, sampling=self.sampling, baseline=former
        )
        if declared:
            gates.check(declared, self.unasked, baseline=former)
        if granted := self.settings.waivers:
            terms = gates.Terms(waivers=tuple(gates.Waiver(*waiver) for waiver in granted))
            gates.check_floors(declared, self.unasked, terms)
        if declared:
            sizes.check(self, declared)
        return declared

    @cached_property
    def unasked(self) -> tuple[Counts, ...]:
        """The counts of the run before it asks anything."""
        from pytest_factorfair.session.tabulating import tabulate

        return tabulate(self, ())

    @cached_property
    def looking(self) -> VisionDetector | None:
        """The detector, if it asks a model about each picture."""
        if self.detector is None:
            return None
        from pytest_factorfair.detection.vision import VisionDetector

        return self.detector if isinstance(self.detector, VisionDetector) else None

    def check_prices(self) -> None:
        """Make sure that a limit on USD can be kept, before anything is asked.

        Raises:
            InputError: a price is unknown.
        """
        if self.settings.ceilings.cost is None:
            return
        for spec, model in self.models.items():
            if self.price(model) is None:
                raise InputError(
                    f"{self.settings.where('max-cost')}: the price of '{spec}' is unknown; "
                    f"{prices.remedy(self.modality)}, or limit --factorfair-max-calls"
                )
        if self.looking is not None and self.looking.price is None:
            raise InputError(
                f"{self.settings.where('max-cost')}: the price of the detector '{self.settings.detector}' is "
                "unknown; add price_in=USD&price_out=USD (per million tokens) or price=USD (per picture), "
                "or limit --factorfair-max-calls"
            )

    def check_hosts(self) -> None:
        """Make sure that the services can be found, before anything is asked.

        Raises:
            InputError: a host cannot be resolved.
        """
        asked = dict(self.models)
        if self.looking is not None:
            asked[self.settings.detector or ""] = self.looking.model
        # Only providers of services have a URL.
        services = {spec: url for spec, model in asked.items() if (url := getattr(model, "url", None))}
        if services:
            from pytest_factorfair.models.http_client import check_host

            for spec, url in services.items():
                check_host(spec, url)

    def price(self, model: Model) -> Price | None:
        """The price of a model's answers, from the user or else the model; None if unknown."""
        if self.looking is not None and model is self.looking.model:
            return self.looking.price
        return self.given_price or prices.of(model)

    def queries(self, assignment: Assignment) -> tuple[Query, ...]:
        return protocols.queries(assignment.checklist, assignment.case, self.sampling)

    @cached_property
    def explained(self) -> tuple[tuple[Assignment, Query], ...]:
        """The queries that ask for a reason, with their cases; none without ``--factorfair-explain``.

        A shard has none: the run that judges asks for reasons.
        """
        if not self.settings.explain or self.settings.shard:
            return ()
        return tuple(
            (assignment, query)
            for assignment in self.assignments
            for checklist, case in [(assignment.checklist, assignment.case)]
            if (query := benchmark_of(checklist).explained(checklist, case, self.sampling)) is not None
        )

    def had(self, assignment: Assignment, answers: Sequence[Answer], queries: Sequence[Query]) -> bool:
        """Whether a case's answers belong to the first of these queries and come from the run's own model.

        A conftest.py may have replaced the model, which only the item's process knows.
        """
        from pytest_factorfair import store

        recorded_keys = asked(answers)
        begun = queries[: len(recorded_keys)]
        if [query.id for query in begun] != list(recorded_keys):
            return False
        keys = store.keys(self.models[assignment.model].identity, begun)
        return all(recorded in ("", key) for recorded, key in zip(recorded_keys.values(), keys, strict=True))


def compose(
    settings: Settings,
    custom: Mapping[str, Factory],
    detectors: Mapping[str, DetectorFactory],
    *,
    checklists: tuple[Checklist, ...] | None = None,
) -> Run:
    """The run of these settings; ``custom`` and ``detectors`` are the user's factories, by scheme or spec.

    A worker gets the ``checklists`` of its controller; otherwise they are read.

    Raises:
        InputError: a checklist, model, detector or argument is wrong.
    """
    loaded = _load(settings) if checklists is None else checklists
    first_checklist = loaded[0]
    sampling = settings.sampling.of(first_checklist.modality)
    if settings.explain and first_checklist.modality == "image":
        raise InputError(f"{settings.where('explain')}: a picture gives no reason; leave the option out")
    if settings.sizes and not set(settings.sizes) & SIZES[first_checklist.modality]:
        asks = (
            "text; give N or objective=N" if first_checklist.modality == "text" else "pictures; give images=N"
        )
        raise InputError(f"{settings.where('samples')}: checklist '{first_checklist.name}' asks for {asks}")
    if settings.answers != "text" and first_checklist.modality == "image":
        raise InputError(f"{settings.where('answers')}: a picture has no letters; leave the option out")
    if settings.replicas.detectors and first_checklist.modality == "text":
        raise InputError(f"{settings.where('replicas')}: text needs no detector; leave detectors= out")
    arguments = {
        name: value for name, value in settings.model_arguments.items() if name not in prices.ARGUMENTS
    }
    asking = not (settings.replay or settings.plan or settings.explain_cache)
    as_published = _as_published(loaded) if settings.preset == "paper" else AS_WE_DO
    build = partial(
        models.build,
        checklists=loaded,
        custom=custom,
        answers=settings.answers,
        asked=asking,
        defaults=as_published.arguments,
    )
    built = {
        spec: shards.built_or_stored(settings, spec, partial(build, spec, arguments))
        for spec in settings.models
    }
    detector = _detector(settings, loaded, detectors, as_published.detector, asked=asking)
    cluster = None
    if settings.cluster is not None and asking:
        from pytest_factorfair import detection
        from pytest_factorfair.detection.replicas import ReplicatedDetector
        from pytest_factorfair.detection.vision import VisionDetector
        from pytest_factorfair.models.cluster import Cluster
        from pytest_factorfair.models.pool import Order
        from pytest_factorfair.models.replicas import ReplicatedModel

        cluster = Cluster(settings.cluster)
        for spec, local in built.items():
            if models.replicable(spec, custom):
                order = Order(spec, partial(build, spec, arguments, custom={}), local.identity)
                built[spec] = ReplicatedModel(local, order, cluster, settings.replicas)
        looks = isinstance(detector, VisionDetector)  # its model is asked by this process's engine
        if detector is not None and settings.replicas.detectors and not looks:
            spec = settings.detector or shards.SIMULATED
            if not {spec, spec.partition(":")[0]} & detectors.keys():
                rebuild = partial(detection.build, spec, custom={}, defaults=as_published.detector)
                order = Order(f"detector '{spec}'", rebuild, detector.identity)
                detector = ReplicatedDetector(detector, order, cluster, settings.replicas.detectors)
    return Run(
        settings=settings,
        checklists=loaded,
        sampling=sampling,
        given_price=prices.given(settings.model_arguments),
        models=built,
        detector=detector,
        assignments=_assign(settings, loaded, sampling),
        cluster=cluster,
    )


def _as_published(loaded: Sequence[Checklist]) -> Published:
    """How the papers of these checklists made and read their pictures; where they differ, the first one's."""
    arguments, detector = zip(*(benchmark_of(checklist).published for checklist in loaded), strict=True)
    return Published(dict(ChainMap(*arguments)), dict(ChainMap(*detector)))


def _load(settings: Settings) -> tuple[Checklist, ...]:
    """The run's checklists, which ask for one modality.

    Raises:
        InputError: one is wrong, or several cannot be combined.
    """
    checklist_names = settings.checklists
    if checklist_names is None:
        spec_by_modality = {models.modality(spec): spec for spec in settings.models}
        if len(spec_by_modality) > 1:
            raise InputError(
                f"model '{spec_by_modality['text']}' writes text, '{spec_by_modality['image']}' makes "
                "pictures: run one after the other"
            )
        checklist_names = tuple(CHECKLISTS[modality] for modality in spec_by_modality)
    loaded = tuple(
        protocols.load(name, truth=settings.truth, base=Path(settings.base)) for name in checklist_names
    )
    by_modality = {checklist.modality: checklist.name for checklist in loaded}
    if len(by_modality) > 1:
        text, image = by_modality["text"], by_modality["image"]
        raise InputError(f"checklist '{text}' asks for text, '{image}' for pictures: run one after the other")
    names = [checklist.name for checklist in loaded]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two checklists of this run are named '{name}': give one of them another name")
    return loaded


def _detector(
    settings: Settings,
    loaded: tuple[Checklist, ...],
    custom: Mapping[str, DetectorFactory],
    defaults: Mapping[str, str],
    *,
    asked: bool,
) -> Detector | None:
    """The detector of an image checklist; simulated models need none to be named.

    Raises:
        InputError: none is named, or it is wrong.
    """
    first_checklist, spec = loaded[0], settings.detector
    if first_checklist.modality == "text":
        if spec is not None:
            raise InputError(
                f"{settings.where('detector')} {spec}: a detector reads pictures, and the checklist "
                f"'{first_checklist.name}' is asked of language models; leave the option out"
            )
        return None
    from pytest_factorfair import detection

    if spec is None:
        real = next((model_spec for model_spec in settings.models if not model_spec.startswith("sim:")), None)
        if real is not None:
            raise InputError(
                f"model '{real}': its pictures need a detector; give "
                "--factorfair-detector fairface:FILE?faces=FILE"
            )
        spec = shards.SIMULATED
    try:
        built = detection.build(spec, custom=custom, defaults=defaults, asked=asked)
        for checklist in loaded:
            detection.check(built, [attribute for attribute in checklist.attributes if not attribute.crossed])
    except InputError as error:  # no weights, no such package
        return shards.stored_detector(settings, spec, error)
    return built


def _assign(settings: Settings, loaded: tuple[Checklist, ...], sampling: Sampling) -> tuple[Assignment, ...]:
    """Every case, assigned to every model.

    Raises:
        InputError: two models would have the same name in test ids, or there are more shards than cases.
    """
    slugs = {spec: models.slug(spec) for spec in settings.models}
    for spec, slug in slugs.items():
        twin = next(
            (candidate for candidate in slugs if candidate != spec and slugs[candidate] == slug), None
        )
        if twin is not None:
            raise InputError(
                f"models '{spec}' and '{twin}' would both be called '{slug}' in test ids: run one at a time"
            )
    cases = [(checklist, case) for checklist in loaded for case in protocols.cases(checklist, sampling)]
    assignments = []
    for spec in settings.models:
        for checklist, case in cases:
            prefix = [slugs[spec]] * (len(slugs) > 1) + [checklist.name] * (len(loaded) > 1)
            assignments.append(Assignment("-".join([*prefix, case.id]), spec, checklist, case))
    if settings.shard is not None and settings.shard.count > len(assignments):
        case_count, shard_limit = plural(len(assignments), "case"), plural(len(assignments), "shard")
        raise InputError(
            f"{settings.where('shard')}: there are {case_count} to ask; take {shard_limit} at most, not "
            f"{settings.shard.count}"
        )
    return tuple(assignments)
