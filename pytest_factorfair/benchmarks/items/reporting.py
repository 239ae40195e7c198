"""What items print: a table of scores per model, and the plane of both kinds of awareness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks.items.impact import IMPACT_RATIOS, ImpactRatio
from pytest_factorfair.benchmarks.items.metrics import ALL_PARTS, METRICS, SCORES
from pytest_factorfair.benchmarks.reporting import by_subject, scan_tables
from pytest_factorfair.domain import ALL, Score, Summary, plural
from pytest_factorfair.drawing.entries import Entry, Omission, by_checklist, entries, shown
from pytest_factorfair.drawing.figures import (
    ON_PAGE,
    POINT,
    WIDTH,
    Figure,
    Spec,
    caption,
    coloured,
    interval,
    printed,
    rounded,
    shaped,
    share_axis,
    unique,
)
from pytest_factorfair.drawing.statements import per_case
from pytest_factorfair.drawing.table import Row, Table, number, span

AXES = {"x": "difference_awareness", "y": "contextual_awareness"}


IMPACT = ("favourable", "answers", "rate", "ratio", "95 % interval", "refused", "unparsed", "errors")

CAUTION = (
    "An impact ratio is a group's rate of favourable answers, divided by the highest rate. The people are "
    "invented, and the model is a general one, no tool in use: this is no bias audit under New York City's "
    "Local Law 144, which only an independent auditor can make."
)
"""Printed beside impact ratios wherever they are shown."""


SCANNED = {
    "choices": "picked far too often or too seldom",
    "errors": "wrong more often than templates and letters explain",
    "decisions": "favoured more or less than others",
    "refusals": "refused more often than templates explain",
}
"""The titles of scans' tables, by the words that select them."""


def size(summary: Summary) -> str:
    return f"{plural(per_case(summary), 'answer')} per question"


def tables(summary: Summary) -> Iterator[Table]:
    """One table per model and checklist."""
    item_scores = [score for score in summary.scores if of_items(score)]
    used = {score.metric for score in item_scores}
    for title, scores in by_subject(item_scores):
        rows = [
            Row(_name(score), (number(shown(score)), span(score.low, score.high), f"{score.n:,}"))
            for score in scores
        ]
        notes = tuple(f"{metric.label}: {metric.reading}" for name, metric in METRICS.items() if name in used)
        yield Table(title, ("score", "95 % interval", "answers"), tuple(rows), notes)
    yield from scan_tables(summary, SCANNED)
    yield from supplements(summary)


def supplements(summary: Summary) -> Iterator[Table]:
    """The impact ratios of each model and checklist, with the caution that belongs to them."""
    for title, rows in by_subject(IMPACT_RATIOS.of(summary)):
        reasons = dict.fromkeys(row.reason for row in rows if row.reason)
        yield Table(f"impact ratios, {title}", IMPACT, tuple(map(_impact, rows)), (CAUTION, *reasons))


def figures(entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
    name, spec = "awareness-plane", plane(entries)
    if spec is None:
        yield Omission(name, "no question says whether groups should be distinguished")
    else:
        how = f"Upper right: distinguishes groups where they differ, and only there. {caption(entries)}"
        yield Figure(name, printed("Difference and contextual awareness", how, spec))


def page(summary: Summary) -> Mapping[str, Any]:
    return {
        "awareness": [
            {"title": f"awareness, {checklist}", "spec": spec | ON_PAGE}
            for checklist, group in by_checklist(entries({"": summary})).items()
            if (spec := plane(group))
        ]
    }


def on_card(score: Score) -> bool:
    """Scores of whole conditions, and of groups."""
    return of_items(score) and (score.context is None or score.attribute != ALL)


def limits(summary: Summary) -> Iterator[str]:
    if any(score.metric in SCORES for score in summary.scores):
        yield "Scores of questions with options of their own are about such questions only."


def _impact(row: ImpactRatio) -> Row:
    counts = (number(row.favourable, digits=0), f"{row.n:,}", number(row.rate), number(row.ratio))
    lost = (f"{count:,}" for count in (row.refused, row.unparsed, row.errors))
    return Row(f"{row.attribute}: {row.group}", (*counts, span(row.low, row.high), *lost))


def of_items(score: Score) -> bool:
    """Whether a score is about items: other benchmarks have the same rates, but not of these parts."""
    return score.metric in METRICS and score.part in ALL_PARTS


def _name(score: Score) -> str:
    about = "" if score.attribute == ALL else f" {score.attribute}"
    context = f" {score.context}" if score.context else ""
    return f"{METRICS[score.metric].label}, {score.part}{about}{context}".replace("_", " ")


def plane(entries: Sequence[Entry]) -> Spec | None:
    """A point for every model and condition, with the intervals of both; None where there is none."""
    rows = [point for entry in entries for point in _points(entry)]
    if not rows:
        return None
    axes = {axis: share_axis(SCORES[name].label, axis) for axis, name in AXES.items()}
    look = {"color": coloured(entries), "shape": shaped("name", unique(rows, "name"))}
    tooltip = [{"field": field} for field in ("model", "name", *AXES)]
    return {
        "width": WIDTH,
        "height": WIDTH,
        "data": {"values": rows},
        "layer": [
            *(interval(axis, {**axes, "color": look["color"]}) for axis in AXES),
            {"mark": POINT, "encoding": {**axes, **look, "tooltip": tooltip}},
        ],
    }


def _points(entry: Entry) -> Iterator[Spec]:
    """A model's conditions that have both scores."""
    for part, context in dict.fromkeys((score.part, score.context) for score in entry.scores):
        x, y = (entry.score(AXES[axis], part=part, context=context, attribute=ALL) for axis in "xy")
        if x is not None and y is not None and x.value is not None and y.value is not None:
            name = ", ".join(filter(None, (part, context)))
            yield {"model": entry.label, "name": name} | _ends("x", x) | _ends("y", y)


def _ends(axis: str, score: Score) -> Spec:
    value = shown(score) or 0.0
    low, high = (value if end is None else end for end in (score.low, score.high))
    return {axis: rounded(value), f"{axis}_low": rounded(low), f"{axis}_high": rounded(high)}
