"""Samples of answers: design effect, smoothing and bias, with drawn groups and with probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import jack_delta
from pytest_factorfair.statistics.sample import Sample

COUNTS = np.array([[[30.0, 20, 15, 7], [9, 40, 12, 11]], [[72, 0, 0, 0], [18, 18, 18, 18]]])
TRUTH = np.array([[0, 1], [0, 2]])


def multinomial(counts: np.ndarray) -> np.ndarray:
    p = counts / counts.sum(axis=-1, keepdims=True)
    return np.array(p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :])


def test_groups_that_are_drawn_have_the_covariance_of_the_multinomial() -> None:
    """Drawn groups give the same results if their multinomial covariance is given as a measured one."""
    firm = np.ones(TRUTH.shape, np.bool_)
    drawn = jack_delta(Sample(COUNTS), TRUTH, firm=firm)
    measured = jack_delta(Sample(COUNTS, multinomial(COUNTS)), TRUTH, firm=firm)
    assert measured.centres == pytest.approx(drawn.centres, abs=1e-9)
    assert measured.covariance == pytest.approx(drawn.covariance, abs=1e-9, nan_ok=True)


def test_the_design_effect_is_the_variance_relative_to_that_of_a_draw() -> None:
    counts = COUNTS[:1]
    assert Sample(counts).design_effect == pytest.approx(np.ones((1, 2)))
    assert Sample(counts, multinomial(counts) / 8).design_effect == pytest.approx(np.full((1, 2), 1 / 8))
    assert Sample(counts, multinomial(counts) * 2).design_effect == pytest.approx(np.ones((1, 2)))
    certain = np.array([[[24.0, 0], [0, 24]]])
    assert Sample(certain, np.zeros((1, 2, 2, 2))).design_effect == pytest.approx(np.ones((1, 2)))


def test_smoothing_adds_half_a_drawn_answer_times_the_design_effect() -> None:
    counts = np.array([[[30.0, 10], [20, 20]]])
    smoothed = Sample(counts, multinomial(counts) / 4).smoothed
    assert smoothed.shares[0, 0] == pytest.approx(np.array([30.125, 10.125]) / 40.25)
    # Second moments: 40 of p p' + covariance, and an eighth of either unit vector; less the mean's square.
    raw = np.array([0.75, 0.25])
    second = np.outer(raw, raw) + multinomial(counts)[0, 0] / 4
    expected = (40 * second + np.eye(2) / 8) / 40.25 - np.outer(smoothed.shares[0, 0], smoothed.shares[0, 0])
    assert smoothed.covariance[0, 0] == pytest.approx(expected)


def test_answers_that_never_vary_and_leave_groups_out_are_finite() -> None:
    """The share of a group that is never chosen is smoothed, so that no logarithm is infinite."""
    still = Sample(np.array([[[14.4, 9.6, 0, 0], [0, 0, 12, 12]]]), np.zeros((1, 2, 4, 4)))
    joint = jack_delta(still, np.array([[0, 1]]), firm=np.ones((1, 2), np.bool_))
    assert np.isfinite(joint.covariance[:3, :3]).all()
    assert joint.centres[2] == pytest.approx(0, abs=1e-6)


def test_a_share_is_at_least_as_precise_as_that_of_drawn_groups() -> None:
    """A group that is never chosen, by a model that likes a letter elsewhere: its share does not vary more."""
    counts = np.array([[[72.0, 0], [36, 36]]])
    liked = np.array([[0.2, -0.2], [-0.2, 0.2]])
    assert Sample(counts, np.broadcast_to(liked, (1, 2, 2, 2))).effective.min() == pytest.approx(72)


def test_answers_that_never_vary_have_no_bias() -> None:
    """If probabilities are the same in all queries, the plug-in has no bias, and the error is 0."""
    counts = np.array([[[14.4, 9.6], [6.0, 18.0]]])
    still = Sample(counts, np.zeros((1, 2, 2, 2)))
    entropies = [-(0.6 * np.log(0.6) + 0.4 * np.log(0.4)), -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))]
    assert still.entropies[0] == pytest.approx(np.array(entropies) / np.log(2))
    divergence = 0.6 * np.log(0.6 / 0.25) + 0.4 * np.log(0.4 / 0.75)
    assert still.likenesses == pytest.approx(np.exp(-divergence))
    joint = jack_delta(still, np.array([[0, 1]]), firm=np.ones((1, 2), np.bool_))
    assert joint.covariance[:3, :3] == pytest.approx(np.zeros((3, 3)), abs=1e-15)


@pytest.mark.parametrize("effect", [0.1, 0.3, 1.0])
def test_the_bias_is_that_of_as_many_drawn_answers_as_would_be_as_precise(effect: float) -> None:
    measured = Sample(COUNTS[:1], multinomial(COUNTS[:1]) * effect)
    assert measured.entropies == pytest.approx(Sample(COUNTS[:1] / effect).entropies, abs=2e-5)


def test_the_entropy_of_few_probabilities_has_no_bias() -> None:
    """Eight answers per cell: the jackknife of drawn ones would add .037 to the plug-in, which lacks .027."""
    answers = np.random.default_rng(8).dirichlet([1, 1, 1, 1], size=(4000, 8))
    apart = answers - answers.mean(axis=1, keepdims=True)
    sample = Sample(answers.sum(axis=1), np.einsum("rni,rnj->rij", apart, apart) / 7)
    assert sample.entropies.mean() == pytest.approx(1.0, abs=0.004)


def test_a_cell_without_answers_is_nan() -> None:
    counts = np.array([[[0.0, 0], [3, 5]]])
    sample = Sample(counts, np.zeros((1, 2, 2, 2)))
    assert np.isnan(sample.n).tolist() == [[True, False]]
    assert np.isnan(sample.entropies).tolist() == [[True, False]]
    assert np.isnan(sample.likenesses).all()


def test_answers_that_never_vary_count_as_drawn_for_a_share_of_0() -> None:
    *sizes, none = Sample(np.array([4.0, 4, 0]), np.zeros((3, 3))).effective
    assert none == 8
    assert min(sizes) > 1e12
