"""The delta method, compared with numerical derivatives and with simulation."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import entropies, likenesses, shares
from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import (
    EVENNESS,
    FACT,
    LIKENESS,
    across,
    cell_covariances,
    covariances,
    pulls,
)
from pytest_factorfair.statistics.jackknife import jackknifed_entropies, jackknifed_likenesses
from pytest_factorfair.statistics.sample import Sample
from tests.unit.scoring.builders import tally, toward, truths

COUNTS = np.array([[[30, 20, 15, 7], [9, 40, 12, 11]]])
TRUTH = np.array([[0, 1]])


def test_an_influence_is_the_derivative_toward_an_answer() -> None:
    """(score of (1-t) p + t e_i - score of p) / t for a small t, group by group and direction by direction."""
    p, t = shares(COUNTS, smoothing=0.5), 1e-7
    influences = pulls(shares(COUNTS, smoothing=0.5), TRUTH)
    for direction in (0, 1):
        for group in range(4):
            moved = p.copy()
            moved[0, direction] = (1 - t) * p[0, direction] + t * np.eye(4)[group]
            change = (
                moved[0, direction, TRUTH[0, direction]] - p[0, direction, TRUTH[0, direction]],
                entropies(moved)[0, direction] - entropies(p)[0, direction],
                likenesses(moved)[0] - likenesses(p)[0],
            )
            assert influences[0, direction, group] == pytest.approx(np.array(change) / t, abs=1e-5)


def test_influences_average_to_nothing() -> None:
    p = shares(COUNTS, smoothing=0.5)
    assert (p[..., None] * pulls(shares(COUNTS, smoothing=0.5), TRUTH)).sum(axis=-2) == pytest.approx(
        np.zeros((1, 2, 3)), abs=1e-14
    )


def test_even_answers_leave_the_second_order_only() -> None:
    """At the uniform distribution: (k-1)/(2 n² log² k) per cell and (k-1)/2 (2/n)² per statistic."""
    n, k = 40, 2
    parts = cell_covariances(Sample(np.full((1, 2, k), n / k)), np.array([[0, 1]]))
    assert parts[0, :, EVENNESS, EVENNESS] == pytest.approx(np.full(2, 1 / (2 * (n * np.log(2)) ** 2)))
    assert parts[0, :, LIKENESS, LIKENESS].sum() == pytest.approx((k - 1) / 2 * (2 / n) ** 2)
    assert parts[0, :, FACT, FACT] == pytest.approx(np.full(2, 0.25 / n))


def test_covariance_against_simulation() -> None:
    """Correlated scores: the target's share moves S_fact up and both others down."""
    truth = truths(6, 4)
    probabilities = toward(truth, 0.45, 4)
    sizes = np.array([[80, 120]] * 3 + [[200, 90]] * 3)
    generator = np.random.default_rng(11)
    counts = generator.multinomial(sizes, np.broadcast_to(probabilities, (4000, *probabilities.shape)))
    right = np.take_along_axis(counts, truth[None, ..., None], axis=-1)[..., 0] / sizes
    scores = np.stack(
        [
            right.mean(axis=(-2, -1)),
            jackknifed_entropies(counts).mean(axis=(-2, -1)),
            jackknifed_likenesses(counts).mean(axis=-1),
        ]
    )
    expected = covariances(Sample(probabilities * sizes[..., None]), truth)[0]
    assert np.cov(scores) == pytest.approx(expected, rel=0.12, abs=2e-6)


def test_scenarios_of_answers_that_do_not_vary_are_left_out_without_a_correction() -> None:
    """Each probability is the same within a cell: the plug-in of any scenarios has no bias to take off."""
    shares = np.array([[0.7, 0.3], [0.6, 0.4], [0.9, 0.1]])
    scenarios = np.stack([24 * shares, 24 * shares[::-1]])[None]
    counts = scenarios.sum(axis=2)
    still = Sample(counts, np.zeros((1, 2, 2, 2)))
    observed = tally(np.zeros((1, 2, 2)), [[0, 0]], scenarios=scenarios, adjusted=still)
    joint = across(dataclasses.replace(observed, counts=counts))

    def without(scenario: int) -> float:
        remaining = counts[0] - scenarios[0, :, scenario]
        p = remaining / remaining.sum(axis=-1, keepdims=True)
        return float((-(p * np.log2(p)).sum(axis=-1)).mean())

    values = np.array([without(scenario) for scenario in range(3)])
    assert joint.covariance[EVENNESS, EVENNESS] == pytest.approx(
        2 / 3 * ((values - values.mean()) ** 2).sum()
    )
