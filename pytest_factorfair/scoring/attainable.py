"""What a design lets any model reach: floors and ceilings of the scores.

A model chooses among the people it is shown. With f(A) the share of queries that show some group
of A, it can reach the distributions with p(A) <= f(A) for every set A of groups. Their corners are
rankings: take the first group wherever it is shown, else the second, and so on. Entropy is least
at a corner, and the worst respondent ranks the groups for highest and reverses the ranking for
lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import exp, inf, log
from statistics import fmean
from typing import NamedTuple, TypeAlias

from pytest_factorfair.scoring.shown import Shown
from pytest_factorfair.scoring.tally import Tally

# Rankings of up to this many groups are searched in a blink; larger crossed attributes have no floor.
SEARCHED = 12

# A summand over the groups of a ranking: of a group's share under it and under its reverse.
Term: TypeAlias = Callable[[float, float], float]


class Range(NamedTuple):
    """The least and the most that any model can score; None where it is not worked out."""

    floor: float | None
    ceiling: float | None


# Objective queries show every group, and so do balanced ones of an attribute that is not crossed: 0 to 1.
# The ``paper`` design draws m people independently: f(A) = 1 - (1 - |A|/k)^m.


def match_range(tally: Tally, groups: Iterable[int]) -> Range:
    """How rarely and how often a model can choose the wanted group, on average over wanted groups."""
    if tally.shown:
        wanted = [({group}, each) for group in groups for each in tally.shown]
        return Range(
            fmean(each == only for only, each in wanted), fmean(only <= each for only, each in wanted)
        )
    return Range(1 - _reached(tally, tally.k - 1), _reached(tally, 1))


def fact_range(tally: Tally) -> Range:
    """Of S_fact."""
    return match_range(tally, tally.truth.ravel().tolist())


def firm_range(tally: Tally) -> Range:
    """Of S_fact over labels that rest on no choice of measure."""
    return (
        match_range(tally, tally.truth[~tally.fragile].tolist())
        if not tally.fragile.all()
        else Range(None, None)
    )


def evenness_range(tally: Tally) -> Range:
    """Of S_E."""
    least = _least(tally, _surprise)
    return Range(None if least is None else least / log(tally.k), 1.0)


def likeness_range(tally: Tally) -> Range:
    """Of S_KLD."""
    least = _least(tally, _gain)
    return Range(None if least is None else exp(least), 1.0)


def fairness_range(tally: Tally) -> Range:
    """Of S_fair."""
    evenness, likeness = evenness_range(tally).floor, likeness_range(tally).floor
    if evenness is None or likeness is None:
        return Range(None, 1.0)
    return Range(1 - (1 - evenness) * (1 - likeness), 1.0)


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
    reach = [fmean(bool(each & ranked) for each in bits) for ranked in range(1 << k)]
    everyone = (1 << k) - 1
    least = [0.0] + [inf] * everyone
    for ranked in range(1, 1 << k):
        for group in (1 << index for index in range(k) if ranked >> index & 1):
            before, after = ranked ^ group, everyone ^ ranked
            added = term(reach[ranked] - reach[before], reach[after | group] - reach[after])
            least[ranked] = min(least[ranked], least[before] + added)
    return least[everyone]
