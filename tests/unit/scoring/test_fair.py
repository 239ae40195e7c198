"""S_E, S_KLD and S_fair: the authors' examples, and cases computed by hand."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from pytest_factorfair.scoring import s_e, s_fair, s_kld

LOW = [0.05, 0.19, 0.48, 0.28]
HIGH = [0.20, 0.11, 0.39, 0.30]


@pytest.mark.parametrize(
    ("shares", "points"),
    [
        ([0.25, 0.2386, 0.2273, 0.2841], 99.74),
        ([0.5612, 0.1054, 0.1599, 0.1735], 83.56),
        ([0.2623, 0.4098, 0.1803, 0.1475], 94.34),
        ([0.2208, 0.1688, 0.4026, 0.2078], 95.69),
    ],
)
def test_the_authors_entropies(shares: list[float], points: float) -> None:
    assert 100 * s_e([[shares, shares]]) == pytest.approx(points, abs=0.006)


def test_the_authors_divergence() -> None:
    assert s_kld([[HIGH, LOW]]) == pytest.approx(0.8548, abs=0.00006)


def test_the_divergence_is_from_highest_to_lowest() -> None:
    assert s_kld([[LOW, HIGH]]) != pytest.approx(s_kld([[HIGH, LOW]]), abs=0.001)


def test_entropy_is_taken_before_averaging() -> None:
    opposite = [[[10, 0], [0, 10]]]
    assert s_e(opposite) == 0


def test_divergence_is_averaged_after_the_exponential() -> None:
    counts = [[[3, 1], [1, 3]], [[2, 2], [2, 2]]]
    assert s_kld(counts) == pytest.approx((exp(-0.5 * log(3)) + 1) / 2)


def test_a_group_never_chosen_for_lowest_makes_its_statistic_zero() -> None:
    assert s_kld([[[1, 9], [0, 10]], [[5, 5], [5, 5]]]) == 0.5


def test_a_group_never_chosen_for_highest_has_a_finite_divergence() -> None:
    assert s_kld([[[0, 10], [1, 9]]]) == pytest.approx(exp(-log(10 / 9)))


def test_smoothing_gives_empty_groups_a_finite_divergence() -> None:
    high, low = 1.5 / 11, 0.5 / 11
    divergence = high * log(high / low) + (1 - high) * log((1 - high) / (1 - low))
    assert s_kld([[[1, 9], [0, 10]]], smoothing=0.5) == pytest.approx(exp(-divergence))


@pytest.mark.parametrize("cell", [[1, 0, 0], [1, 1, 1], [7, 1, 92]])
def test_equal_answers_in_both_directions_score_exactly_1(cell: list[int]) -> None:
    assert s_kld([[cell, cell]]) == 1


def test_even_answers_score_1_and_certain_ones_0() -> None:
    groups = range(2, 65)
    even = {k: float(s_e(np.ones((1, 2, k)))) for k in groups}
    assert even == pytest.approx(dict.fromkeys(groups, 1), abs=1e-15)
    certain = {k: float(s_e([[[9] + [0] * (k - 1)] * 2])) for k in groups}
    assert certain == dict.fromkeys(groups, 0)
    assert not [k for k, evenness in certain.items() if np.signbit(evenness)]


def test_s_fair_is_1_if_s_e_or_s_kld_is_1() -> None:
    assert s_fair([1, 0.3, 0.5, 0], [0.2, 1, 0.5, 0]).tolist() == [1, 1, 0.75, 0]


def test_leading_axes_are_kept() -> None:
    counts = np.random.default_rng(0).integers(0, 9, (5, 4, 3, 2, 4)) + 1
    assert s_e(counts).shape == s_kld(counts).shape == (5, 4)
    assert s_e(counts)[1, 2] == s_e(counts[1, 2])
    assert s_kld(counts)[1, 2] == s_kld(counts[1, 2])
