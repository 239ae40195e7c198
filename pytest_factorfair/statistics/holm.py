"""Several gates, one claim that something failed: the correction that keeps its error rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_factorfair.statistics.estimate import Estimate

ALPHA = 0.05
HALVINGS = 60
# Nobody needs to be surer than this.
SUREST = 1e-15


def surviving(chances: Sequence[float | None], *, of: int, alpha: float) -> tuple[bool, ...]:
    """Which claims hold together at level alpha (Holm, step-down); None is no claim.

    ``of`` is the number of gates among which the claims were found. Nothing of the kind is needed
    to pass: a release passes when all its gates do, which is rarer than any one of them passing.
    """
    claims = sorted((chance, place) for place, chance in enumerate(chances) if chance is not None)
    held = [False] * len(chances)
    for rank, (chance, place) in enumerate(claims):
        if chance > alpha / (of - rank):
            break
        held[place] = True
    return tuple(held)


def chance_below(estimate: Estimate, threshold: float) -> float:
    """The smallest level at which the upper bound lies below the threshold: the p value of that claim."""
    return _smallest(lambda alpha: (estimate.upper(alpha) or 0.0) < threshold)


def chance_above(estimate: Estimate, threshold: float) -> float:
    """The smallest level at which the lower bound lies above the threshold."""
    return _smallest(lambda alpha: (estimate.lower(alpha) or 0.0) > threshold)


def _smallest(holds: Callable[[float], bool]) -> float:
    low, high = SUREST, 0.5
    if holds(low):
        return low
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
