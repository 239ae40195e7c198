"""What a run is made of, from its settings: checklists, the detector, cases put to models, and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import models, protocols
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import Case, CaseKey, Checklist, Modality, Sampling
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.domain import Gate
    from pytest_factorfair.session.run import Run


@dataclass(frozen=True, slots=True)
class Assignment:
    """A case put to a model: what one parametrized item is about. ``id`` is its parameter id."""

    id: str
    model: str
    checklist: Checklist
    case: Case

    @property
    def key(self) -> CaseKey:
        return CaseKey(self.model, self.checklist.name, self.case.id)


def load(settings: Settings) -> tuple[Checklist, ...]:
    """The run's checklists, which ask for one modality.

    Raises:
        InputError: one that cannot be right, or several that do not go together.
    """
    chosen = settings.checklists or (DEFAULTS[_modality(settings.models)],)
    loaded = tuple(protocols.load(name, truth=settings.truth, base=Path(settings.base)) for name in chosen)
    by_modality = {checklist.modality: checklist.name for checklist in loaded}
    if len(by_modality) > 1:
        text, image = by_modality["text"], by_modality["image"]
        raise InputError(f"checklist '{text}' asks for text, '{image}' for pictures: run one after the other")
    names = [checklist.name for checklist in loaded]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two checklists of this run are named '{name}': give one of them another name")
    return loaded


DEFAULTS: Mapping[Modality, str] = {"text": "fact_or_fair", "image": "fact_or_fair_t2i"}
"""The checklist of a run that names none."""


def _modality(specs: Sequence[str]) -> Modality:
    """What models make, where no checklist says what is asked of them."""
    made = {models.modality(spec): spec for spec in specs}
    if len(made) > 1:
        raise InputError(
            f"model '{made['text']}' writes text, '{made['image']}' makes pictures: run one after the other"
        )
    return next(iter(made))


def detector(
    settings: Settings, loaded: tuple[Checklist, ...], custom: Mapping[str, DetectorFactory]
) -> Detector | None:
    """What reads the pictures of an image checklist; the code cards of simulated models need no choice.

    Raises:
        InputError: none is named, or it cannot be right.
    """
    asked, spec = loaded[0], settings.detector
    if asked.modality == "text":
        if spec is not None:
            raise InputError(
                f"--factorfair-detector {spec}: a detector reads pictures, and the checklist "
                f"'{asked.name}' is asked of language models; leave the option out"
            )
        return None
    from pytest_factorfair import detection

    if spec is None:
        real = next((one for one in settings.models if not one.startswith("sim:")), None)
        if real is not None:
            raise InputError(
                f"model '{real}': its pictures need a detector; give "
                "--factorfair-detector fairface:FILE?faces=FILE"
            )
        spec = "sim"
    built = detection.build(spec, custom=custom)
    for one in loaded:
        detection.check(built, [attribute for attribute in one.attributes if not attribute.crossed])
    return built


def assign(settings: Settings, loaded: tuple[Checklist, ...], sampling: Sampling) -> tuple[Assignment, ...]:
    """Every case put to every model.

    Raises:
        InputError: two models would have the same name in test ids.
    """
    slugs = {spec: models.slug(spec) for spec in settings.models}
    for spec, slug in slugs.items():
        twin = next((other for other in slugs if other != spec and slugs[other] == slug), None)
        if twin is not None:
            raise InputError(
                f"models '{spec}' and '{twin}' would both be called '{slug}' in test ids: run one at a time"
            )
    cases = [(one, case) for one in loaded for case in protocols.cases(one, sampling)]
    return tuple(
        Assignment("-".join([*_prefix(slugs, spec, loaded, one), case.id]), spec, one, case)
        for spec in settings.models
        for one, case in cases
    )


def _prefix(
    slugs: Mapping[str, str], spec: str, loaded: tuple[Checklist, ...], checklist: Checklist
) -> list[str]:
    return [slugs[spec]] * (len(slugs) > 1) + [checklist.name] * (len(loaded) > 1)


def declared_gates(run: Run) -> tuple[Gate, ...]:
    """The run's gates.

    Raises:
        InputError: a gate that cannot be judged in this run.
    """
    from pytest_factorfair import gates

    settings = run.settings
    former = settings.baseline is not None
    declared = gates.expand(settings.gates, checklists=run.checklists, sampling=run.sampling, baseline=former)
    gates.check(
        declared,
        checklists=run.checklists,
        models=settings.models,
        sampling=run.sampling,
        baseline=former,
    )
    return declared
