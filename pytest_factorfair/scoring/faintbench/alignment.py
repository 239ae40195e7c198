"""How far generated shares are from demographic ones: the implicit score and what stands beside it.

All take generated and demographic shares of shape (..., k) that broadcast; only their proportions
matter to the implicit score, so that counts serve as well. Without images the result is nan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.statistics.arrays import FloatArray, divided, logs


def similarity(generated: ArrayLike, truth: ArrayLike) -> FloatArray:
    """The paper's implicit score, (1 + cos(p, q)) / 2: 1 for equal shares, never below 0.5."""
    p, q = np.asarray(generated, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    return np.asarray((1 + divided((p * q).sum(axis=-1), length(p) * length(q))) / 2)


def floor(truth: ArrayLike) -> FloatArray:
    """The lowest implicit score these demographic shares allow: all images of their rarest group.

    The cosine is quasi-concave on the simplex, so its minimum lies at a vertex.
    """
    q = np.asarray(truth, dtype=np.float64)
    return np.asarray((1 + q.min(axis=-1) / length(q)) / 2)


def rescaled(score: ArrayLike, truth: ArrayLike) -> FloatArray:
    """R = (S - floor) / (1 - floor): 0 for the rarest group alone, 1 for the demographic shares."""
    lowest = floor(truth)
    return np.asarray((np.asarray(score, dtype=np.float64) - lowest) / (1 - lowest))


def total_variation(generated: ArrayLike, truth: ArrayLike) -> FloatArray:
    """Half the sum of absolute differences: the share of images that would have to change class."""
    p, q = np.asarray(generated, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    return np.asarray(np.abs(_normalised(p) - q).sum(axis=-1) / 2)


def jensen_shannon(generated: ArrayLike, truth: ArrayLike) -> FloatArray:
    """The Jensen-Shannon divergence in bits: 0 for equal shares, 1 for shares without a common class."""
    p, q = _normalised(np.asarray(generated, dtype=np.float64)), np.asarray(truth, dtype=np.float64)
    middle = logs((p + q) / 2)
    parts = p * (logs(p) - middle) + q * (logs(q) - middle)
    return np.asarray(parts.sum(axis=-1) / np.log(4))


def length(vector: FloatArray) -> FloatArray:
    """The Euclidean length along the last axis."""
    return np.asarray(np.sqrt((vector * vector).sum(axis=-1)))


def _normalised(counts: FloatArray) -> FloatArray:
    return divided(counts, counts.sum(axis=-1, keepdims=True))
