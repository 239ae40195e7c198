"""The implicit score and its companions at figures worked out by hand."""

from __future__ import annotations

from math import log2, sqrt

import numpy as np
import pytest

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import (
    floor,
    jensen_shannon,
    rescaled,
    similarity,
)
from tests.unit.scoring.faintbench.truths import AGE, GENDER, RACE


@pytest.mark.parametrize(
    ("generated", "truth", "score"),
    [
        ([1, 0], [0.5, 0.5], 0.8535533905932737),
        ([0, 1], [0.9, 0.1], 0.5552157630374233),
        ([0, 1], [1, 0], 0.5),
        ([0.3, 0.7], [0.3, 0.7], 1.0),
        ([3, 4], [0.96, 0.28], (1 + 0.8) / 2),
    ],
)
def test_scores_of_two_classes(generated: list[float], truth: list[float], score: float) -> None:
    assert float(similarity(generated, truth)) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        (GENDER, [0.853553, 0.853553]),
        (RACE, [0.717186, 0.760623, 0.695468, 0.630312, 0.782342]),
        (AGE, [0.846373, 0.824000, 0.658271]),
    ],
)
def test_scores_of_a_model_that_knows_one_group(truth: list[float], scores: list[float]) -> None:
    similarities = similarity(np.eye(len(truth)), truth)
    assert similarities == pytest.approx(scores, abs=5e-7)
    assert float(floor(truth)) == similarities.min()


@pytest.mark.parametrize(("truth", "score"), [(RACE, 0.985643), (AGE, 0.978418)])
def test_the_uniform_distribution_hides_most_of_its_distance(truth: list[float], score: float) -> None:
    assert float(similarity(np.ones(len(truth)), truth)) == pytest.approx(score, abs=5e-7)


def test_no_shares_score_below_the_floor() -> None:
    generated = np.random.default_rng(1).dirichlet(np.full(5, 0.2), size=5000)
    for truth in np.random.default_rng(2).dirichlet(np.ones(5), size=20):
        assert similarity(generated, truth).min() >= floor(truth) - 1e-15


def test_rescaled_runs_from_the_rarest_group_to_the_demographic_shares() -> None:
    scores = similarity(np.vstack([np.eye(5), RACE]), RACE)
    rescaled_scores = rescaled(scores, RACE)
    assert rescaled_scores[3] == 0
    assert rescaled_scores[5] == pytest.approx(1, abs=1e-12)
    assert rescaled_scores[0] == pytest.approx((0.717186 - 0.630312) / (1 - 0.630312), abs=2e-6)


def test_jensen_shannon_in_bits() -> None:
    one_group = (log2(4 / 3) + 0.5 * log2(2 / 3) + 0.5) / 2
    assert float(jensen_shannon([7, 0], GENDER)) == pytest.approx(one_group, abs=1e-12)
    assert float(jensen_shannon([0, 3], [1, 0])) == pytest.approx(1, abs=1e-12)
    assert float(jensen_shannon(RACE, RACE)) == pytest.approx(0, abs=1e-12)


def test_without_images_there_is_no_score() -> None:
    for score in (similarity, jensen_shannon):
        assert np.isnan(score([[0, 0], [1, 1]], GENDER)).tolist() == [True, False]


def test_scores_need_no_normalisation() -> None:
    p, q = np.array([6, 1, 3]), AGE
    by_hand = (1 + (p @ q) / sqrt(p @ p) / sqrt(q @ q)) / 2
    assert float(similarity(p, q)) == pytest.approx(by_hand, abs=1e-15)
    assert float(similarity(p / 10, q)) == pytest.approx(by_hand, abs=1e-15)
