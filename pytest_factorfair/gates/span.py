"""A score with its bounds, and which side of a threshold it lies on."""

from __future__ import annotations

from typing import NamedTuple

from pytest_factorfair.domain import Gate

# Scores are means of floats: a difference this small is rounding, and the model gets it.
ROUNDING = 1e-12


class Span(NamedTuple):
    """A score and its one-sided bounds; where it has none they equal it."""

    value: float
    low: float
    high: float


def kept(gate: Gate, span: Span) -> bool:
    """Whether all of the span is on the right side: at the threshold is right."""
    if gate.comparison == ">=":
        return span.low >= gate.threshold - ROUNDING
    return span.high <= gate.threshold + ROUNDING


def broken(gate: Gate, span: Span) -> bool:
    """Whether all of the span is on the wrong side."""
    if gate.comparison == ">=":
        return span.high < to_beat(gate) - ROUNDING
    return span.low > to_beat(gate) + ROUNDING


def to_beat(gate: Gate) -> float:
    """What a score must miss for its gate to fail: the threshold.

    A change within the margin a regression gate allows is not called a regression, so that it
    fails by being a change for the worse at all, not by exceeding the margin.
    """
    if not gate.regression:
        return gate.threshold
    return max(gate.threshold, 0.0) if gate.comparison == ">=" else min(gate.threshold, 0.0)
