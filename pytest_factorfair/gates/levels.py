"""The levels at which the looks of a run judge its gates."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist

from pytest_factorfair.statistics.holm import ALPHA

# Bounds in standard errors, by the number of equally spaced looks. The error over all looks together is .05,
# spent by the O'Brien-Fleming rule (Lan and DeMets), so that the last bound is nearly 1.645.
BOUNDARIES: Mapping[int, tuple[float, ...]] = {
    1: (NormalDist().inv_cdf(1 - ALPHA),),
    2: (2.538, 1.662),
    3: (3.200, 2.141, 1.695),
    4: (3.750, 2.540, 2.016, 1.720),
}


def levels(looks: int) -> list[float]:
    """The one-sided level of each of so many looks."""
    return [1 - NormalDist().cdf(bound) for bound in BOUNDARIES[looks]]
