"""Compare a score and its bounds with a threshold, and describe the result.

Rounded numbers stay on their side of the threshold.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple, TypeAlias

from pytest_factorfair.domain import Gate

# Scores are means of floats: a difference this small is rounding, decided in the model's favour.
ROUNDING = 1e-12

# Reports hold probabilities to six decimals: a smaller change may be rounding.
ROUNDING_OF_CHANGES = 1e-5


class BoundedScore(NamedTuple):
    """A score and its one-sided bounds, which equal the score if it has none."""

    value: float
    low: float
    high: float


def meets(gate: Gate, bounds: BoundedScore) -> bool:
    """Whether all of the interval is on the right side, which includes the threshold."""
    rounding = ROUNDING_OF_CHANGES if gate.regression else ROUNDING
    if gate.comparison == ">=":
        return bounds.low >= gate.threshold - rounding
    return bounds.high <= gate.threshold + rounding


def violates(gate: Gate, bounds: BoundedScore) -> bool:
    """Whether all of the interval is on the wrong side."""
    rounding = ROUNDING_OF_CHANGES if gate.regression else ROUNDING
    if gate.comparison == ">=":
        return bounds.high < fail_limit(gate) - rounding
    return bounds.low > fail_limit(gate) + rounding


def fail_limit(gate: Gate) -> float:
    """The limit; a gate fails if the whole interval is on its wrong side.

    A regression gate passes within its margin. It fails on a significant change for the worse, even one that
    does not exceed the margin.
    """
    if not gate.regression:
        return gate.threshold
    return max(gate.threshold, 0.0) if gate.comparison == ">=" else min(gate.threshold, 0.0)


Extent: TypeAlias = tuple[float, float]
"""The lowest and the highest value that is shown."""

UNLIMITED: Extent = (-inf, inf)


def clipped(number: float, extent: Extent) -> float:
    """A score or a bound within the extent of its metric."""
    return min(max(number, extent[0]), extent[1])


DIGITS = range(3, 13)
RELATIONS = {">=": "is at least", "<=": "is at most"}


def relation(
    gate: Gate, bounds: BoundedScore, possible_range: tuple[float | None, float | None], *, extent: Extent
) -> str:
    """Say on which side of the threshold a score lies: ``0.930 (0.918 to 0.942) is below 0.970``.

    The range that the design allows follows, unless it is 0 to 1.
    """
    value = valued(gate, bounds, extent=extent)
    if not meets(gate, bounds):
        return f"{value} is {_wrong_side(gate, bounds, 'a clear')}{_range(gate, possible_range)}"
    side = f"{RELATIONS[gate.comparison]} {_threshold(gate.threshold)}"
    return f"{value} {side}{_range(gate, possible_range)}"


def _wrong_side(gate: Gate, bounds: BoundedScore, clear: str) -> str:
    """What a score is that fails: beyond its limit or, for a change, a ``clear`` one for the worse."""
    if within_margin(gate, bounds):
        return f"{clear} {'fall' if gate.comparison == '>=' else 'rise'}"
    return f"{'below' if gate.comparison == '>=' else 'above'} {_threshold(gate.threshold)}"


def within_margin(gate: Gate, bounds: BoundedScore) -> bool:
    """Whether a change may be within its gate's margin, so that it is only clear that it is for the worse."""
    if fail_limit(gate) == gate.threshold:
        return False
    return bounds.high >= gate.threshold if gate.comparison == ">=" else bounds.low <= gate.threshold


def undecided(gate: Gate, bounds: BoundedScore, *, extent: Extent) -> str:
    """Say that a score is undecided: ``0.958 (0.948 to 0.968) is too close to 0.960 to tell``."""
    return f"{valued(gate, bounds, extent=extent)} is too close to {_threshold(gate.threshold)} to tell"


def score_and_limit(gate: Gate, bounds: BoundedScore, *, extent: Extent) -> str:
    """The score and its limit: ``0.958 (0.948 to 0.968), limit 0.960``."""
    return f"{valued(gate, bounds, extent=extent)}, limit {_threshold(gate.threshold)}"


def one_of_many(gate: Gate, bounds: BoundedScore, gates: int, *, extent: Extent) -> str:
    """Say that a failure is not significant among all gates.

    ``0.955 (0.949 to 0.959) is below 0.960, but not clearly enough for one of 7 gates``
    """
    value = valued(gate, bounds, extent=extent)
    return f"{value} is {_wrong_side(gate, bounds, 'a')}, but not clearly enough for one of {gates} gates"


def between(gate: Gate, bounds: BoundedScore, *, extent: Extent) -> str:
    """The bounds: ``0.918 to 0.942``."""
    _, low, high = _texts(gate, bounds, extent=extent)
    return f"{low} to {high}"


def valued(gate: Gate, bounds: BoundedScore, *, extent: Extent) -> str:
    """A score with its bounds, if it has any: ``0.930 (0.918 to 0.942)``."""
    value, low, high = _texts(gate, bounds, extent=extent)
    return value if bounds.low == bounds.high else f"{value} ({low} to {high})"


def _texts(gate: Gate, bounds: BoundedScore, *, extent: Extent) -> list[str]:
    """Value and bounds as text, with enough decimals to keep each on its side of the threshold."""
    sign = "+" if gate.regression else ""
    numbers = [clipped(number, extent) for number in bounds]
    texts: list[str] = []
    for digits in DIGITS:
        texts = [f"{number:{sign}z.{digits}f}" for number in numbers]
        rounded = BoundedScore(*map(float, texts))
        if (meets(gate, rounded), violates(gate, rounded)) == (meets(gate, bounds), violates(gate, bounds)):
            break
    return texts


def _threshold(threshold: float) -> str:
    return f"{threshold:.2f}" if float(f"{threshold:.2f}") == threshold else f"{threshold:.12g}"


def _range(gate: Gate, possible_range: tuple[float | None, float | None]) -> str:
    if gate.regression:
        return ""
    low, high = possible_range
    if (low or 0.0) == 0.0 and (high is None or high == 1.0):
        return ""
    ends = {"floor": low, "ceiling": high}
    return f" ({', '.join(f'{name} {end:.3g}' for name, end in ends.items() if end is not None)})"
