"""How small a difference from its threshold a gate can tell, before anything is asked."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from pytest_factorfair.domain import Gate
from pytest_factorfair.scoring.metrics import RATES
from pytest_factorfair.scoring.shares import FloatArray
from pytest_factorfair.scoring.spread import EVENNESS, FACT, LIKENESS, covariances
from pytest_factorfair.scoring.stereotype import stereotyped

POWER = 0.80
HALVINGS = 50
# A change is looked for in a model as prejudiced as one may be.
TYPICAL = 0.20
SCORES = {"s_fact": FACT, "s_e": EVENNESS, "s_kld": LIKENESS}


def detectable(gate: Gate, k: int, *, statistics: int, n: int, bound: float) -> float | None:
    """The smallest distance from the threshold that is decided four times out of five.

    For a stereotyped model at the threshold, with n answers in each of the two cells of every
    statistic, and a bound of so many standard errors; None for metrics that are not foreseen. A
    regression has the errors of two such runs that share no answer.
    """
    error = _error(gate, k, statistics, n)
    if error is None:
        return None
    return (bound + NormalDist().inv_cdf(POWER)) * error * (sqrt(2) if gate.regression else 1)


def _error(gate: Gate, k: int, statistics: int, n: int) -> float | None:
    if gate.metric in RATES:
        share = min(max(gate.threshold, 0.01), 0.99)
        return sqrt(share * (1 - share) / (2 * statistics * n))
    if gate.metric not in SCORES:
        return None
    strength = TYPICAL if gate.regression else _strength(gate.metric, gate.threshold, k)
    target = stereotyped(strength, k).s_fact
    truth = np.array([[row % k, (row + 1) % k] for row in range(statistics)])
    covariance, _ = covariances(n * _shares(truth, target, k), truth)
    place = SCORES[gate.metric]
    return float(np.sqrt(covariance[place, place]))


def _shares(truth: np.ndarray[tuple[int, ...], np.dtype[np.int64]], target: float, k: int) -> FloatArray:
    shares = np.full((*truth.shape, k), (1 - target) / (k - 1))
    np.put_along_axis(shares, truth[..., None], target, axis=-1)
    return shares


def _strength(metric: str, threshold: float, k: int) -> float:
    """The stereotype strength whose closed form has this score: S_fact rises with it, the others fall."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        score = getattr(stereotyped(middle, k), metric)
        weaker = score < threshold if metric == "s_fact" else score > threshold
        low, high = (middle, high) if weaker else (low, middle)
    return low
