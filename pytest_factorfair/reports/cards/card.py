"""What a model card says of one model: what was measured, and how."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from shlex import join

from pytest_factorfair.domain import Outcome, Score, Source, Summary, Verdict, plural
from pytest_factorfair.reports.perceived import detector_lines
from pytest_factorfair.reports.tables.faintbench import READ
from pytest_factorfair.reports.tables.scores import SHOWN

LOST: Mapping[Outcome, str] = {"refused": "refused", "unread": "unread", "error": "errors"}
"""Outcomes that are no answers, as they are called."""

FACTS = ("s_fact", "distance")
"""Scores of the objective part."""


@dataclass(frozen=True, slots=True)
class Card:
    """A model of a run; ``sources`` are those of the statistics it was asked about, by checklist."""

    model: str
    summary: Summary
    sources: Mapping[str, tuple[Source, ...]]


def of(summary: Summary, model: str, sources: Mapping[str, tuple[Source, ...]]) -> Card:
    """The card of one model; the summary is cut down to it."""
    fingerprint = replace(summary.fingerprint, models={model: summary.fingerprint.models[model]})
    several = len(summary.fingerprint.models) > 1
    mine = replace(
        summary,
        fingerprint=fingerprint,
        scores=tuple(one for one in summary.scores if one.model == model),
        topics=tuple(one for one in summary.topics if one.model == model),
        prompts=tuple(one for one in summary.prompts if one.model == model),
        cases=tuple(one for one in summary.cases if one.case.model == model),
        gates=tuple(one for one in summary.gates if not several or _about(one, model)),
    )
    return Card(model, mine, sources)


def _about(one: Verdict, model: str) -> bool:
    """Whether a gate's score is the model's: of several models it is the first word."""
    return one.subject.partition("[")[2].startswith((f"{model},", f"{model}]"))


def what(summary: Summary) -> str:
    """What was done, in a sentence."""
    names = ", ".join(summary.fingerprint.checklists)
    when = summary.fingerprint.times.get("started", "")[:10]
    asked = "text-to-image model" if summary.fingerprint.detector else "language model"
    return f"This {asked} was held against {names} by pytest-factorfair on {when}."


def scores(summary: Summary) -> Iterator[Score]:
    """FACT-OR-FAIR's in every context, and the influence; FAIntbench's of the whole model.

    Who names the true groups cannot name all alike: of facts there is no score of evenness.
    """
    for one in summary.scores:
        metrics = FACTS if one.part == "objective" else SHOWN
        whole = one.context is None and one.metric in ("influence", *READ)
        if one.value is not None and (whole or one.metric in metrics):
            yield one


def label(one: Score) -> str:
    """The metric and its place; the attribute is told elsewhere."""
    name = SHOWN.get(one.metric, one.metric)
    return name if one.metric in READ else f"{name}, {one.context or one.part}"


def value(one: Score) -> float:
    """Without bias, where that is known."""
    return one.value or 0.0 if one.corrected is None else one.corrected


def answers(summary: Summary) -> Mapping[str, int]:
    """How many there are, and how many of them are none."""
    outcomes = [answer.outcome for record in summary.cases for answer in record.answers]
    return {"answers": len(outcomes), **{name: outcomes.count(kind) for kind, name in LOST.items()}}


def method(card: Card) -> Iterator[tuple[str, str]]:
    """How it was measured, by name."""
    told = card.summary.fingerprint
    for name, digest in told.checklists.items():
        yield "checklist", f"{name}, content SHA-256 {digest}"
    yield "preset", told.preset
    yield "design", told.design
    yield "size", _size(card.summary)
    yield "truth set", told.truth
    yield "estimator and interval", f"{told.estimator}, {told.interval}"
    yield "seed", str(told.seed)
    if told.detector:
        yield from (("detector", line) for line in detector_lines(card.summary))
        yield "detector as used", json.dumps(told.detector, ensure_ascii=False, sort_keys=True)
    yield "model as asked", json.dumps(told.models[card.model], ensure_ascii=False, sort_keys=True)
    yield "versions", ", ".join(f"{name} {version}" for name, version in told.versions.items())
    yield "time", " to ".join(told.times.values())


def _size(summary: Summary) -> str:
    told = summary.fingerprint
    if told.detector:
        return f"{_pictures(summary)} pictures per prompt"
    return f"{plural(told.samples, 'answer')} per topic and context, {told.objective} per fact"


def _pictures(summary: Summary) -> int:
    return max((len({answer.query for answer in record.answers}) for record in summary.cases), default=0)


def command(summary: Summary) -> str:
    """The command line that asks the same again; arguments of the provider stand in the model's identity."""
    told = summary.fingerprint
    text = f"{told.samples},objective={told.objective}"
    sizes = f"images={_pictures(summary)}" if told.detector else text
    arguments = [
        *(f"--factorfair-model={model}" for model in told.models),
        *(f"--factorfair-checklist={name}" for name in told.checklists),
        f"--factorfair-preset={told.preset}",
        f"--factorfair-samples={sizes}",
        f"--factorfair-design={told.design}",
        f"--factorfair-truth={told.truth}",
        f"--factorfair-estimator={told.estimator}",
        f"--factorfair-interval={told.interval}",
        f"--factorfair-seed={told.seed}",
        *(f"--factorfair-gate={gate}" for gate in dict.fromkeys(one.gate for one in summary.gates)),
    ]
    return join(["pytest", *arguments])
