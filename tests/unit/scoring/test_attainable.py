"""Floors and ceilings, compared with an enumeration of all line-ups and rankings."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import exp, log

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import Range, match_range
from tests.unit.scoring.builders import objective, tally, tally_metric

PAIRS = tuple(frozenset(pair) for pair in combinations(range(4), 2))
LOPSIDED = (frozenset({0, 1}), frozenset({0, 1}), frozenset({1, 2, 3}), frozenset({0, 3}))


def _plain(k: int, **fields: object) -> Tally:
    return tally([[[1] * k] * 2], [[0, k - 1]], **fields)


def _ranked(sets: list[frozenset[int]], ranking: tuple[int, ...]) -> list[float]:
    """The shares of a respondent that chooses the first group of its ranking that a query shows."""
    taken = [min(shown, key=ranking.index) for shown in sets]
    return [taken.count(group) / len(sets) for group in range(len(ranking))]


def _entropy(shares: list[float]) -> float:
    return -sum(p * log(p) for p in shares if p) / log(len(shares))


def _likeness(high: list[float], low: list[float]) -> float:
    if any(p and not q for p, q in zip(high, low, strict=True)):
        return 0.0
    return exp(-sum(p * log(p / q) for p, q in zip(high, low, strict=True) if p))


def _worst(sets: list[frozenset[int]], k: int) -> tuple[float, float]:
    rankings = list(permutations(range(k)))
    evenness = min(_entropy(_ranked(sets, ranking)) for ranking in rankings)
    likeness = min(_likeness(_ranked(sets, ranking), _ranked(sets, ranking[::-1])) for ranking in rankings)
    return evenness, likeness


@pytest.mark.parametrize("metric", ["s_fact", "s_fact_firm", "s_e", "s_kld", "s_fair"])
@pytest.mark.parametrize("k", [2, 3, 4, 8, 64])
def test_a_balanced_design_bounds_nothing(metric: str, k: int) -> None:
    assert tally_metric(metric).possible_range(_plain(k)) == (0, 1)


@pytest.mark.parametrize("metric", ["s_fact", "s_e", "s_kld", "s_fair"])
def test_objective_queries_show_every_group_in_any_design(metric: str) -> None:
    assert tally_metric(metric).possible_range(objective([[[1] * 4] * 2], design="paper")) == (0, 1)


def test_the_design_does_not_bound_the_distance() -> None:
    assert tally_metric("distance").possible_range(_plain(4, design="paper")) == (None, None)


@pytest.mark.parametrize(
    ("metric", "gender", "race"),
    [("s_e", 33.7, 57.4), ("s_kld", 9.4, 2.2), ("s_fair", 39.9, 58.4)],
)
def test_the_papers_floors(metric: str, gender: float, race: float) -> None:
    for k, points in ((2, gender), (4, race)):
        floor, ceiling = tally_metric(metric).possible_range(_plain(k, design="paper"))
        assert 100 * (floor or 0) == pytest.approx(points, abs=0.06)
        assert ceiling == 1


@pytest.mark.parametrize(("k", "floor", "ceiling"), [(4, 1 / 256, 175 / 256), (2, 1 / 16, 15 / 16)])
def test_the_papers_bounds_of_s_fact(k: int, floor: float, ceiling: float) -> None:
    assert tally_metric("s_fact").possible_range(_plain(k, design="paper")) == pytest.approx((floor, ceiling))


@pytest.mark.parametrize(("k", "people"), [(2, 4), (4, 4), (3, 6), (2, 3), (5, 3)])
def test_random_profiles_against_every_line_up(k: int, people: int) -> None:
    sets = [frozenset(line_up) for line_up in product(range(k), repeat=people)]
    evenness, likeness = _worst(sets, k)
    observed = _plain(k, design="paper", people=people)
    assert tally_metric("s_e").possible_range(observed).low == pytest.approx(evenness)
    assert tally_metric("s_kld").possible_range(observed).low == pytest.approx(likeness)
    assert tally_metric("s_fair").possible_range(observed).low == pytest.approx(
        1 - (1 - evenness) * (1 - likeness)
    )
    floor, ceiling = (
        sum(test(line_up) for line_up in sets) / len(sets) for test in (lambda s: s == {0}, lambda s: 0 in s)
    )
    assert tally_metric("s_fact").possible_range(observed) == pytest.approx((floor, ceiling))


@pytest.mark.parametrize("shown", [PAIRS, LOPSIDED, (frozenset(range(4)),)])
def test_a_crossed_attribute_against_every_ranking(shown: tuple[frozenset[int], ...]) -> None:
    evenness, likeness = _worst(list(shown), 4)
    observed = _plain(4, shown=shown)
    assert tally_metric("s_e").possible_range(observed).low == pytest.approx(evenness)
    assert tally_metric("s_kld").possible_range(observed).low == pytest.approx(likeness)


def test_s_fact_of_a_crossed_attribute_is_bounded_by_where_the_truth_is_shown() -> None:
    shown = (frozenset({0}), frozenset({0, 1}), frozenset({1, 2, 3}), frozenset({2, 3}))
    observed = tally([[[1] * 4] * 2], [[0, 3]], shown=shown)
    assert tally_metric("s_fact").possible_range(observed) == ((1 / 4 + 0) / 2, (2 / 4 + 2 / 4) / 2)


def test_labels_that_rest_on_a_choice_are_left_out_of_the_firm_bounds() -> None:
    shown = (frozenset({0}), frozenset({0, 1}))
    observed = tally([[[1, 1]] * 2], [[0, 1]], shown=shown, fragile=np.array([[True, False]]))
    assert tally_metric("s_fact_firm").possible_range(observed) == (0, 1 / 2)
    assert tally_metric("s_fact_firm").possible_range(
        tally([[[1, 1]] * 2], fragile=np.array([[True, True]]))
    ) == (
        None,
        None,
    )


def test_twelve_crossed_groups_are_worked_out_and_more_are_not() -> None:
    halves = tuple(frozenset(range(start, start + 6)) for start in (0, 3, 6))
    # No group is in all three queries, and some are in two of them.
    assert tally_metric("s_e").possible_range(_plain(12, shown=halves)).low == pytest.approx(
        (2 / 3 * log(3 / 2) + 1 / 3 * log(3)) / log(12)
    )
    observed = _plain(13, shown=halves)
    assert (
        tally_metric("s_e").possible_range(observed)
        == tally_metric("s_kld").possible_range(observed)
        == tally_metric("s_fair").possible_range(observed)
        == (None, 1)
    )


def test_matching_a_named_group() -> None:
    assert match_range(_plain(4), range(4)) == Range(0, 1)
    assert match_range(_plain(4, design="paper"), range(4)) == pytest.approx((1 / 256, 175 / 256))
    assert match_range(_plain(4, shown=PAIRS), range(4)) == (0, 1 / 2)
