"""Counts to shares: the one place where answers become distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import FloatArray

TOPIC_AXES = (-2, -1)


def shares(counts: ArrayLike, *, smoothing: float = 0.0) -> FloatArray:
    """Each cell's counts as shares, (n_i + smoothing) / (n + k smoothing).

    ``counts`` has shape (..., statistics, 2, k). A cell without answers has no distribution, smoothed
    or not: its shares are nan, so that a score over it is nan and never a mean over fewer topics.

    Raises:
        InputError: another shape, no statistic, k below 2, a negative or non-finite count or smoothing.
    """
    cells = _validated(counts)
    if not 0 <= smoothing < np.inf:
        raise InputError(f"smoothing is {smoothing}; a finite pseudo-count of 0 or more is needed")
    answered = cells.sum(axis=-1, keepdims=True)
    total = np.broadcast_to(answered + smoothing * cells.shape[-1], cells.shape)
    any_answer = np.broadcast_to(answered > 0, cells.shape)
    found: FloatArray = np.divide(
        cells + smoothing, total, out=np.full(cells.shape, np.nan), where=any_answer
    )
    return found


def _validated(counts: ArrayLike) -> FloatArray:
    cells = np.asarray(counts, dtype=np.float64)
    if cells.ndim < 3 or cells.shape[-3] < 1 or cells.shape[-2] != 2 or cells.shape[-1] < 2:  # noqa: PLR2004 - the shape
        raise InputError(f"counts have shape {cells.shape}; (..., statistics, 2, groups) is needed")
    if not np.isfinite(cells).all() or (cells < 0).any():
        raise InputError("counts must be finite and not negative")
    return cells


def mean(values: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """The mean over topics, nan where one of them is."""
    averaged: FloatArray = values.mean(axis=axis)
    return averaged
