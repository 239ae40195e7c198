"""The reporting part of a benchmark: tables, figures, its parts of the HTML page and the model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.domain import ImpactRatio, ScannedCell, Score, Summary
from pytest_factorfair.drawing.table import MISSING, Row, Table, differing

PERCEIVED = "Of the people in pictures, only a detector's perception is known, and detectors err."


class RightAnswer(NamedTuple):
    """The right group in answers to a case; ``score_key`` and ``metric`` name the score that counts it."""

    group: str
    score_key: ScoreKey
    metric: str


Of = TypeVar("Of", bound=Score | ImpactRatio)


def by_subject(rows: Sequence[Of]) -> Iterator[tuple[str, list[Of]]]:
    """The rows of each model and checklist, under a title that names the model if there are several."""
    subjects = dict.fromkeys((row.model, row.checklist) for row in rows)
    for model, checklist in subjects:
        title = f"{model} · {checklist}" if len(subjects) > 1 else checklist
        yield title, [row for row in rows if (row.model, row.checklist) == (model, checklist)]


def scan_tables(summary: Summary, titles: Mapping[str, str]) -> Iterator[Table]:
    """The worst cells of each of these scans that failed, with the numbers that were allowed.

    ``titles`` are those of their tables, by the first word that selects a scan.
    """
    subjects = [(scan.model, scan.checklist) for scan in summary.scans]
    for scan in summary.scans:
        if (word := scan.scan.split(",")[0]) not in titles:
            continue
        rows = [
            Row(
                ": ".join(filter(None, (cell.condition, cell.kind))),
                (
                    f"{cell.taken:,.0f} of {cell.n:,}",
                    f"{cell.fair:,.0f}",
                    f"{'at most' if cell.taken > cell.fair else 'at least'} {cell.limit:,.0f}",
                    _baseline(cell),
                    cell.case,
                ),
            )
            for cell in scan.worst
            if cell.value > 1
        ]
        if rows:
            title = " · ".join((*differing((scan.model, scan.checklist), subjects), titles[word]))
            legend = f"found by looking at {scan.cells:,} cells of {scan.n:,} answers; factorfair show CASE"
            yield Table(title, ("times", "fair", "allowed", "before", "case"), tuple(rows), legend=legend)


def _baseline(cell: ScannedCell) -> str:
    """The numbers of the baseline, and whether the cell is new: it was within the limit."""
    if cell.before is None or not cell.before_n:
        return MISSING
    share, limit = cell.before / cell.before_n, cell.limit / cell.n
    is_new = share <= limit if cell.taken > cell.fair else share >= limit
    return f"{cell.before:,.0f} of {cell.before_n:,}{', new' if is_new else ''}"
