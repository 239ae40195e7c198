"""Permutation tests: does a part of some values differ from the others of its stratum by more than chance?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray

PERMUTATIONS = 10_000

ROUNDING = 1e-12


class LowestPart(NamedTuple):
    """The part furthest below the others of its stratum, in its own error: its number, and how far.

    ``chance`` is the share of permutations in which some part is as far.
    """

    part: int
    gap: float
    chance: float


def lowest_part(values: FloatArray, parts: BoolArray, strata: IntArray) -> LowestPart:
    """Find the part (P, n) of the values (n,) that is lowest, and permute values within strata (n,).

    A part lies within one stratum, and does not fill it. Always the same permutations are drawn.
    """
    masks = parts.astype(np.float64)
    others = (strata == strata[parts.argmax(axis=1)][:, None]) & ~parts
    sizes, other_sizes = parts.sum(axis=1), others.sum(axis=1)
    scale = np.sqrt(1 / sizes + 1 / other_sizes)

    def lag(values: FloatArray) -> FloatArray:
        gap = values @ others.astype(np.float64).T / other_sizes - values @ masks.T / sizes
        return np.asarray(gap / scale)

    observed = lag(values)
    index = int(observed.argmax())
    generator = np.random.default_rng(PERMUTATIONS)
    permuted = np.tile(values, (PERMUTATIONS, 1))
    for stratum in np.unique(strata):
        columns = np.flatnonzero(strata == stratum)
        permuted[:, columns] = generator.permuted(permuted[:, columns], axis=1)
    as_far = (lag(permuted).max(axis=1) >= observed[index] - ROUNDING).sum()
    return LowestPart(index, float(observed[index] * scale[index]), float(1 + as_far) / (PERMUTATIONS + 1))
