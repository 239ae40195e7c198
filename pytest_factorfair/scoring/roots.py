"""Many roots at once: Newton's method kept inside shrinking brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pytest_factorfair.scoring.shares import FloatArray

Equation: TypeAlias = Callable[..., tuple[FloatArray, FloatArray]]

ROUNDS = 200
PRECISION = 4e-15


def bracketed_roots(
    equation: Equation, low: FloatArray, high: FloatArray, *parameters: FloatArray
) -> FloatArray:
    """One root in each bracket [low, high] over which the equation goes from negative to positive.

    ``equation(t, *parameters)`` returns value and slope; parameters have the brackets' length and
    shrink with the brackets still open. A step that leaves its bracket, or is not at most half as
    long as the one before, halves the bracket instead: so the rounds are bounded whatever Newton does.
    """
    roots = (low + high) / 2
    open_ = np.arange(roots.size)
    at, before = roots.copy(), high - low
    for _ in range(ROUNDS):
        value, slope = equation(at, *parameters)
        low, high = np.where(value > 0, low, at), np.where(value > 0, at, high)
        following = _step(at, value, slope, low, high, before)
        roots[open_] = following
        before = np.abs(following - at)
        going = (before > PRECISION * np.maximum(1.0, np.abs(at))) & (value != 0)
        if not going.any():
            break
        open_, at, before, low, high = (each[going] for each in (open_, following, before, low, high))
        parameters = tuple(parameter[going] for parameter in parameters)
    return roots


def _step(
    at: FloatArray,
    value: FloatArray,
    slope: FloatArray,
    low: FloatArray,
    high: FloatArray,
    before: FloatArray,
) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = at - value / slope
        good = (newton >= low) & (newton <= high) & (2 * np.abs(newton - at) <= before)
    return np.where(value == 0, at, np.where(good, newton, (low + high) / 2))
