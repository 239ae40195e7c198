"""Settings to a run: load checklists, check settings against them, build models, assign cases."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair import benchmarks, models
from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.asking import AS_WE_DO, PublishedSetup
from pytest_factorfair.config.options import CHECKLISTS
from pytest_factorfair.config.settings import CANARY, TINY, Settings
from pytest_factorfair.domain import Checklist, Sampling, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices
from pytest_factorfair.runs.run import SIZES, Assignment, Run
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.models import Factory, Model
    from pytest_factorfair.ray.fleet import Fleet


def compose(
    settings: Settings,
    custom: Mapping[str, Factory],
    detectors: Mapping[str, DetectorFactory],
    *,
    checklists: tuple[Checklist, ...] | None = None,
    announce: Callable[[str], None] = lambda _line: None,
) -> Run:
    """The run of these settings; ``custom`` and ``detectors`` are the user's factories, by scheme or spec.

    A worker gets the ``checklists`` of its controller; otherwise they are read, and if that takes seconds,
    ``announce`` is called.

    Raises:
        InputError: a checklist, model, detector or argument is wrong.
    """
    loaded = load(settings, announce) if checklists is None else checklists
    for checklist in loaded:
        _check_settings(settings, checklist)
    sampling = settings.sampling.of(loaded[0].modality)
    built = Builder(settings, loaded, custom, detectors).build()
    if built.detector is not None:
        _check_faces(settings, loaded, built.detector)
    run = Run(
        settings=settings,
        checklists=loaded,
        sampling=sampling,
        given_price=prices.given(settings.model_arguments),
        models=built.models,
        detector=built.detector,
        assignments=_assign(settings, loaded, sampling),
        cluster=built.cluster,
    )
    if settings.batch:
        Wing.BATCHES.enter().check(run)
    return _matched(run)


def _matched(run: Run) -> Run:
    """The run with each log matched to its queries; if answers exist already, gates have one look.

    Raises:
        InputError: a log cannot be matched.
    """
    matched = {
        spec: match(
            ((case.checklist, run.queries(case)) for case in run.assignments if case.model == spec),
            seed=run.sampling.seed,
        )
        for spec, model in run.models.items()
        if (match := getattr(model, "matched", None)) is not None
    }
    if not any(map(models.source_of, run.models.values())):
        return run
    return replace(run, models={**run.models, **matched}, settings=replace(run.settings, looks=1))


LARGE = 4_000_000
"""Bytes of a list of questions that take seconds to read."""


def load(settings: Settings, announce: Callable[[str], None] = lambda _line: None) -> tuple[Checklist, ...]:
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
    base = Path(settings.base)
    for name in checklist_names:
        if (size := benchmarks.size(name, base=base)) > LARGE:
            announce(f"reading {Path(name).name}, {size / 1e6:,.0f} MB ...")
    loaded = tuple(
        benchmarks.load(name, truth=settings.truth, base=base, tiny=settings.preset == TINY)
        for name in checklist_names
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


def _check_settings(settings: Settings, checklist: Checklist) -> None:
    """Check that the run's kind of checklist has a use for all settings.

    Raises:
        InputError: it names the setting that has none.
    """
    if settings.preset == CANARY and checklist.protocol != CANARY:
        raise InputError(
            f"{settings.where('checklist')}: checklist '{checklist.name}' is not a canary; "
            f"leave the option out with {settings.where('preset')}={CANARY}"
        )
    if settings.explain and checklist.modality == "image":
        raise InputError(f"{settings.where('explain')}: a picture gives no reason; leave the option out")
    if settings.sizes and not set(settings.sizes) & set(SIZES[checklist.modality]):
        sizes = "text; give N or objective=N" if checklist.modality == "text" else "pictures; give images=N"
        raise InputError(f"{settings.where('samples')}: checklist '{checklist.name}' asks for {sizes}")
    if settings.answers != "text" and checklist.modality == "image":
        raise InputError(f"{settings.where('answers')}: a picture has no letters; leave the option out")
    if settings.answers != "text" and checklist.protocol == CANARY:
        raise InputError(f"{settings.where('answers')}: a canary compares words; leave the option out")
    if settings.answers == "probabilities" and not benchmark_of(checklist).counts_probabilities:
        raise InputError(
            f"{settings.where('answers')}: the benchmark of checklist '{checklist.name}' counts no "
            "probabilities; take text or json"
        )
    if settings.replicas.detectors and checklist.modality == "text":
        raise InputError(f"{settings.where('replicas')}: text needs no detector; leave detectors= out")


SIMULATED = "sim"
"""The detector of simulated models' pictures, which need not be named."""


class ModelsAndDetector(NamedTuple):
    """The models by spec, the detector of pictures, and their replicas in a cluster."""

    models: Mapping[str, Model]
    detector: Detector | None
    cluster: Fleet | None = None


class Builder:
    """Builds what a run asks; ``custom`` and ``detectors`` are the user's factories, by scheme or spec."""

    def __init__(
        self,
        settings: Settings,
        checklists: tuple[Checklist, ...],
        custom: Mapping[str, Factory],
        detectors: Mapping[str, DetectorFactory],
    ) -> None:
        self._settings = settings
        self._checklists = checklists
        self._custom = custom
        self._detectors = detectors
        self._asking = settings.reuse != "only" and not settings.plan
        self._published = _published(checklists) if settings.preset == "paper" else AS_WE_DO
        self._build_model = partial(
            models.build,
            arguments={
                name: value
                for name, value in settings.model_arguments.items()
                if name not in prices.ARGUMENTS
            },
            checklists=checklists,
            answers=settings.answers,
            asked=self._asking,
            defaults=self._published.arguments,
            folder=settings.folder,
        )

    def build(self) -> ModelsAndDetector:
        """Build the models in the order in which they were named, then the detector.

        Raises:
            InputError: one cannot be built, and the store does not describe it either.
            StoreError: the store of a replay cannot be read.
        """
        built = ModelsAndDetector(
            {spec: self._model(spec) for spec in self._settings.models}, self._detector()
        )
        return built if self._settings.cluster is None or not self._asking else self._replicated(built)

    def _model(self, spec: str) -> Model:
        try:
            return self._build_model(spec, custom=self._custom)
        except InputError:  # no weights, no key, no such package
            from pytest_factorfair.runs.stored import stored_model

            if (stored := stored_model(self._settings, spec)) is None:
                raise
            return stored

    def _detector(self) -> Detector | None:
        """The detector of an image checklist; simulated models need none to be named."""
        settings, spec, first_checklist = self._settings, self._settings.detector, self._checklists[0]
        if first_checklist.modality == "text":
            if spec is not None:
                raise InputError(
                    f"{settings.where('detector')} {spec}: a detector reads pictures, and the checklist "
                    f"'{first_checklist.name}' is asked of language models; leave the option out"
                )
            return None
        from pytest_factorfair import detection

        if spec is None:
            real = next((named for named in settings.models if not named.startswith("sim:")), None)
            if real is not None:
                raise InputError(
                    f"model '{real}': its pictures need a detector; give "
                    "--factorfair-detector fairface:FILE?faces=FILE"
                )
            spec = SIMULATED
        try:
            built = detection.build(
                spec, custom=self._detectors, defaults=self._published.detector, asked=self._asking
            )
            for checklist in self._checklists:
                detection.check(built, checklist.uncrossed)
        except InputError as error:  # no weights, no such package
            from pytest_factorfair.runs.stored import stored_detector

            return stored_detector(settings, spec, error)
        return built

    def _replicated(self, built: ModelsAndDetector) -> ModelsAndDetector:
        """Leave the work to replicas in a cluster, where another machine can build the model or detector."""
        settings, detector = self._settings, built.detector
        fleet: Fleet = Wing.RAY.enter().Fleet(settings.cluster or "", settings.replicas)
        replicated = {}
        for spec, local in built.models.items():
            rebuild = partial(self._build_model, spec, custom={})
            replicable = models.replicable(spec, self._custom)
            replicated[spec] = fleet.model(spec, local, rebuild if replicable else None)
        if detector is not None and settings.replicas.detectors:
            detector = fleet.detector(settings.detector or SIMULATED, detector, self._rebuilds(detector))
        return ModelsAndDetector(replicated, detector, fleet)

    def _rebuilds(self, detector: Detector) -> Callable[[], Detector] | None:
        """What builds the detector on another machine; None if it is the user's or asks a model."""
        from pytest_factorfair import detection
        from pytest_factorfair.detection.vision import VisionDetector

        spec = self._settings.detector or SIMULATED
        asks_here = isinstance(detector, VisionDetector)  # its model is asked by this process's engine
        if asks_here or {spec, spec.partition(":")[0]} & self._detectors.keys():
            return None
        return partial(detection.build, spec, custom={}, defaults=self._published.detector)


def _published(checklists: Sequence[Checklist]) -> PublishedSetup:
    """How the papers of these checklists made and read pictures; the first checklist takes precedence."""
    arguments, detector = zip(*(benchmark_of(checklist).published for checklist in checklists), strict=True)
    return PublishedSetup(dict(ChainMap(*arguments)), dict(ChainMap(*detector)))


def _check_faces(settings: Settings, loaded: tuple[Checklist, ...], detector: Detector) -> None:
    """Check that the detector returns all faces of a picture if a benchmark counts them.

    Raises:
        InputError: the detector gives at most one.
    """
    from pytest_factorfair.detection import merging

    option = merging(detector)
    for checklist in loaded:
        if option and benchmark_of(checklist).counts_every_face:
            raise InputError(
                f"{settings.where('detector')}: checklist '{checklist.name}' counts every face of a picture; "
                f"leave {option} out"
            )


def _assign(settings: Settings, loaded: tuple[Checklist, ...], sampling: Sampling) -> tuple[Assignment, ...]:
    """Every case, assigned to every model.

    Raises:
        InputError: two models would have the same name in test ids, a checklist has no case, or there are
            more shards than cases.
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
    cases = [(checklist, case) for checklist in loaded for case in benchmarks.cases(checklist, sampling)]
    for checklist in loaded:
        if not any(checklist is asked for asked, _ in cases):
            raise InputError(f"checklist '{checklist.name}' has nothing that preset {settings.preset} asks")
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
