"""A model card: what was measured of one model and how, as Markdown and as JSON-LD."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import join
from typing import Any

from pytest_factorfair.domain import ALL, Outcome, Score, Source, Summary, Verdict, plural
from pytest_factorfair.gates.release import release
from pytest_factorfair.protocols import reporting_of, reportings
from pytest_factorfair.reports import escaping
from pytest_factorfair.reports.statements import (
    ETHICS,
    NO_GATES,
    SIGNS,
    attribute,
    detector_lines,
    verdict_lines,
)
from pytest_factorfair.reports.table import Row, Table, as_markdown, number, span

LOST: Mapping[Outcome, str] = {"refused": "refused", "unparsed": "unparsed", "error": "errors"}
"""What the card calls outcomes without an answer."""

COLUMNS = ("score", "95 % interval", "n", "can reach")
AGAIN = "The provider's own arguments, a detector's files and keys are no part of the line: see above."
NO_SOURCES = "Where its statistics are from stands in the checklist's own file."

CONTEXT = {"@vocab": "https://schema.org/"}
MODEL = {"@id": "_:model"}
MEASURED = "95 % interval from minValue to maxValue"


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


def to_markdown(card: Card) -> str:
    """The card as a section of a README; an unfinished measurement says so first."""
    summary = card.summary
    parts = [f"## Factuality and fairness of `{escaping.markdown_code(card.model)}`"]
    if summary.incomplete:
        parts += [f"> **Not a finished measurement:** {escaping.markdown(summary.incomplete)}."]
    parts += [escaping.markdown(what(summary)), "### Scores", *_tables(summary), _bullets(_reading(summary))]
    parts += ["### Promises", _gates(summary)]
    parts += ["### How it was measured", _bullets(f"{name}: {told}" for name, told in method(card))]
    parts += _sources(card)
    parts += ["### Limits and ethics", _bullets([ETHICS, *summary.notes])]
    parts += ["### To do it again", AGAIN, f"```console\n$ {escaping.markdown_fence(command(summary))}\n```"]
    return "\n\n".join(parts) + "\n"


def _tables(summary: Summary) -> Iterator[str]:
    found = tuple(scores(summary))
    for checklist, name in dict.fromkeys((one.checklist, one.attribute) for one in found):
        mine = (one for one in found if (one.checklist, one.attribute) == (checklist, name))
        title = f"{checklist}: {name if name == ALL else attribute(name, summary)}"
        rows = (
            Row(
                label(one),
                (
                    number(value(one)),
                    span(one.low, one.high),
                    f"{one.n:,}",
                    span(one.floor, one.ceiling),
                ),
            )
            for one in mine
        )
        table = Table(title, COLUMNS, tuple(rows))
        yield f"**{escaping.markdown(title)}**\n\n{as_markdown(table)}"


def _reading(summary: Summary) -> Iterator[str]:
    """How many answers there are, how to read the scores that are there, and why some lack an interval."""
    yield ", ".join(f"{n:,} {name}" for name, n in answers(summary).items())
    found = tuple(scores(summary))
    for each in reportings():
        yield from each.reading(summary)
    yield from (f"no interval: {reason}" for reason in dict.fromkeys(one.reason for one in found) if reason)


def _gates(summary: Summary) -> str:
    if not summary.gates:
        return NO_GATES
    rows = (
        f"| {SIGNS[one.judgement]} | `{escaping.markdown_code(one.gate)}` | {escaping.markdown(one.subject)} "
        f"| {escaping.markdown(one.reason)} |"
        for one in verdict_lines(summary.gates)
    )
    head = f"**{escaping.markdown(release(summary.gates, summary.unjudged))}**\n"
    return "\n".join([head, "| verdict | gate | on | why |", "|---|---|---|---|", *rows])


def _sources(card: Card) -> Iterator[str]:
    for checklist, found in card.sources.items():
        title = f"Whose statistics {escaping.markdown(checklist)} asks about"
        lines = [f"{one.statistic}: {one.agency}, {one.year} ({one.status})" for one in found]
        yield f"<details>\n<summary>{title}</summary>\n\n{_bullets(lines or [NO_SOURCES])}\n\n</details>"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaping.markdown(line)}" for line in lines)


def to_jsonld(card: Card) -> str:
    """A Dataset about the model: a variable per score, a review per gate, and how it was measured."""
    summary = card.summary
    told = summary.fingerprint
    made: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "Dataset",
        "name": f"Factuality and fairness of {card.model}",
        "creativeWorkStatus": f"Incomplete: {summary.incomplete}" if summary.incomplete else "Published",
        "description": f"{what(summary)} {ETHICS}",
        "about": MODEL | {"@type": "SoftwareApplication", "name": card.model},
        "dateCreated": told.times.get("finished", ""),
        "isBasedOn": [
            _checklist(name, digest, card.sources.get(name, ())) for name, digest in told.checklists.items()
        ],
        "variableMeasured": [_variable(one) for one in scores(summary)],
        "review": [_review(one) for one in summary.gates],
        "additionalProperty": [_property(name, told) for name, told in _properties(card)],
    }
    return json.dumps(_clean(made), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _checklist(name: str, digest: str, sources: Sequence[Source]) -> dict[str, Any]:
    citations = [f"{one.statistic}: {one.agency}, {one.year}" for one in sources]
    return {"@type": "Dataset", "name": name, "version": digest, "citation": citations}


def _variable(one: Score) -> dict[str, Any]:
    """A score with its place and its number of answers as references."""
    found = {
        "@type": "PropertyValue",
        "propertyID": one.metric,
        "name": f"{one.checklist}, {one.attribute}: {label(one)}",
        "value": value(one),
        "minValue": one.low,
        "maxValue": one.high,
        "measurementTechnique": one.reason if one.low is None else MEASURED,
        "valueReference": [
            _property(name, getattr(one, name))
            for name in ("part", "context", "attribute", "n")
            if getattr(one, name) is not None
        ],
    }
    return {name: told for name, told in found.items() if told is not None}


def _review(one: Verdict) -> dict[str, Any]:
    return {
        "@type": "Review",
        "name": one.gate,
        "itemReviewed": MODEL,
        "reviewAspect": one.subject,
        "reviewBody": one.reason,
        "reviewRating": {"@type": "Rating", "ratingValue": one.judgement},
    }


def _properties(card: Card) -> Iterator[tuple[str, object]]:
    yield from method(card)
    yield from answers(card.summary).items()
    yield "command line", command(card.summary)
    yield from (("caution", note) for note in card.summary.notes)


def _property(name: str, told: object) -> dict[str, Any]:
    return {"@type": "PropertyValue", "name": name, "value": told}


def _clean(value: Any) -> Any:
    """Strings without control characters and lone surrogates."""
    if isinstance(value, dict):
        return {name: _clean(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return escaping.one_line(value) if isinstance(value, str) else value


def what(summary: Summary) -> str:
    """What was done, in a sentence."""
    names = ", ".join(summary.fingerprint.checklists)
    when = summary.fingerprint.times.get("started", "")[:10]
    asked = "text-to-image model" if summary.fingerprint.detector else "language model"
    return f"This {asked} was evaluated on {names} with pytest-factorfair on {when}."


def scores(summary: Summary) -> Iterator[Score]:
    """Those that a card lists."""
    for one in summary.scores:
        if one.value is not None and reporting_of(one.metric).on_card(one):
            yield one


def label(one: Score) -> str:
    """The metric and its part or context."""
    return reporting_of(one.metric).label(one.metric, one.part, one.context)


def value(one: Score) -> float:
    """The value without its bias, if that is known."""
    return one.value or 0.0 if one.corrected is None else one.corrected


def answers(summary: Summary) -> Mapping[str, int]:
    """Answers by outcome."""
    outcomes = [answer.outcome for record in summary.cases for answer in record.answers]
    return {"answers": len(outcomes), **{name: outcomes.count(kind) for kind, name in LOST.items()}}


def method(card: Card) -> Iterator[tuple[str, str]]:
    """How the scores were measured, as names and values."""
    told = card.summary.fingerprint
    for name, digest in told.checklists.items():
        yield "checklist", f"{name}, content SHA-256 {digest}"
    yield "preset", told.preset
    yield "design", told.design
    yield "size", _size(card.summary)
    yield "truth set", told.truth
    yield "answers", told.answers
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
    """The command line that repeats the run; the provider's arguments are part of the model's identity."""
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
        f"--factorfair-answers={told.answers}",
        f"--factorfair-estimator={told.estimator}",
        f"--factorfair-interval={told.interval}",
        f"--factorfair-seed={told.seed}",
        *(f"--factorfair-gate={gate}" for gate in dict.fromkeys(one.gate for one in summary.gates)),
    ]
    return join(["pytest", *arguments])
