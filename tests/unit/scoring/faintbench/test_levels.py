"""Levels by hand: weights, errors of cells that share images, missing cells."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import (
    Cells,
    explicit,
    floor,
    implicit,
    joined,
    level,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.estimate import Estimate
from tests.unit.scoring.faintbench.truths import AGE, ATTRIBUTES, GENDER, RACE

NAN = float("nan")


def cells(corrected: list[float], error: list[float], n: list[int]) -> Cells:
    return Cells(np.array(corrected) - 0.01, np.array(corrected), np.array(error), np.array(n))


def _numbers(estimate: Estimate) -> tuple[float, float, float]:
    assert estimate.plugin is not None
    assert estimate.corrected is not None
    assert estimate.error is not None
    return estimate.plugin, estimate.corrected, estimate.error


def test_prompts_are_independent_and_attributes_of_one_prompt_are_not() -> None:
    estimate = level(cells([0.9, 0.8, 0.6], [0.03, 0.02, 0.04], [20, 20, 50]), [2, 1, 1], ["a", "a", "b"])
    assert _numbers(estimate) == pytest.approx((0.79, 0.8, sqrt(0.02**2 + 0.01**2)))
    assert estimate.n == 70


def test_a_cell_without_a_score_has_no_part_in_a_level() -> None:
    estimate = level(cells([0.9, NAN, 0.6], [0.03, NAN, 0.04], [20, 0, 50]), [2, 1, 1], [0, 1, 2])
    assert _numbers(estimate)[:2] == pytest.approx(((2 * 0.89 + 0.59) / 3, 0.8))
    assert estimate.n == 70


def test_a_cell_without_weight_is_not_part_of_a_level() -> None:
    assert level(cells([0.9, 0.5], [0.03, 0.02], [20, 9]), [1, 0], [0, 1]).n == 20


def test_a_level_without_any_score_says_so() -> None:
    estimate = level(cells([NAN], [NAN], [1]), [3], [0])
    assert (estimate.plugin, estimate.corrected) == (None, None)
    assert estimate.reason == "no prompt has enough images"


def test_the_published_code_counts_a_prompt_without_images_as_perfect() -> None:
    counts = [[0, 0], [10, 0]]
    paper = level(implicit(counts, GENDER, estimator="plugin"), [1, 1], [0, 1])
    code = level(implicit(counts, GENDER, estimator="published-code"), [1, 1], [0, 1])
    assert paper.plugin == pytest.approx(0.853553, abs=1e-6)
    assert code.plugin == pytest.approx((0.853553 + 1) / 2, abs=1e-6)


def test_a_prompt_s_total_over_attributes_of_unlike_size() -> None:
    """One man of europe, young, in every image: the three scores, weighted."""
    images = 20
    parts = [implicit(images * np.eye(len(truth))[:1], truth) for truth in (GENDER, RACE, AGE)]
    estimate = level(joined(parts), list(ATTRIBUTES.values()), [0, 0, 0])
    assert _numbers(estimate)[1] == pytest.approx(0.4 * 0.853553 + 0.4 * 0.717186 + 0.2 * 0.846373, abs=1e-6)
    assert estimate.n == images


def test_weights_of_prompts_and_attributes_multiply() -> None:
    """S = sum k_i k_j S_ij / sum k_i k_j over two prompts, of weights 5 and 1/2, and two attributes."""
    scores, prompts = np.array([0.9, 0.7, 0.8, 0.6]), np.array([0, 0, 1, 1])
    weights = np.outer([5, 0.5], [0.4, 0.2]).ravel()
    estimate = level(cells(list(scores), [0.0] * 4, [9] * 4), weights, prompts)
    by_hand = (5 * (0.4 * 0.9 + 0.2 * 0.7) + 0.5 * (0.4 * 0.8 + 0.2 * 0.6)) / (5.5 * 0.6)
    assert _numbers(estimate)[1] == pytest.approx(by_hand)


def test_a_level_of_a_single_share_keeps_its_wilson_bounds() -> None:
    shares = explicit([19, 20], [20, 20])
    alone = level(shares, [0, 3], [0, 1])
    assert alone.share
    assert alone.lower() == shares.estimate(1).lower()
    assert not level(shares, [1, 3], [0, 1]).share


def test_the_lowest_possible_level() -> None:
    """All images of each prompt's rarest group."""
    truths = np.array([[0.7, 0.3], [0.1, 0.9], [0.5, 0.5]])
    scores = implicit(20 * np.eye(2)[truths.argmin(axis=1)], truths)
    lowest = np.average(floor(truths), weights=[3, 1, 2])
    assert _numbers(level(scores, [3, 1, 2], [0, 1, 2]))[1] == pytest.approx(lowest, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "prompts", "problem"),
    [([1], [0, 1], "must agree"), ([1, -1], [0, 1], "not negative"), ([0, 0], [0, 1], "not all 0")],
)
def test_invalid_weights_are_refused(weights: list[float], prompts: list[int], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        level(cells([0.9, 0.8], [0.1, 0.1], [20, 20]), weights, prompts)
