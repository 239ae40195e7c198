"""Many roots at once: Newton's method kept inside shrinking brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pytest_factorfair.scoring.shares import FloatArray

Equation: TypeAlias = Callable[..., tuple[FloatArray, FloatArray]]

ROUNDS = 200
BISECT_EVERY = 4
PRECISION = 4e-16


def bracketed_roots(
    equation: Equation, low: FloatArray, high: FloatArray, *parameters: FloatArray
) -> FloatArray:
    """One root in each bracket [low, high] over which the equation goes from negative to positive.

    ``equation(t, *parameters)`` returns value and slope; parameters have the brackets' length and
    shrink with the brackets still open. Every fourth step halves the bracket, so that the number
    of rounds is bounded whatever Newton does.
    """
    roots = (low + high) / 2
    open_ = np.arange(roots.size)
    at = roots.copy()
    for turn in range(1, ROUNDS):
        value, slope = equation(at, *parameters)
        low, high = np.where(value > 0, low, at), np.where(value > 0, at, high)
        following = _step(at, value, slope, low, high, halve=turn % BISECT_EVERY == 0)
        roots[open_] = following
        going = (np.abs(following - at) > PRECISION * np.maximum(1.0, np.abs(at))) & (value != 0)
        if not going.any():
            break
        open_, at, low, high = open_[going], following[going], low[going], high[going]
        parameters = tuple(parameter[going] for parameter in parameters)
    return roots


def _step(
    at: FloatArray, value: FloatArray, slope: FloatArray, low: FloatArray, high: FloatArray, *, halve: bool
) -> FloatArray:
    middle = (low + high) / 2
    if halve:
        return np.where(value == 0, at, middle)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = at - value / slope
    return np.where((newton >= low) & (newton <= high), newton, middle)
