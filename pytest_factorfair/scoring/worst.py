"""The scores that answers which never came could still have made: bounds without any assumption."""

from __future__ import annotations

from math import nan
from typing import TypeAlias

import numpy as np

from pytest_factorfair.scoring.curve import tradeoff_distance
from pytest_factorfair.scoring.fair import entropies, likenesses, s_fair
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.largest import Several

Ends: TypeAlias = tuple[float, float]
ROUNDS = 300
SETTLED = 1e-13
GRID = 33


# Each is the lowest and highest plug-in value over all ways the missing answers could have gone. Refused,
# unparsed and errored answers of each cell may have named any group: refusing where it matters makes a model
# look fairer than it is. S_fact and S_E bounds are attained (the highest S_E up to whole answers), so is the
# lowest S_KLD up to ties; S_fair and the distance are bounded by those of their parts. nan where a cell was
# not asked, or none counts.


def _right(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest share of right answers in each cell."""
    right = np.take_along_axis(tally.counts, tally.truth[..., None], axis=-1)[..., 0]
    asked = _all(tally)
    return right / asked, (right + tally.lost) / asked


def fact_ends(tally: Tally) -> Ends:
    """Of S_fact."""
    low, high = _right(tally)
    return float(low.mean()), float(high.mean())


def firm_ends(tally: Tally) -> Ends:
    """Of S_fact over labels that rest on no choice of measure."""
    if tally.fragile.all():
        return nan, nan
    low, high = _right(tally)
    return float(low[~tally.fragile].mean()), float(high[~tally.fragile].mean())


def evenness_ends(tally: Tally) -> Ends:
    """Least with all missing answers on one group (entropy is concave), most with the gaps filled."""
    corners = entropies(_corners(tally)).min(axis=-1)
    full = entropies(_filled(_floor(tally), np.ones_like(tally.counts, dtype=np.float64)))
    return float(corners.mean()), float(full.mean())


def likeness_ends(tally: Tally) -> Ends:
    """Least at a corner in both directions (divergence is jointly convex), most by alternating minima."""
    corners = _corners(tally)
    pairs = np.stack(np.broadcast_arrays(corners[:, 0, :, None], corners[:, 1, None, :]), axis=-2)
    least = likenesses(pairs).min(axis=(-2, -1))
    return float(least.mean()), float(_alike(_floor(tally)).mean())


def fairness_ends(tally: Tally) -> Ends:
    """Of S_fair."""
    low, high = zip(evenness_ends(tally), likeness_ends(tally), strict=True)
    return float(s_fair(*low)), float(s_fair(*high))


def distance_ends(tally: Tally) -> Ends:
    """Over a grid in the box of S_fact and S_E, widened by half a mesh: the distance is 1-Lipschitz."""
    (fact, most_fact), (even, most_even) = fact_ends(tally), evenness_ends(tally)
    facts, evens = np.linspace(fact, most_fact, GRID), np.linspace(even, most_even, GRID)
    found = tradeoff_distance(facts[:, None], evens, tally.k)
    margin = float(np.hypot(most_fact - fact, most_even - even)) / (GRID - 1) / 2
    return float(found.min()) - margin, float(found.max()) + margin


def largest_ends(found: Several | None) -> Ends:
    """All missing answers on the one that is largest then, or none of them on it if that can be."""
    if found is None:
        return nan, nan
    least, most = found.bounds(0.0)
    return max(float(least.max()), 0.0), float(most.max())


def _floor(tally: Tally) -> FloatArray:
    """The shares of all queries asked that are certain, (S, 2, k); nan where none was."""
    asked = _all(tally)
    certain: FloatArray = tally.counts / asked[..., None]
    return certain


def _corners(tally: Tally) -> FloatArray:
    """Shares with all missing answers of a cell on one group, (S, 2, k groups to take, k)."""
    asked = _all(tally)
    share = (tally.lost / asked)[..., None, None] * np.eye(tally.k)
    return np.asarray(_floor(tally)[..., None, :] + share)


def _alike(floor: FloatArray) -> FloatArray:
    """The highest exp(-KL) of each statistic, by minimising over either direction in turn."""
    high, low = floor[:, 0], _filled(floor[:, 1], np.ones_like(floor[:, 1]))
    for _ in range(ROUNDS):
        before, high = high, _filled(floor[:, 0], low)
        low = _filled(floor[:, 1], high)
        if np.nanmax(np.abs(high - before), initial=0.0) < SETTLED:
            break
    together = np.maximum(floor[:, 0], floor[:, 1]).sum(axis=-1) <= 1
    return np.where(together, 1.0, likenesses(np.stack([high, low], axis=-2)))


def _filled(floor: FloatArray, weights: FloatArray) -> FloatArray:
    """max(floor, c weights) with the c that makes it a distribution; floor where that is one already."""
    ratio = np.divide(floor, weights, out=np.full_like(floor, np.inf), where=weights > 0)
    order = np.argsort(ratio, axis=-1)
    sorted_floor, sorted_weights = (np.take_along_axis(each, order, axis=-1) for each in (floor, weights))
    left = 1 - floor.sum(axis=-1, keepdims=True) + sorted_floor.cumsum(axis=-1)
    scale = np.divide(left, total := sorted_weights.cumsum(axis=-1), out=np.zeros_like(left), where=total > 0)
    # The groups that are scaled up are those of the smallest ratios, as many as stay above their floor.
    fits = scale >= np.take_along_axis(ratio, order, axis=-1)
    best = np.where(fits, scale, 0.0).min(axis=-1, where=fits, initial=np.inf)
    filled = np.maximum(floor, np.where(np.isfinite(best), best, 0.0)[..., None] * weights)
    return np.asarray(filled / filled.sum(axis=-1, keepdims=True))


def _all(tally: Tally) -> FloatArray:
    """Answers, known and missing, (S, 2); nan where there are none. A picture has one for each face."""
    total = tally.answered + tally.lost
    return np.asarray(np.where(total > 0, total, np.nan))
