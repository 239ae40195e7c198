"""The published-code estimator: each way in which the authors' scripts differ from the paper."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import (
    published,
    tradeoff_bound,
    tradeoff_distance,
)
from tests.unit.scoring.builders import objective, tally

COUNTS = [[[15, 5], [5, 15]], [[10, 10], [10, 10]]]


def test_divergences_are_averaged_before_the_exponential() -> None:
    """KL is log(3)/2 and 0: exp of their mean, 3^(-1/4), and not the mean of 3^(-1/2) and 1."""
    assert published(tally(COUNTS))["s_kld"] == pytest.approx(3**-0.25)


def test_objective_divergences_are_in_bits() -> None:
    assert published(objective(COUNTS))["s_kld"] == pytest.approx(exp(-log(3) / log(2) / 4))


def test_an_empty_group_costs_23_nats_per_share() -> None:
    likeness = published(tally([[[3, 7], [0, 10]]]))["s_kld"]
    assert likeness == pytest.approx(exp(-(0.3 * log(0.3 / 1e-10) + 0.7 * log(0.7))), rel=1e-6)


def test_objective_answers_that_do_not_differ_score_nothing() -> None:
    alike = [[[10, 0], [10, 0]], [[5, 5], [5, 5]]]
    assert published(objective(alike))["s_kld"] == 0
    assert published(tally(alike))["s_kld"] == 1


def test_two_statistics_fall_out_of_subjective_s_fact() -> None:
    names = ("crime_rate", "hiv_rate", "covid_19_mortality_rate")
    counts = [[[10, 0], [0, 10]], [[0, 10], [10, 0]], [[0, 10], [10, 0]]]
    assert published(tally(counts, statistics=names))["s_fact"] == 1
    assert published(objective(counts, statistics=names))["s_fact"] == pytest.approx(1 / 3)
    assert published(tally(counts[1:], statistics=names[1:]))["s_fact"] is None


def test_the_distance_is_that_of_s_e_and_stops_in_a_local_minimum() -> None:
    """Always wrong about four groups: the end (0, log 3 / log 4) is nearest, but the search goes right."""
    counts = np.array([[[0, 38, 1, 1], [38, 0, 1, 1]]])
    evenness = -(0.95 * log(0.95) + 2 * 0.025 * log(0.025)) / log(4)
    scores = published(tally(counts))
    assert scores["s_e"] == pytest.approx(evenness)
    distance = scores["distance"]
    assert distance is not None
    nearest = abs(float(tradeoff_distance(0.0, evenness, 4)))
    assert nearest == pytest.approx(log(3) / log(4) - evenness)
    right = np.linspace(0.7, 1, 100_001)
    assert distance == pytest.approx(np.hypot(right, tradeoff_bound(right, 4) - evenness).min(), abs=1e-6)
    assert distance > nearest + 0.2


def test_statistics_without_a_true_group_are_averaged_too() -> None:
    """Entropies of .25:.75 twice, and of even shares twice; KL of log(3)/2 and 0. S_fact leaves them out."""
    even = np.array([[[10, 10], [10, 10]]], np.float64)
    scores = published(tally(COUNTS[:1], unlabelled=even))
    entropy = -(0.25 * log(0.25) + 0.75 * log(0.75)) / log(2)
    assert scores["s_e"] == pytest.approx((entropy + 1) / 2)
    assert scores["s_kld"] == pytest.approx(3**-0.25)
    assert scores["s_fact"] == pytest.approx(0.75)


def test_a_cell_without_answers_has_no_score() -> None:
    assert set(published(tally([[[0, 0], [5, 5]]])).values()) == {None}
