"""Models to be held against each other, and what each brings to a score that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain import Gate, Record, Score
from pytest_factorfair.gates.basis import NEEDED, Cell, tally_cells
from pytest_factorfair.gates.doubt import empty, lossy, thin
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.gates.faintbench import Prompts
from pytest_factorfair.scoring.faintbench import Gallery, Selection, eta, explicit_level, implicit_level
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.bounds import BEYOND, quantile
from pytest_factorfair.statistics.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """One model of one report. ``name`` is how boards call it, unique among contenders."""

    name: str
    tallies: tuple[Tally, ...]
    records: tuple[Record, ...]
    scores: tuple[Score, ...]
    galleries: tuple[Gallery, ...]


class Showing(NamedTuple):
    """What a contender brings to a board: ``total`` is what was asked for it and became of it.

    ``doubt`` is why nothing can be claimed of it, empty if something can.
    """

    name: str
    found: Estimate
    low: float | None
    high: float | None
    total: Cell
    doubt: str


def counted(name: str, metric: str, tally: Tally, found: Estimate) -> Showing:
    """A score computed from counts."""
    cells = tuple(tally_cells(tally))
    doubt = _doubt(metric, found, cells, NEEDED[metric])
    return Showing(name, found, found.lower(BEYOND), found.upper(BEYOND), _sum(cells), doubt)


def quoted(contender: Contender, score: Score) -> Showing:
    """The influence as its report has it: what it was computed from is not all there."""
    half = None if score.corrected is None or score.high is None else score.high - score.corrected
    error = None if half is None else half / quantile(BEYOND)
    found = Estimate(score.value, score.corrected, error, score.n, score.reason)
    cells = tuple(_contexts(contender, score))
    doubt = _doubt(score.metric, found, cells, NEEDED[INFLUENCE])
    return Showing(contender.name, found, score.low, score.high, _sum(cells), doubt)


def pictured(name: str, metric: str, gallery: Gallery, selection: Selection) -> Showing:
    """A score of FAIntbench, from the counts of a gallery."""
    gate = Gate(metric, metric, (), ">=", 0.0, regression=True)
    basis = Prompts(gallery, selection)
    found = _level(metric, gallery, selection)
    cells = tuple(basis.cells(gate))
    doubt = _doubt(metric, found, cells, basis.needed(gate))
    return Showing(name, found, found.lower(BEYOND), found.upper(BEYOND), cells[0], doubt)


def _level(metric: str, gallery: Gallery, selection: Selection) -> Estimate:
    if metric == "eta":
        return eta(gallery, selection, "corrected")[0]
    level = implicit_level if metric == "implicit" else explicit_level
    return level(gallery, selection, "corrected", metric).estimate


def _doubt(metric: str, found: Estimate, cells: Sequence[Cell], needed: int) -> str:
    """As of a gate: answers are missing, or too few."""
    return empty(cells) or found.reason or thin(metric, cells, needed) or lossy(metric, cells) or ""


def _contexts(contender: Contender, score: Score) -> Iterator[Cell]:
    """The subjective cells of all contexts."""
    for tally in contender.tallies:
        if (tally.checklist, tally.part, tally.attribute) == (score.checklist, score.part, score.attribute):
            yield from tally_cells(tally, f"{tally.context} ")


def _sum(cells: Sequence[Cell]) -> Cell:
    numbers = zip(*(cell[1:] for cell in cells), strict=True) if cells else ((0,),) * 4
    return Cell("all", *map(sum, numbers))
