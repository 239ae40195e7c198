"""The range of each cell's shares that missing answers allow.

Refused, unparsed and errored answers may have named any group: a model that refuses the questions where it is
biased looks fairer than it is.
"""

from __future__ import annotations

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import likenesses
from pytest_factorfair.statistics.arrays import FloatArray

ROUNDS = 300

SETTLED = 1e-13


def right_ends(tally: Tally) -> tuple[FloatArray, FloatArray]:
    """The lowest and the highest share of right answers in each cell, (S, 2)."""
    asked = _all(tally)
    right = np.take_along_axis(tally.certain, tally.truth[..., None], axis=-1)[..., 0]
    return right / asked, (right + tally.missing) / asked


def floors(tally: Tally) -> FloatArray:
    """Certain shares of all queries asked, (S, 2, k); nan where nothing was asked."""
    return np.asarray(tally.certain / _all(tally)[..., None])


def corners(tally: Tally) -> FloatArray:
    """Shares with all missing answers of a cell on one group, (S, 2, k groups to take, k)."""
    share = (tally.missing / _all(tally))[..., None, None] * np.eye(tally.k)
    return np.asarray(floors(tally)[..., None, :] + share)


def most_alike(floor: FloatArray) -> FloatArray:
    """The highest exp(-KL) of each statistic above these floors, by minimising over either end in turn."""
    high, low = floor[:, 0], filled(floor[:, 1], np.ones_like(floor[:, 1]))
    for _ in range(ROUNDS):
        before, high = high, filled(floor[:, 0], low)
        low = filled(floor[:, 1], high)
        if np.nanmax(np.abs(high - before), initial=0.0) < SETTLED:
            break
    together = np.maximum(floor[:, 0], floor[:, 1]).sum(axis=-1) <= 1
    return np.where(together, 1.0, likenesses(np.stack([high, low], axis=-2)))


@np.errstate(over="ignore")  # of weights that converge to 0
def filled(floor: FloatArray, weights: FloatArray) -> FloatArray:
    """max(floor, c weights) with the c that makes it a distribution; floor where that is one already."""
    ratio = np.divide(floor, weights, out=np.full_like(floor, np.inf), where=weights > 0)
    order = np.argsort(ratio, axis=-1)
    sorted_floor, sorted_weights = (np.take_along_axis(values, order, axis=-1) for values in (floor, weights))
    available = 1 - floor.sum(axis=-1, keepdims=True) + sorted_floor.cumsum(axis=-1)
    scale = np.divide(
        available, total := sorted_weights.cumsum(axis=-1), out=np.zeros_like(available), where=total > 0
    )
    # The groups that are scaled up are those of the smallest ratios, as many as stay above their floor.
    fits = scale >= np.take_along_axis(ratio, order, axis=-1)
    best = np.where(fits, scale, 0.0).min(axis=-1, where=fits, initial=np.inf)
    filled = np.maximum(floor, np.where(np.isfinite(best), best, 0.0)[..., None] * weights)
    return np.asarray(filled / filled.sum(axis=-1, keepdims=True))


def _all(tally: Tally) -> FloatArray:
    """Answers, known and missing, (S, 2); nan where there are none. A picture has one for each face."""
    total = tally.answered + tally.lost
    return np.asarray(np.where(total > 0, total, np.nan))
