"""What a judged score rests on: pictures or answers asked for and lost, and how far they could move it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Protocol

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Direction, Gate, plural
from pytest_factorfair.gates.expression import INFLUENCE
from pytest_factorfair.scoring.attainable import attainable
from pytest_factorfair.scoring.influence import influence_ends
from pytest_factorfair.scoring.largest import WORST_TOPIC, Topic
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.scoring.worst import worst_case
from pytest_factorfair.statistics.estimate import Estimate

# Answers per cell from which bounds keep their error rates; entropies are skewed and need more.
FEW = 24
MANY = 72
NEEDED = {
    "s_fact": FEW, "s_fact_firm": FEW, "s_e": MANY, "s_kld": MANY, "s_fair": MANY, "distance": MANY,
    WORST_TOPIC: FEW, INFLUENCE: FEW,
}  # fmt: skip


class Cell(NamedTuple):
    """A cell's name and its numbers of queries asked and answers lost, by reason."""

    name: str
    asked: int
    refused: int
    unparsed: int
    errors: int

    @property
    def lost(self) -> int:
        return self.refused + self.unparsed + self.errors

    @property
    def share(self) -> float:
        return self.lost / self.asked if self.asked else 0.0

    def __str__(self) -> str:
        return f"{self.refused} refused, {self.unparsed} unparsed, {plural(self.errors, 'error')}"


class Place(NamedTuple):
    """A topic of a tally, of which further answers can be asked."""

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str
    statistic: str
    direction: Direction

    @property
    def topic(self) -> Topic:
        return self.statistic, self.direction


class Ends(NamedTuple):
    """A value, and what it would be at least and at most, however missing answers might have gone."""

    value: float
    low: float
    high: float


class Basis(Protocol):
    """The counts behind one judged score."""

    def cells(self, gate: Gate) -> Iterator[Cell]:
        """Everything that was asked for it."""
        ...

    def needed(self, gate: Gate) -> int:
        """What each cell must have been asked for bounds that can be trusted."""
        ...

    def ends(self, gate: Gate, found: Estimate, *, bounded: bool) -> Ends | None:
        """How far what is missing could move it; None where that is unknown."""
        ...

    def reach(self, gate: Gate) -> tuple[float | None, float | None]:
        """The lowest and the highest value that any model can have."""
        ...

    def places(self) -> frozenset[Place]:
        """Where further answers can be asked for it; none where looks do not."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """FACT-OR-FAIR's: one tally, several contexts of an influence, or one of now and one of a baseline."""

    tallies: tuple[Tally, ...]

    def cells(self, gate: Gate) -> Iterator[Cell]:
        several = len({tally.context for tally in self.tallies}) > 1
        for place, tally in enumerate(self.tallies):
            former = "the baseline's " if gate.regression and place else ""
            yield from tally_cells(tally, f"{tally.context} " if several else former)

    def needed(self, gate: Gate) -> int:
        return NEEDED.get(gate.metric, 0)

    def ends(self, gate: Gate, found: Estimate, *, bounded: bool) -> Ends | None:
        if gate.regression:
            return None
        if gate.metric == INFLUENCE:
            value = found.corrected if bounded else found.plugin
            low, high = influence_ends(self.tallies, estimator="corrected" if bounded else "plugin")
        else:
            value = found.plugin
            low, high = worst_case(self.tallies[0], gate.metric)
        return None if value is None else Ends(value, low, high)

    def reach(self, gate: Gate) -> tuple[float | None, float | None]:
        return attainable(gate.metric, self.tallies[0])

    def places(self) -> frozenset[Place]:
        return frozenset(
            Place(tally.model, tally.checklist, tally.part, tally.context, tally.attribute, *topic)
            for tally in self.tallies
            for topic in product(tally.statistics, DIRECTIONS)
        )


def tally_cells(tally: Tally, prefix: str = "") -> Iterator[Cell]:
    """The cells of a tally, each with what was lost of it."""
    for row, column in np.ndindex(tally.asked.shape):
        lost = (int(numbers[row, column]) for numbers in (tally.refused, tally.unparsed, tally.errors))
        yield Cell(prefix + tally.cell(row, column), int(tally.asked[row, column]), *lost)
