"""Settings to a run: load checklists, check settings against them, build models, assign cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import benchmarks, models
from pytest_factorfair.config.options import CHECKLISTS
from pytest_factorfair.config.settings import CANARY, TINY, Settings
from pytest_factorfair.domain import Checklist, Sampling, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices
from pytest_factorfair.runs import batches
from pytest_factorfair.runs.building import Builder
from pytest_factorfair.runs.run import SIZES, Assignment, Run

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.models import Factory


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
    loaded = _load(settings, announce) if checklists is None else checklists
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
    batches.check(run)
    return run


LARGE = 4_000_000
"""Bytes of a list of questions that take seconds to read."""


def _load(settings: Settings, announce: Callable[[str], None]) -> tuple[Checklist, ...]:
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
            f"{settings.where('checklist')}: checklist '{checklist.name}' is no canary, which "
            f"{settings.where('preset')}={CANARY} asks; leave the option out"
        )
    if settings.explain and checklist.modality == "image":
        raise InputError(f"{settings.where('explain')}: a picture gives no reason; leave the option out")
    if settings.sizes and not set(settings.sizes) & set(SIZES[checklist.modality]):
        sizes = "text; give N or objective=N" if checklist.modality == "text" else "pictures; give images=N"
        raise InputError(f"{settings.where('samples')}: checklist '{checklist.name}' asks for {sizes}")
    if settings.answers != "text" and checklist.modality == "image":
        raise InputError(f"{settings.where('answers')}: a picture has no letters; leave the option out")
    if settings.answers == "probabilities" and not benchmarks.benchmark_of(checklist).counts_probabilities:
        raise InputError(
            f"{settings.where('answers')}: the benchmark of checklist '{checklist.name}' counts no "
            "probabilities; take text or json"
        )
    if settings.replicas.detectors and checklist.modality == "text":
        raise InputError(f"{settings.where('replicas')}: text needs no detector; leave detectors= out")


def _check_faces(settings: Settings, loaded: tuple[Checklist, ...], detector: Detector) -> None:
    """Check that a benchmark that counts all faces of a picture gets them.

    Raises:
        InputError: the detector gives at most one.
    """
    from pytest_factorfair.detection import merging

    option = merging(detector)
    for checklist in loaded:
        if option and benchmarks.benchmark_of(checklist).counts_every_face:
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
