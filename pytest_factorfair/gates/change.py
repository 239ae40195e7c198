"""How a score changed between two runs, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import sqrt

import numpy as np

from pytest_factorfair.scoring.curve import distance_and_normal
from pytest_factorfair.scoring.estimate import estimate
from pytest_factorfair.scoring.joint import instrument
from pytest_factorfair.scoring.metrics import RATES, size, value
from pytest_factorfair.scoring.shares import shares
from pytest_factorfair.scoring.spread import EVENNESS, FACT, LIKENESS, pulls
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import FloatArray, IntArray
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.jackknife import SMOOTHING

# Metrics whose change has an error.
CHANGING = RATES | {"s_fact", "s_fact_firm", "s_e", "s_kld", "s_fair", "distance"}

# What does not depend on which other tally one is held against is kept for so many.
MANY = 256


def change(metric: str, new: Tally, old: Tally, joint: IntArray) -> Estimate:
    """New less old, with the error of that difference.

    ``joint`` (S, 2, k, k) counts the queries answered in both runs, by former and new answer. Of a
    pair only the difference of its two influences varies, so that a query answered alike in both
    adds next to nothing; what is in one run alone varies as it does there. The second-order terms
    are scaled by the churn, the share of answers that changed or have no counterpart.
    """
    if metric in RATES:
        return _rates(metric, new, old)
    after, before = (_estimates(tally)[metric] for tally in (new, old))
    n = min(after.n, before.n)
    plain = None if after.plugin is None or before.plugin is None else after.plugin - before.plugin
    if after.corrected is None or before.corrected is None:
        return Estimate(plain, None, None, n, after.reason or f"in the baseline, {before.reason}")
    error = sqrt(_variance(metric, new, old, joint))
    return Estimate(plain, after.corrected - before.corrected, error, n)


def churn(new: Tally, joint: IntArray) -> float:
    """The share of the new answers that differ from the former one, or have none."""
    kept = np.trace(joint, axis1=-2, axis2=-1).sum()
    total = new.answered.sum()
    return float(1 - kept / total) if total else 0.0


def _rates(metric: str, new: Tally, old: Tally) -> Estimate:
    """Independent shares of what was asked; one more of either kind, so that none has an error of 0."""
    after, before = value(metric, new), value(metric, old)
    n = min(size(metric, new), size(metric, old))
    if after is None or before is None:
        return Estimate(None, None, None, n, "nothing was asked")
    variance = 0.0
    for share, asked in ((after, size(metric, new)), (before, size(metric, old))):
        near = (share * asked + 1) / (asked + 2)
        variance += near * (1 - near) / (asked + 2)
    return Estimate(after - before, after - before, sqrt(variance), n)


def _variance(metric: str, new: Tally, old: Tally, joint: IntArray) -> float:
    sides = [_side(metric, tally) for tally in (new, old)]
    after, before = (side.per_answer for side in sides)
    paired = (joint * (after[..., None, :] - before[..., :, None]) ** 2).sum()
    alone = [joint.sum(axis=-2), joint.sum(axis=-1)]
    single = sum(
        (side.variance * np.clip(1 - matched.sum(axis=-1) / side.n, 0, 1)).sum()
        for side, matched in zip(sides, alone, strict=True)
    )
    same = np.trace(joint, axis1=-2, axis2=-1)
    changed = np.clip(1 - same / np.maximum(sides[0].n, sides[1].n), 0, 1)
    second = sum((side.second * changed).sum() + side.product * changed.mean() for side in sides)
    return float(paired + single + second)


@lru_cache(maxsize=MANY)
def _estimates(tally: Tally) -> Mapping[str, Estimate]:
    return estimate(tally)


@lru_cache(maxsize=MANY)
def _side(metric: str, tally: Tally) -> _Side:
    return _Side(metric, tally)


class _Side:
    """One run's part: what each answer, each cell and the curvature contribute to a metric's variance.

    ``per_answer`` (S, 2, k) is an answer's influence on the metric, ``variance`` and ``second``
    (S, 2) a cell's first- and second-order variance, ``product`` that of S_E and S_KLD together.
    """

    def __init__(self, metric: str, tally: Tally) -> None:
        weights = _weights(metric, tally)
        slope = _gradient(metric, tally)
        p, k = shares(tally.counts, smoothing=SMOOTHING), tally.k
        self.n = tally.answered.astype(np.float64)
        pull = pulls(tally.counts, tally.truth) * weights[..., None, :]
        self.per_answer: FloatArray = (pull @ slope) / self.n[..., None]
        self.variance: FloatArray = (p * self.per_answer**2).sum(axis=-1) * self.n
        divergence = (p[..., 0, :] * np.log(p[..., 0, :] / p[..., 1, :])).sum(axis=-1)
        entropy = (k - 1) / (2 * (self.n * np.log(k)) ** 2)
        sizes = (1 / self.n).sum(axis=-1)
        likeness = ((k - 1) / 4 * sizes**2 * np.exp(-2 * divergence))[..., None]
        parts = (weights * slope) ** 2
        self.second: FloatArray = parts[..., EVENNESS] * entropy + parts[..., LIKENESS] * likeness
        spread = instrument(tally).covariance
        both = spread[EVENNESS, EVENNESS] * spread[LIKENESS, LIKENESS]
        self.product = float(both) if metric == "s_fair" else 0.0


def _weights(metric: str, tally: Tally) -> FloatArray:
    """What a cell's S_fact and S_E, and half a statistic's S_KLD, weigh in the score: (S, 2, 3)."""
    cells = np.ones(tally.asked.shape)
    counted = ~tally.fragile if metric == "s_fact_firm" else cells.astype(np.bool_)
    fact = counted / counted.sum()
    return np.stack([fact, cells / cells.size, cells / len(tally.statistics)], axis=-1)


def _gradient(metric: str, tally: Tally) -> FloatArray:
    """How the metric follows S_fact, S_E and S_KLD."""
    centres = instrument(tally).centres
    slope = np.zeros(3)
    if metric == "s_fair":
        slope[[EVENNESS, LIKENESS]] = 1 - centres[LIKENESS], 1 - centres[EVENNESS]
    elif metric == "distance":
        slope[[FACT, EVENNESS]] = distance_and_normal(centres[FACT], centres[EVENNESS], tally.k)[1]
    else:
        slope[{"s_e": EVENNESS, "s_kld": LIKENESS}.get(metric, FACT)] = 1.0
    return slope
