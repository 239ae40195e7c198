"""Conditions of a scan: sets of questions that share a value of what varies between them, or several values.

They follow from the values; none is listed by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.statistics.arrays import IntArray

Bits: TypeAlias = NDArray[np.uint8]

FEWEST = 40
"""The number of questions from which two values together are a condition."""


class Factor(NamedTuple):
    """What varies between questions: the value of each, (N,), -1 for none, and a clause about each value."""

    values: IntArray
    clauses: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Conditions:
    """Sets of questions: packed ``bits`` (C, N / 8), and the numbers of the clauses that name them."""

    bits: Bits
    parts: Sequence[tuple[int, ...]]
    clauses: Sequence[str]

    def words(self, number: int) -> str:
        """A condition in words, such as "told of a White person, with Jordan among them"."""
        return ", ".join(self.clauses[part] for part in self.parts[number])


def conditions(
    factors: Mapping[str, Factor], questions: int, together: Iterable[Sequence[str]] = ()
) -> Conditions:
    """Every value, every two values of enough questions, and all values of factors ``together``.

    Equal sets count once. ``questions`` is their number.
    """
    clauses = ["over all questions"]
    masks, owners, numbers = [np.ones(questions, np.bool_)], [-1], {}
    for owner, (name, factor) in enumerate(factors.items()):
        for value, clause in enumerate(factor.clauses):
            mask = factor.values == value
            if mask.any():
                numbers[name, value] = len(clauses)
                clauses.append(clause)
                masks.append(mask)
                owners.append(owner)
    singles = np.stack(masks)
    bits = np.packbits(singles, axis=1)
    sizes = singles.astype(np.float32) @ singles.T.astype(np.float32)
    first, second = np.nonzero(np.triu(sizes >= FEWEST, k=1))
    differ = (np.array(owners)[first] != np.array(owners)[second]) & (first > 0)
    first, second = first[differ], second[differ]
    every = [bits, bits[first] & bits[second]]
    parts: list[tuple[int, ...]] = [(number,) for number in range(len(clauses))]
    parts += zip(first.tolist(), second.tolist(), strict=True)
    for names in together:
        values = zip(*(factors[name].values.tolist() for name in names), strict=True)
        combined = [
            tuple(numbers[key] for key in zip(names, value, strict=True))
            for value in dict.fromkeys(values)
            if min(value) >= 0
        ]
        if combined:
            every.append(np.bitwise_and.reduce(bits[np.array(combined)], axis=1))
            parts += combined
    packed = np.concatenate(every)
    unique: dict[bytes, int] = {}
    for number, row in enumerate(packed):
        unique.setdefault(row.tobytes(), number)
    kept = list(unique.values())
    return Conditions(packed[kept], [parts[number] for number in kept], clauses)
