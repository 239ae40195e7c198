"""The tables of a summary, the same for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain import Score, Summary, Verdict

SHOWN = {
    "s_fact": "S_fact",
    "s_e": "S_E",
    "s_kld": "S_KLD",
    "s_fair": "S_fair",
    "distance": "distance",
    "refusal_rate": "refused",
    "unread_rate": "unread",
    "error_rate": "errors",
}
"""Metrics that have a column, with its heading."""

SHARES = {"refusal_rate", "unread_rate", "error_rate"}
SIGNS = {"passed": "passed", "failed": "FAILED", "inconclusive": "inconclusive", "not judged": "not judged"}


class Subject(NamedTuple):
    """What one table of scores is about."""

    model: str
    checklist: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table; ``aside`` marks one that explains the lines above it."""

    label: str
    cells: tuple[str, ...]
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of text."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]


def score_tables(summary: Summary) -> Iterator[Table]:
    """One table per model, checklist and attribute: parts down, metrics across, what can be reached below."""
    subjects = dict.fromkeys(Subject(one.model, one.checklist, one.attribute) for one in summary.scores)
    for subject in subjects:
        scores = [
            one for one in summary.scores if Subject(one.model, one.checklist, one.attribute) == subject
        ]
        yield Table(_title(subject, tuple(subjects)), tuple(SHOWN.values()), tuple(_rows(scores)))


def verdict_lines(summary: Summary) -> tuple[Verdict, ...]:
    """Verdicts, those that need attention first."""
    order = ("failed", "inconclusive", "not judged", "passed")
    return tuple(sorted(summary.gates, key=lambda verdict: order.index(verdict.judgement)))


def _title(subject: Subject, subjects: tuple[Subject, ...]) -> str:
    parts = [
        part
        for part, all_parts in zip(subject, zip(*subjects, strict=True), strict=True)
        if len(set(all_parts)) > 1 or part is subject.attribute
    ]
    return " · ".join(parts)


def _rows(scores: list[Score]) -> Iterator[Row]:
    places = dict.fromkeys((one.part, one.context) for one in scores if one.metric in SHOWN)
    reached: tuple[str, ...] | None = None
    for part, context in places:
        here = {one.metric: one for one in scores if (one.part, one.context) == (part, context)}
        reach = tuple(_reach(here.get(metric)) for metric in SHOWN)
        if reached not in (None, reach):
            yield Row("can reach", reached or (), aside=True)
        reached = reach
        yield Row(context or part, tuple(_cell(here.get(metric)) for metric in SHOWN))
    if reached is not None:
        yield Row("can reach", reached, aside=True)


def _cell(score: Score | None) -> str:
    if score is None or score.value is None:
        return "-"
    return f"{score.value:.1%}" if score.metric in SHARES else f"{score.value:.3f}"


def _reach(score: Score | None) -> str:
    if score is None or score.floor is None or score.ceiling is None:
        return ""
    return f"{_short(score.floor)}-{_short(score.ceiling)}"


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
