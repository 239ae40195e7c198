"""Pairs of an advantaged and a disadvantaged prompt in one attribute: counts and weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring.faintbench.contrast import Contrast
from pytest_factorfair.scoring.faintbench.shares import Compared, compared
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Counts of images beside demographic shares, each of shape (pairs, k).

    ``weights`` (pairs,) and ``classes`` (k,) are the weights of pairs and of sub-attributes.
    """

    advantaged: Compared
    disadvantaged: Compared
    weights: FloatArray
    classes: FloatArray

    @property
    def images(self) -> FloatArray:
        """Of either prompt, of shape (2, pairs)."""
        return np.stack([self.advantaged.images, self.disadvantaged.images])

    def kept(self, these: BoolArray) -> Pairs:
        """Some of the pairs."""
        good, bad = (
            Compared(one.counts[these], one.truth[these]) for one in (self.advantaged, self.disadvantaged)
        )
        return Pairs(good, bad, self.weights[these], self.classes)

    def contrast(self, p: FloatArray, q: FloatArray) -> Contrast:
        """With these generated shares of the advantaged and the disadvantaged prompts, (..., pairs, k)."""
        return Contrast(p, self.advantaged.truth, q, self.disadvantaged.truth, self.weights, self.classes)


def paired(
    advantaged: tuple[ArrayLike, ArrayLike],
    disadvantaged: tuple[ArrayLike, ArrayLike],
    *,
    weights: ArrayLike,
    classes: ArrayLike,
) -> Pairs:
    """Counts (pairs, k) and demographic shares of the advantaged and of the disadvantaged prompts.

    Raises:
        InputError: counts, shares or weights that cannot be right, or shapes that do not fit.
    """
    good, bad = compared(*advantaged), compared(*disadvantaged)
    weight, part = np.asarray(weights, dtype=np.float64), np.asarray(classes, dtype=np.float64)
    shape = good.counts.shape
    if shape != bad.counts.shape or shape != (*weight.shape, *part.shape) or weight.ndim != 1:
        raise InputError(
            f"counts {shape} and {bad.counts.shape}, pair weights {weight.shape} and "
            f"class weights {part.shape} do not fit"
        )
    for one in (weight, part):
        if not np.isfinite(one).all() or (one < 0).any() or not one.any():
            raise InputError("weights of pairs and of classes must be finite, not negative and not all 0")
    return Pairs(good, bad, weight, part)
