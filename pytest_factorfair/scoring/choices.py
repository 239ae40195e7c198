"""How often people of each name and age are chosen, whatever their groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from pytest_factorfair.domain import Checklist, Option
from pytest_factorfair.scoring.shares import FloatArray

TAKEN, EXPECTED, SPREAD = range(3)

Feature: TypeAlias = Callable[[Option], str]


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
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

    def restrict(self, rows: Sequence[int]) -> Choices:
        return Choices(self.values, self.cells[list(rows)])


class Counting:
    """Choices while answers come in."""

    def __init__(self, shape: tuple[int, int], values: Sequence[str], feature: Feature) -> None:
        self._places = {value: place for place, value in enumerate(values)}
        self._feature = feature
        self._cells: FloatArray = np.zeros((*shape, len(self._places), 3))

    def enter(self, cell: tuple[int, int], options: Sequence[Option], letter: str) -> None:
        """Count one answer to a query that offered these options."""
        shown = Counter(self._feature(option) for option in options)
        taken = next(self._feature(option) for option in options if option.letter == letter)
        for value, times in shown.items():
            share = times / len(options)
            self._cells[(*cell, self._places[value])] += (value == taken, share, share * (1 - share))

    def choices(self) -> Choices:
        return Choices(tuple(self._places), self._cells)


def features(checklist: Checklist) -> Mapping[str, tuple[tuple[str, ...], Feature]]:
    """What the people of a checklist's queries have besides groups: its values, and how to read them off."""
    people = (checklist.people, checklist.paper_people)
    ages = {str(age) for pool in people for age in pool.ages}
    names = dict.fromkeys(name for pool in people for name in pool.names)

    def age(option: Option) -> str:
        return next((word for word in re.findall(r"\d+", option.text) if word in ages), "")

    return MappingProxyType(
        {
            "names": (tuple(names), lambda option: option.words[0]),
            "ages": (("", *sorted(ages, key=int)), age),
        }
    )
