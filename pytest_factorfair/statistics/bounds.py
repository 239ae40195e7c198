"""Quantiles, the tail of chi-square, and the bounds of a share."""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, pi, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.statistics.arrays import FloatArray

# The probability on each side of the 95 % intervals in reports.
BEYOND = 0.025

# The share of runs that must notice a difference for it to count as one that they would have noticed.
NOTICED = 0.80

# The distance, in standard errors, from the mean of estimates to the value that 80 % of them exceed.
POWER = NormalDist().inv_cdf(NOTICED)


@lru_cache(maxsize=64)
def quantile(alpha: float, freedom: int | None = None) -> float:
    """The value exceeded with probability alpha: standard normal, or Student's t with ``freedom``."""
    if freedom is None:
        return -NormalDist().inv_cdf(alpha)  # by symmetry; 1 - alpha could round to 1
    # Lazy: scipy takes a while to import, and only intervals over scenarios need it.
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, alpha))


def wilson(share: float, n: float, *, z: float) -> float:
    """Wilson's score bound of a share of n: the upper one for positive z, the lower for negative."""
    return float(wilsons(share, n, z=z))


def wilsons(share: ArrayLike, n: ArrayLike, *, z: float) -> FloatArray:
    """Wilson's bounds of an array of shares; a known share has an infinite n, and is its own bound."""
    p, answers = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if z == 0:
        return p
    centre = p + z * z / (2 * answers)
    spread = z * np.sqrt(p * (1 - p) / answers + (z / (2 * answers)) ** 2)
    bound = (centre + spread) / (1 + z * z / answers)
    # At a share of 0 or 1 the nearer bound is the share itself; remove rounding errors.
    return np.asarray(np.clip(bound, 0.0, p) if z < 0 else np.clip(bound, p, 1.0))


def chi_square_tail(value: float, freedom: int) -> float:
    """The probability that a chi-square variable exceeds a value, for whole degrees of freedom."""
    half = value / 2
    if freedom % 2:
        term, total = sqrt(half / pi) * 2 * exp(-half), erfc(sqrt(half))
        steps = range(3, freedom + 1, 2)
    else:
        term, total = exp(-half) * half, exp(-half)
        steps = range(4, freedom + 1, 2)
    for step in steps:
        total += term
        term *= half * 2 / step
    return min(total, 1.0)
