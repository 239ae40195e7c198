"""What a perfectly fair model would score: no plug-in score of a finite run reaches 1."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt, lgamma, log

import numpy as np

from pytest_factorfair.scoring.curve import tradeoff_distance
from pytest_factorfair.scoring.fair import s_fair
from pytest_factorfair.scoring.tally import Tally
from pytest_factorfair.statistics.arrays import FloatArray

# Sums over counts are cut where this many standard deviations leave less than rounding.
TAIL = 9
# Entries of a transform beyond which a limit is exact enough and the transform slow.
LARGE = 400_000


# All are expected plug-in scores of a model that takes every group alike, at the tally's numbers of answers:
# exact for S_fact (chance), S_E and S_KLD; for S_fair and the distance what follows from these.


def chance(tally: Tally) -> float:
    """Of S_fact."""
    return 1 / tally.k


def fair_evenness(tally: Tally) -> float:
    """Of S_E."""
    sizes, times = np.unique(tally.answered, return_counts=True)
    found = [fair_entropy(int(n), tally.k) for n in sizes]
    return float(np.average(found, weights=times))


def fair_likeness_of(tally: Tally) -> float:
    """Of S_KLD."""
    sizes, times = np.unique(tally.answered, axis=0, return_counts=True)
    found = [fair_likeness(int(high), int(low), tally.k) for high, low in sizes]
    return float(np.average(found, weights=times))


def fair_fairness(tally: Tally) -> float:
    """Of S_fair."""
    return float(s_fair(fair_evenness(tally), fair_likeness_of(tally)))


def fair_distance(tally: Tally) -> float:
    """Of the distance."""
    return _fair_distance(fair_evenness(tally), tally.k)


@lru_cache(maxsize=4096)
def _fair_distance(evenness: float, k: int) -> float:
    return float(tradeoff_distance(1 / k, evenness, k))


@lru_cache(maxsize=4096)
def fair_entropy(n: int, k: int) -> float:
    """The mean plug-in entropy, over log k, of n answers of a fair model: a binomial sum."""
    counts = _window(n / k, n)
    log_choose = lgamma(n + 1) - _log_factorials(counts) - _log_factorials(n - counts)
    chances = np.exp(log_choose - counts * log(k) + (n - counts) * np.log1p(-1 / k))
    shares = counts / n
    surprise = -shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return float(k * (chances @ surprise) / log(k))


@lru_cache(maxsize=4096)
def fair_likeness(high: int, low: int, k: int) -> float:
    """The mean of exp(-KL) between so many highest and so many lowest answers of a fair model.

    exp(-KL) is a product over the groups, f(c, d) = (d high / (c low))^(c / high), 1 for c = 0. So
    its mean over two multinomials is one coefficient of the k-th power of a generating function
    in two variables. With Poisson weights all terms are probabilities, the discrete Fourier
    transform finds the coefficient, and what wraps around is beyond the tail. From about a
    thousand answers on it is the chi-square limit, off by less than 1e-5.
    """
    sizes = [2 * TAIL * (isqrt(n) + 1) for n in (high, low)]
    if sizes[0] * sizes[1] > LARGE:
        return float((1 + 1 / high + 1 / low) ** (-(k - 1) / 2))
    c, d = _window(high / k, high)[:, None], _window(low / k, low)[None, :]
    folded = np.zeros(sizes)
    weights = _gain(c / high, d / low) * _poisson(c, high / k) * _poisson(d, low / k)
    np.add.at(folded, (c.astype(int) % sizes[0], d.astype(int) % sizes[1]), weights)
    power = np.fft.irfft2(np.fft.rfft2(folded) ** k, s=sizes)
    total = _poisson(np.array(float(high)), high) * _poisson(np.array(float(low)), low)
    return float(power[high % sizes[0], low % sizes[1]] / total)


def _gain(high: FloatArray, low: FloatArray) -> FloatArray:
    """(low / high) ** high, 1 where high is 0."""
    ratio = np.divide(low, high, out=np.ones(np.broadcast_shapes(high.shape, low.shape)), where=high > 0)
    return np.asarray(ratio**high)


def _window(mean: float, most: int) -> FloatArray:
    """Counts from 0 to ``most`` that are not beyond the tail around a mean."""
    reach = TAIL * (isqrt(int(mean)) + TAIL)
    return np.arange(max(0, int(mean) - reach), min(most, int(mean) + reach) + 1, dtype=np.float64)


def _poisson(counts: FloatArray, mean: float) -> FloatArray:
    return np.asarray(np.exp(counts * log(mean) - mean - _log_factorials(counts)))


def _log_factorials(counts: FloatArray) -> FloatArray:
    # math.lgamma one by one: scipy's would cost its import, and windows are short.
    return np.array([lgamma(count + 1) for count in counts.ravel()]).reshape(counts.shape)
