"""Quantiles, and the bounds of a share."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from statistics import NormalDist

# Of each side of the 95 % intervals that reports print.
BEYOND = 0.025


@lru_cache(maxsize=64)
def quantile(alpha: float, freedom: int | None = None) -> float:
    """The value exceeded with probability alpha: standard normal, or Student's with so many degrees."""
    if freedom is None:
        return -NormalDist().inv_cdf(alpha)  # rather than of 1 - alpha, which may round to 1
    # scipy takes a while to import and only intervals over scenarios need it.
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, alpha))


def wilson(share: float, n: int, *, z: float) -> float:
    """Wilson's score bound of a share of n: the upper one for positive z, the lower for negative."""
    centre = share + z * z / (2 * n)
    spread = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    bound = (centre + spread) / (1 + z * z / n)
    # At a share of 0 or 1 the nearer bound is the share itself, but for rounding.
    return min(max(bound, 0.0), share) if z < 0 else max(min(bound, 1.0), share)
