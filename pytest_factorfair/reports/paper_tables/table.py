"""A table as a paper prints it, before it takes a format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain import Score
from pytest_factorfair.reports import perceived
from pytest_factorfair.reports.entries import Entry, shown
from pytest_factorfair.reports.tables.table import number

PERCENT = 100.0
FATES = ("n", "refused", "unread", "errors")
"""Every table says what became of the answers."""


class Heading(NamedTuple):
    """A column's heading; neighbours of one ``group`` share that above them."""

    group: str
    text: str


class Cell(NamedTuple):
    """A figure as printed, empty where there is none, with its interval: both ends, and half its width."""

    text: str
    low: str = ""
    high: str = ""
    half: str = ""


class PaperRow(NamedTuple):
    """A line of a table; ``aside`` marks one that explains the lines above it."""

    label: str
    cells: tuple[Cell, ...]
    aside: bool = False


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Headings and rows of plain text; ``name`` is that of its file, ``corner`` heads the labels."""

    name: str
    title: str
    corner: str
    headings: tuple[Heading, ...]
    rows: tuple[PaperRow, ...]
    notes: tuple[str, ...] = ()


def percent(score: Score | None) -> Cell:
    """A score in percent to two decimals, as Fact-or-Fair prints it; its interval to one."""
    return _cell(score, scale=PERCENT, digits=2)


def percentage(value: float | None) -> Cell:
    """A figure without an interval, in percent."""
    return Cell("" if value is None else number(PERCENT * value, digits=2))


def share(score: Score | None) -> Cell:
    """A score between 0 and 1 to four decimals, as FAIntbench prints it; its interval to three."""
    return _cell(score, scale=1.0, digits=4)


def _cell(score: Score | None, *, scale: float, digits: int) -> Cell:
    """Half of an interval is its wider side, as in reports."""
    value = shown(score)
    if score is None or value is None:
        return Cell("")
    if score.low is None or score.high is None:
        return Cell(number(scale * value, digits=digits))
    ends = score.low, score.high, max(value - score.low, score.high - value)
    return Cell(
        number(scale * value, digits=digits), *(number(scale * end, digits=digits - 1) for end in ends)
    )


def fate(entry: Entry) -> tuple[Cell, ...]:
    """The cells under ``FATES``; numbers without separators, so that a program can read them."""
    return tuple(Cell(str(count)) for count in entry.fate)


def notes(entries: Sequence[Entry], scores: Iterable[Score | None]) -> Iterator[str]:
    """How the figures of a table came about, and what is missing."""
    found = [one for one in scores if one is not None]
    told = entries[0].summary.fingerprint
    bias = " (without bias where that is known, else plug-in)" if told.estimator == "corrected" else ""
    asked = f"; design {told.design}, truth {told.truth}" if entries[0].summary.topics else ""
    yield f"Estimator {told.estimator}{bias}{asked}."
    if any(one.low is not None for one in found):
        yield "Small figures: 95 % intervals."
    for reason in dict.fromkeys(one.reason for one in found if one.reason and one.low is None):
        yield f"Where there is no interval: {reason}."
    for line in dict.fromkeys(line for entry in entries for line in perceived.detector_lines(entry.summary)):
        yield f"{line[0].upper()}{line[1:]}."
    for entry in entries:
        if entry.summary.incomplete:
            yield f"{entry.label}: {entry.summary.incomplete}."
