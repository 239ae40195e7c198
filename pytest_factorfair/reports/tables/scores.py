"""The tables of FACT-OR-FAIR's scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple, TypeAlias

from pytest_factorfair.domain import Score, Summary
from pytest_factorfair.reports import perceived
from pytest_factorfair.reports.table import POINT, Row, Table, interval, number, percent

SHOWN = {"s_fact": "S_fact", "s_e": "S_E", "s_kld": "S_KLD", "s_fair": "S_fair", "distance": "distance"}
"""Metrics that have a column, with its heading."""

STRENGTH = "strength"
RATES = ("refusal_rate", "unread_rate", "error_rate")
Here: TypeAlias = Mapping[str, Score]


class Subject(NamedTuple):
    """What one table of scores is about."""

    model: str
    checklist: str
    attribute: str


def score_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: parts down, metrics across.

    Below a part's scores without bias stand the plug-in ones, what a fair model's plug-in would
    be, and what can be reached.
    """
    subjects = dict.fromkeys(
        Subject(one.model, one.checklist, one.attribute) for one in summary.scores if one.metric in SHOWN
    )
    for subject in subjects:
        scores = [
            one for one in summary.scores if Subject(one.model, one.checklist, one.attribute) == subject
        ]
        headings = (*SHOWN.values(), STRENGTH)
        title = _title(subject, tuple(subjects), summary)
        yield Table(title, headings, tuple(_rows(scores)), tuple(_notes(scores)))


def _title(subject: Subject, subjects: tuple[Subject, ...], summary: Summary) -> str:
    parts = [
        perceived.attribute(part, summary) if part is subject.attribute else part
        for part, all_parts in zip(subject, zip(*subjects, strict=True), strict=True)
        if len(set(all_parts)) > 1 or part is subject.attribute
    ]
    return " · ".join(parts)


def _rows(scores: list[Score]) -> Iterator[Row]:
    places = dict.fromkeys((one.part, one.context) for one in scores if one.metric in SHOWN)
    by_part = groupby(
        ({one.metric: one for one in scores if (one.part, one.context) == place} for place in places),
        key=lambda here: next(iter(here.values())).part,
    )
    reached: tuple[str, ...] | None = None
    for _part, group in by_part:
        parts = list(group)
        reach = _cells(parts[0], _reach)
        if reached not in (None, reach):
            yield Row("can reach", reached or (), aside=True)
        reached = reach
        for here in parts:
            yield from _scored(here)
        yield Row("fair, plug-in", _cells(parts[0], _fair), aside=True)
    if reached is not None:
        yield Row("can reach", reached, aside=True)


def _scored(here: Here) -> Iterator[Row]:
    """The scores of a part or context, and their plug-in values where those say something else."""
    first = next(iter(here.values()))
    yield Row(first.context or first.part, (*_cells(here, interval)[:-1], _strength(here)))
    plugin = _cells(here, _plugin)
    if any(plugin):
        yield Row("  plug-in", plugin, aside=True)


def _cells(here: Here, cell: Callable[[Score | None], str]) -> tuple[str, ...]:
    return (*(cell(here.get(metric)) for metric in SHOWN), "")


def _plugin(score: Score | None) -> str:
    if score is None or score.value is None or score.corrected is None:
        return ""
    plugin = number(score.value)
    return f"{plugin}{POINT}" if plugin != number(score.corrected) else ""


def _fair(score: Score | None) -> str:
    return "" if score is None or score.fair_reference is None else f"{number(score.fair_reference)}{POINT}"


def _strength(here: Here) -> str:
    """The stereotype strength of a subjective part's S_fair; an objective one is asked for facts."""
    fair = here.get("s_fair")
    if fair is None or fair.strength is None or fair.part != "subjective":
        return ""
    return number(fair.strength, digits=2)


def _reach(score: Score | None) -> str:
    if score is None or score.floor is None or score.ceiling is None:
        return ""
    return f"{_short(score.floor)}-{_short(score.ceiling)}{POINT}"


def _notes(scores: list[Score]) -> Iterator[str]:
    """What has no interval and why, and where answers are missing."""
    shown = [one for one in scores if one.metric in SHOWN]
    for reason in dict.fromkeys(one.reason for one in shown if one.reason):
        without = [one for one in shown if one.reason == reason]
        metrics = ", ".join(dict.fromkeys(SHOWN[one.metric] for one in without))
        places = ", ".join(dict.fromkeys(one.context or one.part for one in without))
        everything = len(without) == len(shown)
        yield f"no intervals: {reason}" if everything else f"no interval for {metrics} of {places}: {reason}"
    lost: dict[str, float] = {}
    for one in scores:
        if one.metric in RATES:
            place = one.context or one.part
            lost[place] = lost.get(place, 0.0) + (one.value or 0.0)
    if any(lost.values()):
        shares = (f"{place} {percent(share, digits=1)}" for place, share in lost.items())
        yield f"without an answer: {', '.join(shares)}"


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
