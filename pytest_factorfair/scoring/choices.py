"""How often people of each name and age are chosen, whatever their groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from pytest_factorfair.domain import Share
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.statistics.arrays import FloatArray

TAKEN, EXPECTED, SPREAD = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class ChosenCells:
    """Each value of something shown: how often it was chosen, and what indifference would have made of it.

    ``cells`` (S, 2, values, 3) are answers that took it, their expectation among those who were
    shown, and the variance of that.
    """

    values: tuple[str, ...]
    cells: FloatArray

    def __post_init__(self) -> None:
        self.cells.flags.writeable = False

    @property
    def whole(self) -> FloatArray:
        """Over all cells, (values, 3), of the values that some were shown with and some without."""
        total = self.cells.sum(axis=(0, 1))
        return np.asarray(total[total[:, SPREAD] > 0])

    def restrict(self, rows: Sequence[int]) -> ChosenCells:
        return ChosenCells(self.values, self.cells[list(rows)])


class Counting:
    """The cells while cases come in."""

    def __init__(self, shape: tuple[int, int], values: Sequence[str]) -> None:
        self._places = {value: place for place, value in enumerate(values)}
        self._cells: FloatArray = np.zeros((*shape, len(self._places), 3))

    def enter(self, cell: tuple[int, int], shares: Mapping[str, Share]) -> None:
        """Add what one case showed, and what was chosen of it."""
        for value, share in shares.items():
            self._cells[(*cell, self._places[value])] += share

    def cells(self) -> ChosenCells:
        return ChosenCells(tuple(self._places), self._cells)


def features(checklist: FactOrFair) -> Mapping[str, tuple[str, ...]]:
    """What the people of a checklist's queries have besides groups, with all its values."""
    people = (checklist.people, checklist.paper_people)
    names = dict.fromkeys(name for pool in people for name in pool.names)
    ages = sorted({age for pool in people for age in pool.ages})
    return MappingProxyType({"name": tuple(names), "age": tuple(map(str, ages))})
