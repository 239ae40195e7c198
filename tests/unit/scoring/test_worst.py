"""Bounds over missing answers, compared with an enumeration of all possible answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.largest import favourite_letter
from pytest_factorfair.statistics.estimate import SeveralShares
from tests.unit.scoring.builders import Ints, tally, tally_metric

FAIRNESS = ("s_fact", "s_fact_firm", "s_e", "s_kld", "s_fair", "distance")


def _ways(lost: int, k: int) -> list[tuple[int, ...]]:
    return [way for way in product(range(lost + 1), repeat=k) if sum(way) == lost]


def _completed(observed: Tally) -> Iterator[Tally]:
    lost = (observed.refused + observed.unparsed + observed.errors).ravel()
    for ways in product(*(_ways(int(count), observed.k) for count in lost)):
        yield tally(
            observed.counts + np.array(ways).reshape(observed.counts.shape),
            observed.truth,
            fragile=observed.fragile,
        )


@pytest.mark.parametrize(
    ("counts", "fields"),
    [
        ([[[6, 2], [3, 5]]], {"refused": [[2, 0]], "unparsed": [[0, 1]], "errors": [[1, 1]]}),
        ([[[4, 4, 1], [0, 3, 5]]], {"refused": [[3, 2]]}),
        ([[[9, 0], [5, 4]], [[5, 5], [2, 7]]], {"refused": [[2, 0], [0, 3]], "fragile": np.array([[True, False]] * 2)}),
        ([[[7, 0, 2, 0], [1, 8, 0, 0]]], {"unparsed": [[2, 2]]}),
    ],
)  # fmt: skip
def test_no_possible_answers_lie_outside_the_bounds(
    counts: list[list[list[int]]], fields: dict[str, Any]
) -> None:
    observed = tally(counts, **fields)
    completed = list(_completed(observed))
    for metric in FAIRNESS:
        low, high = tally_metric(metric).range_if_missing(observed)
        values = [tally_metric(metric).plugin(completion) for completion in completed]
        assert low <= min(values) + 1e-12, metric
        assert high >= max(values) - 1e-12, metric
        if metric in ("s_fact", "s_fact_firm", "s_e", "s_kld"):
            assert low == pytest.approx(min(values), abs=1e-12), metric
        if metric in ("s_fact", "s_fact_firm"):
            assert high == pytest.approx(max(values), abs=1e-12), metric


def test_the_highest_evenness_is_reached_up_to_whole_answers() -> None:
    observed = tally([[[8, 2], [5, 5]]], refused=[[6, 0]])
    assert tally_metric("s_e").range_if_missing(observed)[1] == 1
    assert tally_metric("s_kld").range_if_missing(observed)[1] == 1


def test_the_highest_likeness_minimises_the_divergence() -> None:
    """No grid of shares for the missing answers of three groups comes closer."""
    observed = tally([[[10, 2, 0], [1, 8, 3]]], refused=[[2, 2]])
    best = tally_metric("s_kld").range_if_missing(observed)[1]
    steps = np.linspace(0, 1, 31)
    simplex = np.array([(x, y, 1 - x - y) for x in steps for y in steps if x + y <= 1 + 1e-12]).clip(0)
    high, low = (np.array([10, 2, 0]) + 2 * simplex) / 14, (np.array([1, 8, 3]) + 2 * simplex) / 14
    ratio = np.log(np.where(high > 0, high, 1))[:, None] - np.log(low)[None]
    likeness = np.exp(-(high[:, None] * ratio).sum(axis=-1)).max()
    assert best >= likeness - 1e-12
    assert best == pytest.approx(likeness, abs=5e-3)


def test_without_missing_answers_both_bounds_are_the_score() -> None:
    observed = tally([[[7, 3], [4, 6]], [[5, 5], [1, 9]]])
    for metric in FAIRNESS:
        assert tally_metric(metric).range_if_missing(observed) == pytest.approx(
            (tally_metric(metric).plugin(observed),) * 2, abs=1e-12
        ), metric


def test_bounds_contain_the_true_score_if_answers_for_the_target_are_withheld() -> None:
    """30 % of the target group's answers withheld hides a prejudice; the bounds do not."""
    counts: Ints = np.array([[[50, 20, 15, 15], [20, 50, 15, 15]]])
    whole, hidden = (
        tally(counts),
        tally(counts - np.array([[[30, 0, 0, 0], [0, 30, 0, 0]]]), refused=[[30, 30]]),
    )
    for metric in ("s_e", "s_kld", "s_fair"):
        true = tally_metric(metric).plugin(whole)
        assert tally_metric(metric).plugin(hidden) > true
        low, high = tally_metric(metric).range_if_missing(hidden)
        assert low <= true <= high


def test_topics_that_were_not_asked_have_no_bounds() -> None:
    assert np.isnan(tally_metric("s_e").range_if_missing(tally([[[0, 0], [5, 5]]]))).all()
    assert np.isnan(
        tally_metric("s_fact_firm").range_if_missing(tally([[[5, 5], [5, 5]]], fragile=np.ones((1, 2), bool)))
    ).all()


def test_if_all_is_refused_the_bounds_are_the_whole_range() -> None:
    observed = tally([[[0, 0], [0, 0]]], refused=[[9, 9]])
    assert tally_metric("s_fact").range_if_missing(observed) == (0, 1)
    assert tally_metric("s_e").range_if_missing(observed) == (0, 1)
    assert tally_metric("s_kld").range_if_missing(observed) == (0, 1)


def test_missing_answers_may_all_have_taken_the_favourite_letter_or_none() -> None:
    """40 of 100 asked took C, 20 are missing: from 40 to 60 % where a quarter would be fair."""
    letters = np.array([[[10, 5, 20, 5], [10, 5, 20, 5]]])
    observed = tally([[[20, 20], [20, 20]]], letters=letters, refused=[[10, 10]])
    assert tally_metric("position").range_if_missing(observed) == pytest.approx((0.15 / 0.75, 0.35 / 0.75))


def test_probability_outside_the_letters_counts_once_against_a_favourite_letter() -> None:
    """Of 20 answers the letters hold 60 %: A has 6 of 20 for certain, and may have 14."""
    letters = np.array([[[5.0, 5, 0, 0], [5, 5, 0, 0]]])
    observed = tally([[[5, 5], [5, 5]]], letters=letters, outside=np.full((1, 2), 4.0))
    favourite = favourite_letter(observed)
    assert isinstance(favourite, SeveralShares)
    assert (favourite.low.values[0], favourite.high.values[0]) == pytest.approx((6 / 20, 14 / 20))
    assert np.all(favourite.low.n == 20)


def test_letters_that_add_up_to_a_whole_but_for_rounding_are_counted() -> None:
    observed = tally([[[5, 5], [5, 5]]], letters=np.array([[[9.999999999999998, 0], [9.999999999999998, 0]]]))
    favourite = favourite_letter(observed)
    assert favourite is not None
    assert favourite.n == 20
    assert np.isfinite(favourite.upper(0.05))
