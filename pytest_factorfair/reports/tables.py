"""The tables of a summary, the same for the terminal and for Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, TypeAlias

from pytest_factorfair.domain import Headline, Judgement, Score, Summary, Verdict
from pytest_factorfair.reports import perceived

SHOWN = {"s_fact": "S_fact", "s_e": "S_E", "s_kld": "S_KLD", "s_fair": "S_fair", "distance": "distance"}
"""Metrics that have a column, with its heading."""

STRENGTH = "strength"
RATES = ("refusal_rate", "unread_rate", "error_rate")
POINT = " " * len(" ±.000")
"""Stands where a score without an interval has none, so that decimals stay in line."""

Here: TypeAlias = Mapping[str, Score]
SIGNS: Mapping[Judgement, str] = {
    "failed": "FAILED",
    "waived": "waived",
    "inconclusive": "inconclusive",
    "not judged": "not judged",
    "passed": "passed",
}
"""What a verdict is called, in the order they are shown."""


NO_GATES = "No gates were declared: this run reports, it does not judge."
"""Stands where the verdict would."""


class Subject(NamedTuple):
    """What one table of scores is about."""

    model: str
    checklist: str
    attribute: str


class Row(NamedTuple):
    """A line of a table; ``aside`` marks one that explains the lines above it."""

    label: str
    cells: tuple[str, ...]
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows of text; ``notes`` say what the table lacks and why."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


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


class VerdictLine(NamedTuple):
    """A verdict, or several of one gate that say the same."""

    judgement: Judgement
    gate: str
    subject: str
    reason: str


MERGED = 3
"""So many scores that kept the same promise are told in one line."""


def verdict_lines(verdicts: Iterable[Verdict]) -> tuple[VerdictLine, ...]:
    """Verdicts, those that need attention first; a gate kept on many scores has one line."""
    order = list(SIGNS)
    told = sorted(verdicts, key=lambda verdict: order.index(verdict.judgement))
    kept = Counter(verdict.gate for verdict in told if verdict.judgement == "passed")
    lines = [
        VerdictLine("passed", one.gate, one.gate, f"on {kept[one.gate]} scores")
        if one.judgement == "passed" and kept[one.gate] >= MERGED
        else VerdictLine(one.judgement, one.gate, one.subject, one.reason)
        for one in told
    ]
    return tuple(dict.fromkeys(lines))


def headline_lines(summary: Summary) -> tuple[str, ...]:
    """A model in three numbers (Table 2), where it was asked for facts and for judgements."""
    return tuple(
        f"headline{_whose(among(summary, row))}: objective S_fact {row.fact:.3f}, "
        f"subjective S_fair {row.fair:.3f}, average {row.average:.3f}"
        for row in summary.headline
        if row.attribute is None and row.fact is not None and row.fair is not None and row.average is not None
    )


def among(summary: Summary, one: Score | Headline) -> tuple[str, ...]:
    """The model and the checklist that a number is about, each where the run has several."""
    told = summary.fingerprint
    return (one.model,) * (len(told.models) > 1) + (one.checklist,) * (len(told.checklists) > 1)


def _whose(words: Sequence[str]) -> str:
    return f" of {' on '.join(words)}" if words else ""


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


def interval(score: Score | None) -> str:
    """``0.930 ±.012``; without the second part where there is no interval."""
    if score is None or score.value is None:
        return f"-{POINT}"
    if score.corrected is None or score.low is None or score.high is None:
        return f"{score.value:.3f}{POINT}"
    half = max(score.corrected - score.low, score.high - score.corrected)
    return f"{number(score.corrected)} ±{f'{half:.3f}'.removeprefix('0')}"


def _plugin(score: Score | None) -> str:
    if score is None or score.value is None or score.corrected is None:
        return ""
    plugin = number(score.value)
    return f"{plugin}{POINT}" if plugin != number(score.corrected) else ""


def _fair(score: Score | None) -> str:
    return "" if score is None or score.fair_reference is None else f"{score.fair_reference:.3f}{POINT}"


def _strength(here: Here) -> str:
    """The stereotype strength of a subjective part's S_fair; an objective one is asked for facts."""
    fair = here.get("s_fair")
    if fair is None or fair.strength is None or fair.part != "subjective":
        return ""
    return f"{fair.strength:.2f}"


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
        yield f"without an answer: {', '.join(f'{place} {share:.1%}' for place, share in lost.items())}"


def number(value: float, *, digits: int = 3) -> str:
    """With so many decimals and no minus sign before a zero."""
    return f"{value if abs(value) >= 0.5 * 10**-digits else 0.0:.{digits}f}"


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
