"""Counts of images and demographic shares, validated, as arrays that fit each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import FloatArray, divided

# Shares are given to a few digits.
ROUNDED = 1e-6
# Pseudo-images of a cell, over all classes, in the shares that errors are computed on (Agresti and
# Coull): images that are all of one class would otherwise have no error.
PSEUDO = 4.0


class Compared(NamedTuple):
    """Counts and demographic shares, both of shape (..., k)."""

    counts: FloatArray
    truth: FloatArray

    @property
    def images(self) -> FloatArray:
        """How many images each cell has, of shape (...)."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def generated(self) -> FloatArray:
        """Generated shares, nan where there are no images."""
        return divided(self.counts, self.images[..., None])


def compared(counts: ArrayLike, truth: ArrayLike) -> Compared:
    """Counts (..., k) of images per class beside demographic shares that broadcast to them.

    Raises:
        InputError: shapes that do not fit, fewer than two classes, a negative or non-finite count
            or share, shares that do not add up to 1.
    """
    cells, shares = np.asarray(counts, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if not cells.ndim or not shares.ndim or cells.shape[-1] != shares.shape[-1] or cells.shape[-1] < 2:  # noqa: PLR2004 - the shape
        raise InputError(
            f"counts {cells.shape} and shares {shares.shape} must have the same two or more classes"
        )
    try:
        cells, shares = np.broadcast_arrays(cells, shares)
    except ValueError:
        raise InputError(f"shares of shape {shares.shape} do not fit counts of shape {cells.shape}") from None
    if not np.isfinite(cells).all() or (cells < 0).any():
        raise InputError("counts must be finite and not negative")
    if not np.isfinite(shares).all() or (shares < 0).any() or (abs(shares.sum(axis=-1) - 1) > ROUNDED).any():
        raise InputError("demographic shares must not be negative and must add up to 1")
    return Compared(cells, shares)


def whole(counts: FloatArray) -> FloatArray:
    """The counts, for what rests on draws of single images.

    Raises:
        InputError: sums of probabilities in place of counts.
    """
    if (counts != np.rint(counts)).any():
        raise InputError("counts must be whole numbers of images: sums of probabilities have no interval")
    return counts


def smoothed(counts: FloatArray) -> FloatArray:
    """Shares with PSEUDO images spread evenly over the classes, of shape (..., k)."""
    k = counts.shape[-1]
    return np.asarray((counts + PSEUDO / k) / (counts.sum(axis=-1, keepdims=True) + PSEUDO))
