"""The tables of FACT-OR-FAIR: scores, influence of contexts, corrected shares, and citations of reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TypeAlias

from pytest_factorfair.domain import Citation, Correction, Headline, ReasonShare, Score, Summary
from pytest_factorfair.gates.evidence import ALLOWED
from pytest_factorfair.protocols.fact_or_fair.metrics import METRICS, columns
from pytest_factorfair.protocols.fact_or_fair.metrics.base import RATES
from pytest_factorfair.protocols.fact_or_fair.report import headline
from pytest_factorfair.reports import statements
from pytest_factorfair.reports.entries import Entry, shown
from pytest_factorfair.reports.table import (
    DOUBTFUL,
    MISSING,
    POINT,
    UNCORRECTED,
    Row,
    Table,
    differing,
    interval,
    mixed,
    number,
    percent,
)

STRENGTH = "strength"
AS_STRENGTH = "How prejudiced is a simulated model with the same S_fair? From 0, not at all, to 1, always."
LEGEND = "± 95 % interval; plug-in: uncorrected; fair: of a fair model; can reach: limits of any model"
"""How to read the table of scores."""

MISSED = frozenset(rate.name for rate in RATES)
"""The metrics that add up to the share of missing answers."""
Here: TypeAlias = Mapping[str, Score]


def score_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: parts down, metrics across.

    Below a part's scores without bias stand the plug-in ones, what a fair model's plug-in would
    be, and what can be reached.
    """
    shown = columns()
    scores = [one for one in summary.scores if one.metric in shown or one.metric in MISSED]
    subjects = list(
        dict.fromkeys((one.model, one.checklist, one.attribute) for one in scores if one.metric in shown)
    )
    for subject in subjects:
        *place, attribute = subject
        title = (
            *differing(place, [each[:-1] for each in subjects]),
            statements.attribute(attribute, summary),
        )
        mine = [one for one in scores if (one.model, one.checklist, one.attribute) == subject]
        headings = (*(one.label for one in shown.values()), STRENGTH)
        yield Table(
            " · ".join(title),
            headings,
            tuple(_score_rows(mine)),
            tuple(_score_notes(mine)),
            legend=LEGEND,
            meanings=(*(one.meaning for one in shown.values()), AS_STRENGTH),
        )


def _score_rows(scores: list[Score]) -> Iterator[Row]:
    places = dict.fromkeys((one.part, one.context) for one in scores if one.metric in columns())
    by_part = groupby(
        ({one.metric: one for one in scores if (one.part, one.context) == place} for place in places),
        key=lambda here: next(iter(here.values())).part,
    )
    reached: tuple[str, ...] | None = None
    marked = mixed(one for one in scores if one.metric in columns())
    for _part, group in by_part:
        parts = list(group)
        reach = _metric_cells(parts[0], _reach)
        if reached not in (None, reach):
            yield Row("can reach", reached or (), aside=True)
        reached = reach
        for here in parts:
            yield from _scored(here, marked=marked)
        yield Row("fair, plug-in", _metric_cells(parts[0], _fair), aside=True)
    if reached is not None:
        yield Row("can reach", reached, aside=True)


def _scored(here: Here, *, marked: bool) -> Iterator[Row]:
    """The scores of a part or context, and their plug-in values where those say something else."""
    first, fair = next(iter(here.values())), here.get("s_fair")
    strength = ""  # of a subjective part's S_fair; an objective one is asked for facts
    if fair is not None and fair.strength is not None and fair.part == "subjective":
        strength = number(fair.strength, digits=2)
    shown = partial(interval, marked=marked, doubtful=_lost(here.values()) > ALLOWED)
    yield Row(first.context or first.part, (*_metric_cells(here, shown)[:-1], strength))
    plugin = _metric_cells(here, _plugin)
    if any(plugin):
        yield Row("  plug-in", plugin, aside=True)


def _metric_cells(here: Here, cell: Callable[[Score | None], str]) -> tuple[str, ...]:
    return (*(cell(here.get(metric)) for metric in columns()), "")


def _plugin(score: Score | None) -> str:
    if score is None or score.value is None or score.corrected is None:
        return ""
    plugin = number(score.value)
    return f"{plugin}{POINT}" if plugin != number(score.corrected) else ""


def _fair(score: Score | None) -> str:
    return "" if score is None or score.fair_reference is None else f"{number(score.fair_reference)}{POINT}"


def _reach(score: Score | None) -> str:
    if score is None or score.floor is None or score.ceiling is None:
        return ""
    return f"{_short(score.floor)}-{_short(score.ceiling)}{POINT}"


def _score_notes(scores: list[Score]) -> Iterator[str]:
    """Scores without an interval, with the reason, and missing answers."""
    shown = [one for one in scores if one.metric in columns()]
    for reason in dict.fromkeys(one.reason for one in shown if one.reason):
        without = [one for one in shown if one.reason == reason]
        metrics = ", ".join(dict.fromkeys(METRICS[one.metric].label for one in without))
        places = ", ".join(dict.fromkeys(one.context or one.part for one in without))
        lacking = "no interval for"
        if mixed(shown) and all(one.corrected is None for one in without):
            lacking = f"{UNCORRECTED} uncorrected, no interval:"
        everything = len(without) == len(shown)
        yield f"no intervals: {reason}" if everything else f"{lacking} {metrics} of {places}: {reason}"
    by_place = dict.fromkeys(one.context or one.part for one in scores)
    lost = {place: _lost(one for one in scores if (one.context or one.part) == place) for place in by_place}
    if any(lost.values()):
        shares = ", ".join(f"{place} {percent(share, digits=1)}" for place, share in lost.items())
        why = f"; ±{DOUBTFUL}: they may move a score further than chance"
        yield f"without an answer: {shares}{why if max(lost.values()) > ALLOWED else ''}"


def _lost(scores: Iterable[Score]) -> float:
    """The share of missing answers in a part or context."""
    return sum(one.value or 0.0 for one in scores if one.metric in MISSED)


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


PREFIX = "influence_"
SUMMARY = "influence"
INDEX = "0 no influence, 1 all that the design lets through"
NAMES = {
    "high": "highest as stated",
    "low": "lowest as stated",
    "in_group": "own group",
    "out_group": "not own group",
}
"""Row labels of the columns of Table 3; others have their context's name."""


def influence_tables(summary: Summary) -> Iterator[Table]:
    """One table per model and checklist: for each attribute the share, what it would be without the
    context, and the index, 0 for no influence and 1 for all that can be reached.
    """
    scores = [one for one in summary.scores if one.metric == SUMMARY or one.metric.startswith(PREFIX)]
    subjects = list(dict.fromkeys((one.model, one.checklist) for one in scores))
    for subject in subjects:
        mine = [one for one in scores if (one.model, one.checklist) == subject]
        attributes = tuple(dict.fromkeys(one.attribute for one in mine))
        title = " · ".join((*differing(subject, subjects), SUMMARY))
        headings = tuple(heading for name in attributes for heading in (name, "without", "index"))
        meanings = (METRICS[SUMMARY].meaning, "The share without anything before the question.", INDEX) * len(
            attributes
        )
        yield Table(
            title,
            headings,
            tuple(_influence_rows(mine, attributes)),
            legend=f"index: {INDEX}",
            meanings=meanings,
        )


def _influence_rows(scores: Sequence[Score], attributes: Sequence[str]) -> Iterator[Row]:
    for metric in sorted(dict.fromkeys(one.metric for one in scores), key=lambda each: each == SUMMARY):
        here = {one.attribute: one for one in scores if one.metric == metric}
        cells: list[str] = []
        for name in attributes:
            if (score := here.get(name)) is None:
                cells += ("", "", "")
                continue
            without = None if metric == SUMMARY else score.fair_reference
            index = "" if score.strength is None else number(score.strength, digits=2)
            cells += (interval(score), "" if without is None else number(without), index)
        column = metric.removeprefix(PREFIX)
        yield Row("mean increase" if metric == SUMMARY else NAMES.get(column, column), tuple(cells))


MEANT = "perceived shares, pooled over topics; below them, what is left once the detector's error is out"


def correction_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: groups across, raw above corrected shares."""
    subjects: dict[tuple[str, str, str], list[Correction]] = {}
    for one in summary.corrections:
        subjects.setdefault((one.model, one.checklist, one.attribute), []).append(one)
    for subject, here in subjects.items():
        groups = next((tuple(one.raw) for one in here if one.raw), ())
        notes = tuple(dict.fromkeys(f"not corrected: {one.reason}" for one in here if one.reason))
        *place, attribute = subject
        title = " · ".join((*differing(place, [each[:-1] for each in subjects]), attribute))
        yield Table(
            f"{title}, shares",
            (*groups, "faces"),
            tuple(row for one in here for row in _correction_rows(one, groups)),
            (*notes, *(() if all(one.reason for one in here) else (MEANT,))),
        )


def _correction_rows(one: Correction, groups: Sequence[str]) -> Iterator[Row]:
    raw = tuple(_share(one.raw, group) for group in groups)
    yield Row(one.context or one.part, (*raw, f"{one.n:,}"))
    if one.corrected:
        yield Row("  corrected", (*(_share(one.corrected, group) for group in groups), ""))
        between = (f"{_share(one.low, group)}-{_share(one.high, group)}" for group in groups)
        yield Row("  95 %", (*between, ""), aside=True)


def _share(shares: Mapping[str, float], group: str) -> str:
    return number(shares.get(group), digits=2)


CITED: Mapping[Citation, str] = {
    "group": "a group",
    "prior": "statistics",
    "news": "the news",
    "identity": "its identity",
}
"""The headings of what is cited."""


def reason_tables(summary: Summary) -> Iterator[Table]:
    """One table per model and checklist: contexts down, what the reasons cite across."""
    subjects = tuple(dict.fromkeys((one.model, one.checklist) for one in summary.reasons))
    for subject in subjects:
        contexts: dict[str, dict[Citation, ReasonShare]] = {}
        for one in summary.reasons:
            if (one.model, one.checklist) == subject:
                contexts.setdefault(one.context, {})[one.citation] = one
        rows, asked = [], [next(iter(here.values())) for here in contexts.values()]
        for first, here in zip(asked, contexts.values(), strict=True):
            shares = (here[citation] for citation in CITED)
            cells = (
                MISSING
                if one.share is None or one.low is None or one.high is None
                else f"{percent(one.share)} ({percent(one.low)} to {percent(one.high)})"
                for one in shares
            )
            rows.append(Row(first.context, (*cells, f"{first.n:,} of {first.asked:,}")))
        notes = [
            f"questions for a reason {name}: {lost:,} of {sum(one.asked for one in asked):,}"
            for name in ("refused", "unparsed", "errors")
            if (lost := sum(getattr(one, name) for one in asked))
        ]
        title = " · ".join((*differing(subject, subjects), "reasons cite"))
        yield Table(title, (*CITED.values(), "reasons"), tuple(rows), tuple(notes))


def quotations(summary: Summary) -> Iterator[str]:
    """The first reasons of each kind, verbatim, so that readers can judge how they were read."""
    for one in summary.reasons:
        for text in one.quotations:
            yield f"{one.model}, {one.context}, {CITED[one.citation]}: “{text}”"


def headlines(entry: Entry) -> Mapping[str | None, Headline]:
    """A model in three numbers by attribute, None for their mean: of the values shown, so that they agree."""
    scores = [replace(one, value=shown(one)) for one in entry.scores if one.metric in ("s_fact", "s_fair")]
    return {line.attribute: line for line in headline(scores)} if scores else {}
