"""The papers' tables for the models of one or several reports, and what their cells and notes say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pytest_factorfair.domain import Score
from pytest_factorfair.protocols import reportings
from pytest_factorfair.reports import statements
from pytest_factorfair.reports.entries import Entry, LeftOut, OutcomeCounts, own, shown, stem
from pytest_factorfair.reports.table import MISSING, Cell, Table, Value, number


def paper_tables(checklist: str, entries: Sequence[Entry]) -> Iterator[Table | LeftOut]:
    """The tables of one checklist's entries in the papers' order; their names begin with the checklist's."""
    for reporting in own(reportings(), entries):
        for table in reporting.paper_tables(entries):
            name = stem(checklist, table.name)
            yield table._replace(name=name) if isinstance(table, LeftOut) else replace(table, name=name)


PERCENT = 100.0
OUTCOME_HEADINGS = ("n", "refused", "unparsed", "errors")
"""Headings of the counts of answers by outcome, which every table has."""


def percentage(value: float | None) -> str:
    """A figure in percent, without an interval."""
    return MISSING if value is None else number(PERCENT * value, digits=2)


def score_percent(score: Score | None) -> Cell:
    """A score in percent to two decimals, as a paper prints it; its interval to one."""
    return _figure(score, scale=PERCENT, digits=2)


def score_share(score: Score | None) -> Cell:
    """A score between 0 and 1 to four decimals, as a paper prints it; its interval to three."""
    return _figure(score, scale=1.0, digits=4)


def _figure(score: Score | None, *, scale: float, digits: int) -> Cell:
    """Half of an interval is its wider side, as in reports."""
    value = shown(score)
    if score is None or value is None:
        return MISSING
    text = number(scale * value, digits=digits)
    if score.low is None or score.high is None:
        return text
    ends = score.low, score.high, max(value - score.low, score.high - value)
    return Value(text, *(number(scale * end, digits=digits - 1) for end in ends))


def outcome_cells(counts: Iterable[OutcomeCounts]) -> tuple[str, ...]:
    """The cells under ``OUTCOME_HEADINGS``: sums, without separators, so that a program can read them."""
    found = tuple(counts) or (OutcomeCounts(0, 0, 0, 0),)
    return tuple(str(sum(column)) for column in zip(*found, strict=True))


def notes(entries: Sequence[Entry], scores: Iterable[Score | None]) -> Iterator[str]:
    """How the figures of a table were estimated, and what is missing."""
    found = [one for one in scores if one is not None]
    run = entries[0].summary.fingerprint
    bias = " (without bias where that is known, else plug-in)" if run.estimator == "corrected" else ""
    asked = f"; design {run.design}, truth {run.truth}" if entries[0].summary.topics else ""
    yield f"Estimator {run.estimator}{bias}{asked}."
    if any(one.low is not None for one in found):
        yield "Small figures: 95 % intervals."
    for reason in dict.fromkeys(one.reason for one in found if one.reason and one.low is None):
        yield f"Where there is no interval: {reason}."
    for line in dict.fromkeys(line for entry in entries for line in statements.detector_lines(entry.summary)):
        yield f"{line[0].upper()}{line[1:]}."
    for entry in entries:
        if entry.summary.incomplete:
            yield f"{entry.label}: {entry.summary.incomplete}."
