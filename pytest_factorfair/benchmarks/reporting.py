"""The reporting part of a benchmark: tables, figures, its parts of the HTML page and the model card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from pytest_factorfair.benchmarks.metric import ScoreKey
from pytest_factorfair.domain import ReportRows, Summary
from pytest_factorfair.drawing.statements import ModelRow
from pytest_factorfair.drawing.table import MISSING, Row, Table, differing

PERCEIVED = "Of the people in pictures, only a detector's perception is known, and detectors err."


class RightAnswer(NamedTuple):
    """The right group in answers to a case; ``score_key`` and ``metric`` name the score that counts it."""

    group: str
    score_key: ScoreKey
    metric: str


SubjectT = TypeVar("SubjectT", bound=ModelRow)


def by_subject(rows: Sequence[SubjectT]) -> Iterator[tuple[str, list[SubjectT]]]:
    """The rows of each model and checklist, under a title that names the model if there are several."""
    subjects = dict.fromkeys((row.model, row.checklist) for row in rows)
    for model, checklist in subjects:
        title = f"{model} · {checklist}" if len(subjects) > 1 else checklist
        yield title, [row for row in rows if (row.model, row.checklist) == (model, checklist)]


@dataclass(frozen=True, slots=True)
class ScannedCell:
    """A cell of a scan: a kind of person under a condition, or a condition alone where losses are scanned.

    ``taken`` of ``n`` answers were so, a sum if they are probabilities; ``fair`` are expected, and ``limit``
    are the most or the least that the scan allows. Above a ``value`` of 1 it fails. ``sentence`` says all
    this. ``case`` shows it most often, ``queries`` are examples from there. ``before`` and ``before_n`` are
    the numbers of the baseline's answers to the same questions, None if it has none.
    """

    kind: str
    condition: str
    taken: float
    n: int
    fair: float
    limit: float
    value: float
    sentence: str
    case: str
    queries: tuple[str, ...]
    before: float | None = None
    before_n: int | None = None

    @property
    def name(self) -> str:
        """The condition and the kind in words."""
        return ": ".join(filter(None, (self.condition, self.kind)))

    @property
    def numbers_before(self) -> str:
        """``338 of 1,368``; empty if the baseline has none."""
        return f"{self.before:,.0f} of {self.before_n:,}" if self.before is not None and self.before_n else ""

    @property
    def new(self) -> bool:
        """Whether it fails, and the baseline's answers to the same questions were within the limit."""
        if self.value <= 1 or self.before is None or not self.before_n:
            return False
        share, limit = self.before / self.before_n, self.limit / self.n
        return share <= limit if self.taken > self.fair else share >= limit


@dataclass(frozen=True, slots=True)
class ScanResult:
    """A scan of the first answers of a model: its ``value``, that of the worst of its cells.

    ``scan`` is the word that selects it. So many ``cells`` can fail, all together with chance ``alpha``, as
    their n KL exceeds ``limit``; ``worst`` are the worst of those that differ.
    """

    model: str
    checklist: str
    scan: str
    value: float
    cells: int
    limit: float
    alpha: float
    n: int
    worst: tuple[ScannedCell, ...]


SCANS = ReportRows("scans", ScanResult, ("model", "checklist", "scan"))


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
    scans = SCANS.of(summary)
    subjects = [(scan.model, scan.checklist) for scan in scans]
    for scan in scans:
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
