"""What the papers' tables share: figures as papers print them, the best ones marked, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_factorfair.domain import Better, Score
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.entries import Entry, OutcomeCounts, shown
from pytest_factorfair.drawing.table import MISSING, Cell, PrintedValue, Row, number

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
    low, high, half = (number(scale * end, digits=digits - 1) for end in ends)
    return PrintedValue(text, low, high, half)


def ranked(cells: Sequence[Cell], better: Better | None) -> tuple[Cell, ...]:
    """The models' cells of one score, the best and, of three or more, the second marked; ties share a rank.

    Figures are compared as printed; if lower is better, one below 0 is as good as 0. Nothing is marked
    without a better end (None), or if only one model has a figure.
    """

    def figure(cell: Cell) -> float:
        return max(float(str(cell)), 0.0) if better == "lower" else float(str(cell))

    figures = {figure(cell) for cell in cells if str(cell) != MISSING}
    if better not in ("higher", "lower") or len([cell for cell in cells if str(cell) != MISSING]) < 2:  # noqa: PLR2004 - it takes two
        return tuple(cells)
    order = sorted(figures, reverse=better == "higher")[: 2 if len(cells) > 2 else 1]  # noqa: PLR2004 - the third
    ranks = {value: rank for rank, value in enumerate(order, start=1)}
    return tuple(
        cell
        if str(cell) == MISSING
        else (cell if isinstance(cell, PrintedValue) else PrintedValue(cell))._replace(
            rank=ranks.get(figure(cell), 0)
        )
        for cell in cells
    )


def best_of_columns(rows: Sequence[Row], better: Sequence[Better | None]) -> tuple[Row, ...]:
    """Rows of models with the best of each column marked; columns beyond ``better`` have none."""
    ends = (*better, *([None] * (len(rows[0].cells) - len(better))))
    columns = [ranked([row.cells[column] for row in rows], end) for column, end in enumerate(ends)]
    lines = zip(*columns, strict=True)
    return tuple(row._replace(cells=cells) for row, cells in zip(rows, lines, strict=True))


def marks(rows: Iterable[Row]) -> Iterator[str]:
    """What the marks of a table mean, if it has any."""
    ranks = {cell.rank for row in rows for cell in row.cells if isinstance(cell, PrintedValue)}
    if 1 in ranks:
        second = ", underlined: the second" if 2 in ranks else ""  # noqa: PLR2004 - a rank
        yield f"Bold: the best figure{second}; this does not mean that a difference is real."


def outcome_cells(counts: Iterable[OutcomeCounts]) -> tuple[str, ...]:
    """The cells under ``OUTCOME_HEADINGS``: sums, without separators, so that a program can read them."""
    counts = tuple(counts) or (OutcomeCounts(0, 0, 0, 0),)
    return tuple(str(sum(column)) for column in zip(*counts, strict=True))


def notes(entries: Sequence[Entry], scores: Iterable[Score | None]) -> Iterator[str]:
    """How the figures of a table were estimated, and what is missing."""
    present = [score for score in scores if score is not None]
    run = entries[0].summary.fingerprint
    bias = " (without bias where that is known, else plug-in)" if run.estimator == "corrected" else ""
    design = (
        f"; design {run.design}, truth {run.truth}" if statements.on_statistics(entries[0].summary) else ""
    )
    yield f"Estimator {run.estimator}{bias}{design}."
    if any(score.low is not None for score in present):
        yield "Small figures: 95 % intervals."
    for reason in dict.fromkeys(score.reason for score in present if score.reason and score.low is None):
        yield f"Where there is no interval: {reason}."
    for line in dict.fromkeys(line for entry in entries for line in statements.detector_lines(entry.summary)):
        yield f"{line[0].upper()}{line[1:]}."
    for entry in entries:
        if entry.summary.incomplete:
            yield f"{entry.label}: {entry.summary.incomplete}."
