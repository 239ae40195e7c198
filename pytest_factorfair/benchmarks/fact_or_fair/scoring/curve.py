"""The trade-off curve between factuality and fairness, and the distance to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.arrays import FloatArray

# Positions on the curve are logits t = log(x / (1 - x)), which do not cancel near either end. At +-END, x and
# g are those of the ends to the last bit. Beyond +-LIMIT only the slope still grows: normals end there.
END, LIMIT = 700.0, 40.0

HALVINGS = 52  # of a bracket of at most 2 END: a root to 3e-13

ON_THE_CURVE = 1e-12

# Closer than this, rounding decides in which direction the curve lies.
NO_DIRECTION = 1e-9


def tradeoff_bound(a: ArrayLike, k: int) -> FloatArray:
    """The largest S_E that S_fact = a allows: g_k(a) = -((1-a) log((1-a)/(k-1)) + a log a) / log k.

    Fact-or-Fair, Conclusion 1; the ends are the limits g(0) = log(k-1)/log k and g(1) = 0.

    Raises:
        InputError: a is outside 0 to 1, or k is below 2.
    """
    if k < 2:  # noqa: PLR2004 - a curve needs two groups
        raise InputError(f"k is {k}; an attribute has at least 2 groups")
    facts = np.asarray(a, dtype=np.float64)
    if (facts < 0).any() or (facts > 1).any():
        raise InputError("S_fact must lie between 0 and 1")
    other_share = 1 - facts
    logs = [np.log(x, out=np.zeros_like(x), where=x > 0) for x in (facts, other_share)]
    bound: FloatArray = np.divide(
        0.0 - (other_share * (logs[1] - np.log(k - 1)) + facts * logs[0]), np.log(k)
    )
    return bound


def tradeoff_distance(s_fact: ArrayLike, s_e: ArrayLike, k: int) -> FloatArray:
    """The Euclidean distance from (S_fact, S_E) to the curve; negative above it, 0 within 1e-12 of it.

    It is the global minimum, ends included: the squared distance to a concave curve can have two local
    minima. Arrays broadcast; nan stays nan.

    Raises:
        InputError: S_fact is outside 0 to 1, or k is below 2.
    """
    facts, evenness = np.broadcast_arrays(np.asarray(s_fact, np.float64), np.asarray(s_e, np.float64))
    distance, _ = _nearest(facts, evenness, k)
    return distance * _side(facts, evenness, k)


def distance_and_normal(s_fact: ArrayLike, s_e: ArrayLike, k: int) -> tuple[FloatArray, FloatArray]:
    """The signed distance and its gradient by (S_fact, S_E), a unit vector, of shape (..., 2).

    The gradient points from the curve's nearest point to the point below it. On the curve itself, where
    that has no direction, it is the curve's normal (g', -1).
    """
    facts, evenness = np.broadcast_arrays(np.asarray(s_fact, np.float64), np.asarray(s_e, np.float64))
    side = _side(facts, evenness, k)
    distance, t = _nearest(facts, evenness, k)
    x, g, slope = _curve(np.clip(t, -LIMIT, LIMIT), k)
    normal = np.stack([slope, -np.ones_like(slope)], axis=-1) / np.hypot(slope, 1)[..., None]
    away = np.stack([facts - x, evenness - g], axis=-1) * side[..., None]
    far = (distance > NO_DIRECTION)[..., None]
    return distance * side, np.where(far, away / np.where(far, distance[..., None], 1.0), normal)


def _side(facts: FloatArray, evenness: FloatArray, k: int) -> FloatArray:
    """1 below the curve, -1 above it, 0 on it."""
    above = evenness - tradeoff_bound(facts, k)
    return np.where(np.abs(above) <= ON_THE_CURVE, 0.0, np.where(above > 0, -1.0, 1.0))


def _nearest(facts: FloatArray, evenness: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """The unsigned distance of each point to the curve, and the logit of the nearest point on it.

    With g' = u/L, u = log((1-x)/((k-1)x)), L = log k, the stationary points are the roots of
    h(x) = x - a + (g - e) g', and h' has the sign of e - q(x), q = g - x(1-x)(L^2 + u^2)/L. q depends on
    k only and is monotone between at most three turning points, so q = e cuts the curve into at most five
    pieces on which h is monotone. A piece contributes its root of h, or else one of its ends: every
    candidate lies on the curve, and the nearest of them is the minimum.
    """
    a, e = facts[..., None], evenness[..., None]

    def q_less_e(t: FloatArray) -> FloatArray:
        x, g, slope = _curve(t, k)
        return g - x * (1 - x) * log(k) * (1 + slope**2) - e

    def h(t: FloatArray) -> FloatArray:
        x, g, slope = _curve(t, k)
        return x - a + (g - e) * slope

    knots, end = np.array([-END, *_turning_points(k), END]), np.full_like(a, END)
    breaks = np.concatenate([-end, _roots(q_less_e, knots[:-1], knots[1:]), end], axis=-1)
    t = np.concatenate([-end, _roots(h, breaks[..., :-1], breaks[..., 1:]), end], axis=-1)
    x, g, _ = _curve(t, k)
    squares = (x - a) ** 2 + (g - e) ** 2
    best = squares.argmin(axis=-1)[..., None]
    distance = np.sqrt(np.take_along_axis(squares, best, axis=-1))
    return distance[..., 0], np.take_along_axis(t, best, axis=-1)[..., 0]


@lru_cache(maxsize=128)
def _turning_points(k: int) -> tuple[float, ...]:
    """The logits where q turns: the roots of 3u + tanh(t/2) (L^2 + u^2), one or three of them."""

    def turn(t: FloatArray) -> FloatArray:
        u = -t - log(k - 1)
        return 3 * u + np.tanh(t / 2) * (log(k) ** 2 + u**2)

    grid = np.linspace(-LIMIT, LIMIT, 16_001)
    positive = turn(grid) > 0
    (at,) = np.nonzero(positive[:-1] != positive[1:])
    return tuple(_roots(turn, grid[at], grid[at + 1]).tolist())


def _roots(function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """A root in each bracket, by bisection; an end of it where the function does not change sign.

    scipy's root finder takes fewer steps, but a run that needs nothing else of scipy would wait half a
    second for its import.
    """
    rising = function(high) > 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        right = (function(middle) > 0) == rising
        low, high = np.where(right, low, middle), np.where(right, middle, high)
    return high


def _curve(t: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, g and the slope g' at logit t."""
    log_x, log_y = -np.logaddexp(0, -t), -np.logaddexp(0, t)
    x, log_others, scale = np.exp(log_x), log(k - 1), log(k)
    return x, -(np.exp(log_y) * (log_y - log_others) + x * log_x) / scale, -(t + log_others) / scale
