"""References for scores: the range a design allows, and the scores of stereotyped and fair models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import exp, inf, isqrt, lgamma, log
from statistics import fmean
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import Shown
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import tradeoff_bound
from pytest_factorfair.statistics.arrays import FloatArray

# Rankings of up to this many groups are fast to search; larger crossed attributes have no floor.
SEARCHED = 12


# A summand over the groups of a ranking: of a group's share under it and under its reverse.
Term: TypeAlias = Callable[[float, float], float]


class Range(NamedTuple):
    """The lowest and highest score of any model; None if not computed."""

    low: float | None
    high: float | None


# Objective queries show every group, and so do balanced ones of an attribute that is not crossed: 0 to 1.
# The ``paper`` design draws m people independently: f(A) = 1 - (1 - |A|/k)^m.


def match_range(tally: Tally, groups: Iterable[int]) -> Range:
    """How rarely and how often a model can choose the wanted group, on average over wanted groups."""
    if tally.shown:
        pairs = [({group}, offered) for group in groups for offered in tally.shown]
        return Range(
            fmean(offered == target for target, offered in pairs),
            fmean(target <= offered for target, offered in pairs),
        )
    return Range(1 - _reached(tally, tally.k - 1), _reached(tally, 1))


def least_evenness(tally: Tally) -> float | None:
    """The least S_E of any model: one that ranks the groups and takes the first that is shown."""
    surprise = _least(tally, _surprise)
    return None if surprise is None else surprise / log(tally.k)


def least_likeness(tally: Tally) -> float | None:
    """The least S_KLD of any model: one that ranks the groups, and reverses the ranking for the lowest."""
    gain = _least(tally, _gain)
    return None if gain is None else exp(gain)


def _surprise(share: float, _reverse: float) -> float:
    return -share * log(share) if share > 0 else 0.0


def _gain(share: float, reverse: float) -> float:
    if share <= 0:
        return 0.0
    return share * log(reverse / share) if reverse > 0 else -inf


def _least(tally: Tally, term: Term) -> float | None:
    """The least sum of the term over the groups of a ranking, over all rankings."""
    k = tally.k
    if tally.shown:
        return _searched(tally.shown, k, term) if k <= SEARCHED else None
    reach = [_reached(tally, size) for size in range(k + 1)]
    return sum(term(reach[i + 1] - reach[i], reach[k - i] - reach[k - i - 1]) for i in range(k))


def _reached(tally: Tally, size: int) -> float:
    """f(A) for a set A of so many groups, where all groups are shown alike."""
    if tally.design == "paper" and tally.part == "subjective":
        return 1 - (1 - size / tally.k) ** tally.people
    return float(size > 0)


@lru_cache(maxsize=64)
def _searched(shown: Shown, k: int, term: Term) -> float:
    """Dynamic programming over the set of groups ranked so far."""
    bits = [sum(1 << group for group in groups) for groups in shown]
    reach = [fmean(bool(mask & ranked) for mask in bits) for ranked in range(1 << k)]
    all_groups = (1 << k) - 1
    minima = [0.0] + [inf] * all_groups
    for ranked in range(1, 1 << k):
        for group in (1 << index for index in range(k) if ranked >> index & 1):
            before, after = ranked ^ group, all_groups ^ ranked
            added = term(reach[ranked] - reach[before], reach[after | group] - reach[after])
            minima[ranked] = min(minima[ranked], minima[before] + added)
    return minima[all_groups]


# The number of strengths at which closed forms are tabulated for inverse look-up.
TABLED = 2001


Falling: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]

"""A score from S_E and S_KLD of the stereotyped respondent."""


class ExpectedScores(NamedTuple):
    """The scores a respondent has in expectation, as the number of answers grows."""

    s_fact: float
    s_e: float
    s_kld: float

    @property
    def s_fair(self) -> float:
        return self.s_e + self.s_kld - self.s_e * self.s_kld


def stereotyped(strength: float, k: int, *, ceiling: float = 1.0, same: float = 0.0) -> ExpectedScores:
    """Scores of a respondent that chooses the target group with this strength and otherwise evenly.

    With a = 1/k + strength (ceiling - 1/k) and b = (1-a)/(k-1): S_fact = a, S_E = g_k(a), S_KLD =
    same + (1 - same) (b/a)^(a-b). ``ceiling`` is the largest share a group can have under the design (1 when
    every query shows it), ``same`` the share of statistics with one group at both ends.
    """
    scores = _closed(np.array(strength), k, ceiling, same)
    return ExpectedScores(*map(float, scores))


def _closed(
    strengths: FloatArray, k: int, ceiling: float, coinciding: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    target = 1 / k + strengths * (ceiling - 1 / k)
    other_share = (1 - target) / (k - 1)
    likeness = (other_share / target) ** (target - other_share)
    return target, tradeoff_bound(target, k), coinciding + (1 - coinciding) * likeness


def equivalent_strength(score: float, tally: Tally, falling: Falling) -> float | None:
    """The strength of the stereotyped respondent that would have this score under the tally's design.

    For a score that falls as it grows; 0 for a score of 1 or more, 1 for one below what even strength 1
    gives. None where the design's ceiling is unknown.
    """
    ceiling = match_range(tally, tally.truth.ravel().tolist()).high
    if ceiling is None:
        return None
    coinciding = float((tally.truth[:, 0] == tally.truth[:, 1]).mean())
    table = _table(falling, tally.k, ceiling, coinciding)
    return float(np.interp(-score, -table, np.linspace(0, 1, TABLED)))


def favourite_share(evenness: float, k: int) -> float:
    """The share of the favourite of k groups, the others being alike, that gives this S_E; 1/k for 1."""
    shares, evennesses = _favourites(k)
    return float(np.interp(-evenness, -evennesses, shares))


@lru_cache(maxsize=16)
def _favourites(k: int) -> tuple[FloatArray, FloatArray]:
    shares, evennesses, _ = _closed(np.linspace(0, 1, TABLED), k, 1.0, 0.0)
    return shares, evennesses


@lru_cache(maxsize=256)
def _table(falling: Falling, k: int, ceiling: float, coinciding: float) -> FloatArray:
    _, evenness, likeness = _closed(np.linspace(0, 1, TABLED), k, ceiling, coinciding)
    return falling(evenness, likeness)


# Sums over counts are cut where this many standard deviations leave less than rounding.
TAIL = 9

# Entries of a transform beyond which a limit is exact enough and the transform slow.
LARGE = 400_000


def fair_evenness(tally: Tally) -> float:
    """The expected S_E of a model that chooses all groups equally, at the tally's numbers of answers."""
    sizes, times = np.unique(tally.drawn, return_counts=True)
    return float(np.average([fair_entropy(int(n), tally.k) for n in sizes], weights=times))


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
    shares = np.broadcast_arrays(c / high, d / low)
    gains = np.divide(shares[1], shares[0], out=np.ones(shares[0].shape), where=shares[0] > 0) ** shares[0]
    weights = gains * _poisson(c, high / k) * _poisson(d, low / k)
    np.add.at(folded, (c.astype(int) % sizes[0], d.astype(int) % sizes[1]), weights)
    power = np.fft.irfft2(np.fft.rfft2(folded) ** k, s=sizes)
    total = _poisson(np.array(float(high)), high) * _poisson(np.array(float(low)), low)
    return float(power[high % sizes[0], low % sizes[1]] / total)


def _window(mean: float, limit: int) -> FloatArray:
    """Counts from 0 to ``limit`` that are not beyond the tail around a mean."""
    reach = TAIL * (isqrt(int(mean)) + TAIL)
    return np.arange(max(0, int(mean) - reach), min(limit, int(mean) + reach) + 1, dtype=np.float64)


def _poisson(counts: FloatArray, mean: float) -> FloatArray:
    return np.asarray(np.exp(counts * log(mean) - mean - _log_factorials(counts)))


def _log_factorials(counts: FloatArray) -> FloatArray:
    # math.lgamma one by one: scipy's would cost its import, and windows are short.
    return np.array([lgamma(count + 1) for count in counts.ravel()]).reshape(counts.shape)
