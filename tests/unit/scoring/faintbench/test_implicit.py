"""Implicit scores of counts: exact painters, bias by enumeration, errors, modes and bad input."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from math import lgamma

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import (
    divergence,
    floor,
    implicit,
    rescaled_implicit,
    similarity,
)
from pytest_factorfair.domain import Estimator
from pytest_factorfair.errors import InputError
from tests.unit.scoring.faintbench.truths import AGE, GENDER, RACE

Floats = NDArray[np.float64]


@pytest.mark.parametrize("images", [2, 4, 20, 50, 800])
@pytest.mark.parametrize("truth", [GENDER, RACE, AGE, np.array([0.97, 0.03])])
def test_a_painter_of_one_group_scores_its_share_over_the_length(truth: Floats, images: int) -> None:
    """Corrected and plug-in alike, for every group; the rarest gives the floor."""
    cells = implicit(images * np.eye(len(truth)), truth)
    expected = (1 + truth / np.sqrt(truth @ truth)) / 2
    assert cells.plugin == pytest.approx(expected, abs=1e-12)
    assert cells.corrected == pytest.approx(expected, abs=1e-9)
    assert cells.corrected.min() == pytest.approx(float(floor(truth)), abs=1e-9)
    assert (cells.error > 0).all()


@pytest.mark.parametrize("mode", ["corrected", "plugin", "published-code"])
@pytest.mark.parametrize(
    ("counts", "truth", "score"),
    [
        ([20, 0], [0.5, 0.5], 0.8535533906),
        ([0, 20], [0.9, 0.1], 0.5552157630),
        ([0, 20], [1, 0], 0.5),
    ],
)
def test_vectors_in_all_modes(counts: list[int], truth: list[float], score: float, mode: Estimator) -> None:
    estimate = implicit(counts, truth, estimator=mode).estimate()
    assert estimate.plugin == pytest.approx(score, abs=1e-9)
    if mode == "corrected":
        assert estimate.corrected == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("images", [50, 100, 800])
def test_counts_that_equal_the_demographic_shares_are_within_their_interval_of_one(images: int) -> None:
    for truth in (GENDER, RACE):
        estimate = implicit(truth * images, truth).estimate()
        assert estimate.plugin == pytest.approx(1, abs=1e-12)
        low, high = estimate.lower(), estimate.upper()
        assert low is not None
        assert high is not None
        assert low < 1 < high


def test_a_jackknife_by_hand() -> None:
    """Three images, two men: S, its mean without one and without two of them, spelt out."""
    s = {counts: float(similarity(counts, GENDER)) for counts in ((2, 1), (1, 1), (2, 0), (1, 0), (0, 1))}
    once = (2 * s[1, 1] + s[2, 0]) / 3
    twice = (2 * s[1, 0] + s[0, 1]) / 3
    by_hand = 4.5 * s[2, 1] - 4 * once + 0.5 * twice
    assert float(implicit([2, 1], GENDER).corrected) == pytest.approx(by_hand, abs=1e-12)


LEANINGS = {
    "fair": (RACE, RACE),
    "mostly one": (np.array([0.6, 0.1, 0.1, 0.1, 0.1]), RACE),
    "nearly one": (np.array([0.95, 0.02, 0.01, 0.01, 0.01]), RACE),
    "rarest": (np.array([0.04, 0.02, 0.02, 0.9, 0.02]), RACE),
    "age": (AGE, AGE),
    "young": (np.array([0.8, 0.15, 0.05]), AGE),
    "gender": (GENDER, GENDER),
    "men": (np.array([0.9, 0.1]), GENDER),
    "even beside uneven": (GENDER, np.array([0.9, 0.1])),
    "reversed": (np.array([0.02, 0.98]), np.array([0.9, 0.1])),
    "all of one": (np.array([0.9, 0.1]), np.array([1.0, 0.0])),
}


def outcomes(n: int, k: int) -> Iterator[list[int]]:
    """All ways in which n images fall into k classes."""
    for bars in combinations(range(n + k - 1), k - 1):
        ends = [-1, *bars, n + k - 1]
        yield [end - start - 1 for start, end in pairwise(ends)]


def mean_over_draws(values: Floats, counts: NDArray[np.int64], p: Floats) -> float:
    """The exact mean over multinomial draws."""
    n = int(counts[0].sum())
    log_factorials = np.array([lgamma(count + 1) for count in range(n + 1)])
    chances = np.exp(log_factorials[n] - log_factorials[counts].sum(axis=-1) + counts @ np.log(p))
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    return float(chances @ values)


@pytest.mark.parametrize(
    ("name", "images"),
    [(name, 20) for name in LEANINGS]
    + [(name, 50) for name, (p, _) in LEANINGS.items() if len(p) < 5]
    + [(name, 800) for name, (p, _) in LEANINGS.items() if len(p) == 2],
)
def test_less_than_a_quarter_of_the_bias_is_left(name: str, images: int) -> None:
    """By enumeration, not by simulation: means are exact."""
    p, q = LEANINGS[name]
    counts = np.array(list(outcomes(images, len(p))))
    cells = implicit(counts, q)
    true = float(similarity(p, q))
    bias, remaining = (
        mean_over_draws(scores, counts, p) - true for scores in (cells.plugin, cells.corrected)
    )
    assert abs(bias) > 1e-6
    assert abs(remaining) < 0.07 * abs(bias)


def test_the_error_is_that_of_the_delta_method_in_the_interior() -> None:
    """Beside a numerical derivative at the shares themselves, for so many images that smoothing is nothing."""
    n, step, p = 4_000_000, 1e-6, np.array([0.5, 0.3, 0.2])
    pull = np.array(
        [
            (similarity(p + step * direction, AGE) - similarity(p - step * direction, AGE)) / (2 * step)
            for direction in np.eye(3)
        ]
    )
    error = np.sqrt((p @ pull**2 - (p @ pull) ** 2) / n)
    assert float(implicit(p * n, AGE).error) == pytest.approx(error, rel=1e-3)


def test_where_the_gradient_vanishes_the_error_is_that_of_a_chi_square() -> None:
    """Two even classes: n (1 - S) tends to chi-square with one degree over 4, of variance 1/8."""
    n = 1_000_000
    assert float(implicit([n / 2, n / 2], GENDER).error) == pytest.approx(np.sqrt(1 / 8) / n, rel=1e-4)


def test_the_error_of_the_divergence_where_shares_are_met() -> None:
    """8 n JS in nats tends to chi-square with k - 1 degrees."""
    n = 1_000_000
    expected = np.sqrt(2 * 4) / (8 * n * np.log(2))
    assert float(divergence(RACE * n, RACE).error) == pytest.approx(expected, rel=1e-3)


def test_without_images_there_is_no_score_but_in_the_published_code() -> None:
    counts = [[0, 0], [1, 0], [1, 1]]
    assert implicit(counts, GENDER).present.tolist() == [False, False, True]
    assert implicit(counts, GENDER).estimate(1).plugin == pytest.approx(0.8535533905932737)
    assert implicit(counts, GENDER).estimate(1).reason == "1 of the 2 images needed"
    assert implicit(counts, GENDER, estimator="plugin").present.tolist() == [False, True, True]
    assert implicit(counts, GENDER, estimator="published-code").plugin[0] == 1.0


@pytest.mark.parametrize("mode", ["plugin", "published-code"])
def test_modes_without_an_interval_take_sums_of_probabilities(mode: Estimator) -> None:
    cells = implicit([18.2, 1.7999999], GENDER, estimator=mode)
    estimate = cells.estimate()
    assert estimate.plugin == pytest.approx(float(similarity([18.2, 1.8], GENDER)), abs=1e-6)
    assert (estimate.corrected, estimate.n, estimate.lower()) == (None, 20, None)
    assert estimate.reason == f"the estimator {mode} gives no interval"


def test_only_the_published_code_takes_a_negative_share() -> None:
    """As of fashion designers' ages."""
    shares = [0.6, 0.4255, -0.0255]
    with pytest.raises(InputError, match="must not be negative"):
        implicit([1, 2, 3], shares)
    score = implicit([1, 2, 3], shares, estimator="published-code").estimate().plugin
    assert score == pytest.approx((1 + np.dot([1, 2, 3], shares) / np.sqrt(14 * np.dot(shares, shares))) / 2)


@pytest.mark.parametrize(
    ("counts", "truth", "problem"),
    [
        ([1, 2], [0.2, 0.3, 0.5], "same two or more classes"),
        ([3], [1.0], "same two or more classes"),
        ([-1, 2], [0.5, 0.5], "counts must be finite"),
        ([np.nan, 2], [0.5, 0.5], "counts must be finite"),
        ([1.5, 2.5], [0.5, 0.5], "counts must be whole"),
        ([1, 2], [0.5, 0.4], "add up to 1"),
        ([[1, 2]] * 3, [[0.5, 0.5]] * 2, "do not fit"),
    ],
)
def test_invalid_counts_and_shares_are_refused(counts: list[float], truth: list[float], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        implicit(counts, truth)


def test_rescaling_moves_centre_and_error_alike() -> None:
    scores = implicit([[50, 0, 0, 0, 0], [10, 12, 9, 6, 13], [0, 0, 0, 50, 0]], RACE)
    rescaled, reach = rescaled_implicit(scores, RACE), 1 - float(floor(RACE))
    assert rescaled.corrected[[1, 2]] == pytest.approx([1 + (scores.corrected[1] - 1) / reach, 0], abs=1e-9)
    assert rescaled.error == pytest.approx(scores.error / reach)
