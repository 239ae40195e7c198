"""The trade-off curve between factuality and fairness, and the distance to it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring.roots import bracketed_roots
from pytest_factorfair.scoring.shares import FloatArray

# Positions on the curve are logits t = log(x / (1 - x)): no cancellation near either end.
LIMIT = 40.0
GRID = 16_001
CHUNK = 1 << 14
ON_THE_CURVE = 1e-12
# Closer than this, rounding decides in which direction the curve lies.
NO_DIRECTION = 1e-9


def tradeoff_bound(a: ArrayLike, k: int) -> FloatArray:
    """The most S_E that S_fact = a allows: g_k(a) = -((1-a) log((1-a)/(k-1)) + a log a) / log k.

    Fact-or-Fair, Conclusion 1; the ends are the limits g(0) = log(k-1)/log k and g(1) = 0.

    Raises:
        InputError: a outside 0 to 1, or k below 2.
    """
    facts = np.asarray(a, dtype=np.float64)
    _check(k)
    if (facts < 0).any() or (facts > 1).any():
        raise InputError("S_fact must lie between 0 and 1")
    others = 1 - facts
    logs = [np.log(x, out=np.zeros_like(x), where=x > 0) for x in (facts, others)]
    bound: FloatArray = np.divide(0.0 - (others * (logs[1] - np.log(k - 1)) + facts * logs[0]), np.log(k))
    return bound


def tradeoff_distance(s_fact: ArrayLike, s_e: ArrayLike, k: int) -> FloatArray:
    """The Euclidean distance from (S_fact, S_E) to the curve; negative above it, 0 within 1e-12 of it.

    The global minimum, ends counted (the squared distance to a concave curve can have two local
    minima). With g' = u/L, u = log((1-x)/((k-1)x)), L = log k, the stationary points are the
    roots of h(x) = x - a + (g - e) g', and h' has the sign of e - q(x), q = g - x(1-x)(L^2 + u^2)/L.
    q depends on k only and is monotone between at most three vertices, so q = e cuts [0, 1] into at
    most five pieces on which h is monotone; every minimum is a root on a rising one. Arrays
    broadcast; nan stays nan.

    Raises:
        InputError: S_fact outside 0 to 1, or k below 2.
    """
    facts, evenness = np.broadcast_arrays(np.asarray(s_fact, np.float64), np.asarray(s_e, np.float64))
    sides = _side(facts, evenness, k)
    a, e = facts.ravel(), evenness.ravel()
    chunks = [_nearest(a[i : i + CHUNK], e[i : i + CHUNK], k)[0] for i in range(0, a.size, CHUNK)]
    signed: FloatArray = np.multiply(np.concatenate([*chunks, np.empty(0)]).reshape(facts.shape), sides)
    return signed


def distance_and_normal(s_fact: ArrayLike, s_e: ArrayLike, k: int) -> tuple[FloatArray, FloatArray]:
    """The signed distance and its gradient by (S_fact, S_E), a unit vector, of shape (..., 2).

    The gradient points from the curve's nearest point to the point below it; at the curve itself,
    where that has no direction, it is the curve's normal (g', -1) there.
    """
    facts, evenness = np.broadcast_arrays(np.asarray(s_fact, np.float64), np.asarray(s_e, np.float64))
    sides = _side(facts, evenness, k)
    distance, t = (each.reshape(facts.shape) for each in _nearest(facts.ravel(), evenness.ravel(), k))
    x, _, u, g = _curve(np.clip(t, -LIMIT, LIMIT), k)
    slope = u / np.log(k)
    normal = np.stack([slope, -np.ones_like(slope)], axis=-1) / np.hypot(slope, 1)[..., None]
    away = np.stack([facts - x, evenness - g], axis=-1) * sides[..., None]
    far = (distance > NO_DIRECTION)[..., None]
    return distance * sides, np.where(far, away / np.where(far, distance[..., None], 1.0), normal)


def _side(facts: FloatArray, evenness: FloatArray, k: int) -> FloatArray:
    """1 below the curve, -1 above it, 0 on it."""
    above = evenness - tradeoff_bound(facts, k)
    return np.where(np.abs(above) <= ON_THE_CURVE, 0.0, np.where(above > 0, -1.0, 1.0))


def _nearest(a: FloatArray, e: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Unsigned distances, the least over both ends and every minimum between them, and where."""
    breaks = _breaks(e, k)
    slopes = _stationary(breaks, a[:, None], e[:, None], k)[0]
    point, piece = np.nonzero((slopes[:, :-1] <= 0) & (slopes[:, 1:] > 0))
    minima = bracketed_roots(
        lambda t, a, e: _stationary(t, a, e, k),
        breaks[point, piece], breaks[point, piece + 1], a[point], e[point],
    )  # fmt: skip
    squares = np.full((a.size, breaks.shape[1] + 1), np.inf)
    squares[point, piece] = _square(minima, a[point], e[point], k)
    squares[:, -2] = a**2 + (e - np.log(k - 1) / np.log(k)) ** 2
    squares[:, -1] = (1 - a) ** 2 + e**2
    feet = np.full_like(squares, LIMIT)
    feet[point, piece] = minima
    feet[:, -2] = -LIMIT
    rows, best = np.arange(a.size), np.argmin(squares, axis=1)
    return np.sqrt(squares[rows, best]), feet[rows, best]


def _breaks(e: FloatArray, k: int) -> FloatArray:
    """Sorted positions between which h is monotone, one row per point: the roots of q = e, and padding."""
    knots = np.array([-LIMIT, *_vertices(k), LIMIT])
    heights = _turning(knots, 0.0, k)[0]
    low, high = heights[:-1] - e[:, None], heights[1:] - e[:, None]
    point, piece = np.nonzero(low * high < 0)
    rising = np.sign(high[point, piece])
    breaks = np.tile(np.append(knots[:-1], LIMIT), (e.size, 1))
    breaks = np.insert(breaks, 0, -LIMIT, axis=1)
    breaks[point, piece + 1] = bracketed_roots(
        lambda t, e, rising: _oriented(t, e, rising, k), knots[piece], knots[piece + 1], e[point], rising
    )
    return breaks


def _oriented(t: FloatArray, e: FloatArray, rising: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    value, slope = _turning(t, e, k)
    return rising * value, rising * slope


@lru_cache(maxsize=128)
def _vertices(k: int) -> tuple[float, ...]:
    """Where q turns, as logits: the roots of 3u + tanh(t/2) (L^2 + u^2), found once per k."""
    grid = np.linspace(-LIMIT, LIMIT, GRID)
    values = _vertex(grid, np.ones_like(grid), k)[0]
    index = np.nonzero((values[:-1] > 0) != (values[1:] > 0))[0]
    rising = np.where(values[index + 1] > 0, 1.0, -1.0)
    roots = bracketed_roots(lambda t, rising: _vertex(t, rising, k), grid[index], grid[index + 1], rising)
    return tuple(roots.tolist())


def _vertex(t: FloatArray, rising: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    u, tanh, bend = -t - np.log(k - 1), np.tanh(t / 2), np.log(k) ** 2 + (t + np.log(k - 1)) ** 2
    return rising * (3 * u + tanh * bend), rising * (-3 + (1 - tanh**2) / 2 * bend - 2 * u * tanh)


def _turning(t: FloatArray, e: FloatArray | float, k: int) -> tuple[FloatArray, FloatArray]:
    """q - e and its slope in t."""
    x, y, u, g = _curve(t, k)
    scale = np.log(k)
    bend = scale**2 + u**2
    return g - x * y * bend / scale - e, x * y * (3 * u - (y - x) * bend) / scale


def _stationary(t: FloatArray, a: FloatArray, e: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """h and its slope in t."""
    x, y, u, g = _curve(t, k)
    scale = np.log(k)
    return x - a + (g - e) * u / scale, x * y * (1 + (u / scale) ** 2) - (g - e) / scale


def _square(t: FloatArray, a: FloatArray, e: FloatArray, k: int) -> FloatArray:
    x, _, _, g = _curve(t, k)
    return (x - a) ** 2 + (g - e) ** 2


def _curve(t: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """x, 1 - x, u and g at logit t."""
    ratio = np.exp(-np.abs(t))
    larger, smaller = 1 / (1 + ratio), ratio / (1 + ratio)
    x, y = np.where(t > 0, larger, smaller), np.where(t > 0, smaller, larger)
    log_x = -np.log1p(ratio) + np.minimum(t, 0)
    log_y = log_x - t
    return x, y, -t - np.log(k - 1), -(y * (log_y - np.log(k - 1)) + x * log_x) / np.log(k)


def _check(k: int) -> None:
    if k < 2:  # noqa: PLR2004 - a curve needs two groups
        raise InputError(f"k is {k}; an attribute has at least 2 groups")
