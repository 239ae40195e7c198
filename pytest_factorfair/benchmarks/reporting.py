"""The reporting part of a benchmark: tables, figures, its parts of the HTML page and the model card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.domain import ImpactRatio, ScannedCell, ScanResult, Score, Summary
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


COUNTED: Mapping[str, str] = {
    "times": "How often, of the answers under this condition.",
    "fair": "How often the rest of its answers explain: by their letters, their topics, or chance.",
    "allowed": "The bound: beyond it, how often is more than a fair model's chance.",
    "before": "The same in the baseline; new if that was within the bound.",
    "case": "The case with most of these answers, for factorfair show.",
}
"""The headings of the worst cells of a scan, with their meanings."""


def scan_tables(
    summary: Summary, titles: Mapping[str, str], *, address: Callable[[ScanResult, int], str] | None = None
) -> Iterator[Table]:
    """The worst cells of each of these scans that failed, with the numbers that were allowed.

    ``titles`` are those of their tables, by the first word that selects a scan; ``address`` is that of the
    nth worst cell on the page.
    """
    subjects = [(scan.model, scan.checklist) for scan in summary.scans]
    for scan in summary.scans:
        failed = [(number, cell) for number, cell in enumerate(scan.worst) if cell.value > 1]
        if not failed or (word := scan.scan.split(",")[0]) not in titles:
            continue
        rows = [
            Row(
                cell.name,
                (
                    f"{cell.taken:,.0f} of {cell.n:,}",
                    f"{cell.fair:,.0f}",
                    f"{'at most' if cell.taken > cell.fair else 'at least'} {cell.limit:,.0f}",
                    *((_before(cell),) if summary.former else ()),
                    cell.case,
                ),
                link=address(scan, number) if address else "",
            )
            for number, cell in failed
        ]
        title = " · ".join((*differing((scan.model, scan.checklist), subjects), titles[word]))
        meanings = {name: text for name, text in COUNTED.items() if summary.former or name != "before"}
        legend = f"found by looking at {scan.cells:,} cells of {scan.n:,} answers; factorfair show CASE"
        yield Table(title, tuple(meanings), tuple(rows), legend=legend, meanings=tuple(meanings.values()))


def _before(cell: ScannedCell) -> str:
    """The numbers of the baseline's answers to the same questions, and whether the cell is new."""
    return f"{cell.numbers_before}{', new' if cell.new else ''}" or MISSING
