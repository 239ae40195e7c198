"""Noise of probabilities: what the service's load changes in them widens the intervals of scores."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.answer_arrays import (
    AnswerArrays,
    AnswerRow,
    by_group,
)
from pytest_factorfair.benchmarks.fact_or_fair.scoring.change import Pairs
from pytest_factorfair.benchmarks.fact_or_fair.scoring.spread import EVENNESS, jack_delta, single
from pytest_factorfair.statistics.arrays import FloatArray
from pytest_factorfair.statistics.sample import Sample

LINEUPS = tuple(dict.fromkeys(permutations((0, 0, 1, 1))))
"""The balanced design of two groups at four letters."""
TOPICS, RUNS = 6, 120
LIKE = np.zeros((TOPICS, 2, 2))
TRUTH = np.zeros((TOPICS, 2), np.int64)
FIRM = np.ones((TOPICS, 2), np.bool_)
NOISE, SHARE = 0.08, 0.62


def template(queries: int) -> AnswerArrays:
    """The answers (topics, 2, queries) of a model that gives group 0 its ``SHARE``, flat."""
    rows = [
        AnswerRow(topic, direction, -1, -1, lineup, exact, 1.0, 1)
        for topic in range(TOPICS)
        for direction in range(2)
        for lineup in LINEUPS * (queries // len(LINEUPS))
        for exact in [tuple(SHARE / 2 if group == 0 else (1 - SHARE) / 2 for group in lineup)]
    ]
    return AnswerArrays.of(rows, 2)


def sample(exact: AnswerArrays, errors: FloatArray | float = 0.0, *, noise: float) -> Sample:
    """The sample of these answers with errors (n, letters) and a declared noise."""
    shares = exact.shares + errors
    arrays = replace(
        exact,
        shares=shares,
        votes=by_group(shares, exact.groups, 2),
        noise=np.full(len(shares), noise),
    )
    return arrays.sample(LIKE, balanced=True, strata=arrays.scenario)


def test_covariance_of_an_answers_noise() -> None:
    """Of group 0, with the letters' shares p: the sum of squares of p_l (1 - v) at its letters, p_l v elsewhere."""
    p = np.array([0.31, 0.31, 0.19, 0.19])
    slopes = np.where([True, True, False, False], p * (1 - SHARE), -p * SHARE)
    noise = sample(template(6), noise=NOISE).noise
    assert noise is not None
    assert noise[0, 0] == pytest.approx(NOISE**2 * (slopes**2).sum() * np.array([[1, -1], [-1, 1]]))
    assert sample(template(6), noise=0.0).noise is None


def test_noise_does_not_average_out() -> None:
    """The error of the mean of 6 or 24 answers is the noise, as these answers vary in nothing else."""
    errors = []
    for n in (6, 24):
        covariance = sample(template(n), noise=NOISE).covariance
        assert covariance is not None
        errors.append(covariance[..., 0, 0] / n)
    assert errors[0] == pytest.approx(errors[1])
    assert errors[0].min() > 0


def coverage(*, shared: bool, noise: float) -> float:
    """How often a 95 % interval of S_E holds the true one, over runs whose logits have noise."""
    generator = np.random.default_rng(5)
    entropy, exact = -sum(p * np.log2(p) for p in (SHARE, 1 - SHARE)), template(24)
    hits = 0
    for _ in range(RUNS):
        noises = generator.normal(0, NOISE, exact.shares.shape)
        if shared:  # by all questions of a topic: by the letters at the same group, in turn
            order = np.argsort(exact.groups, axis=-1, kind="stable")
            topics = generator.normal(0, NOISE, (TOPICS, 2, exact.shares.shape[-1]))[exact.cells]
            np.put_along_axis(noises, order, topics, axis=-1)
        weights = exact.shares * np.exp(noises)
        errors = weights / weights.sum(axis=-1, keepdims=True) - exact.shares
        spread = single(jack_delta(sample(exact, errors, noise=noise), TRUTH, firm=FIRM), EVENNESS)
        hits += bool(abs(spread.centre - entropy) <= 1.96 * spread.error)
    return hits / RUNS


def test_intervals_cover_the_score_of_a_model_that_is_asked_alone() -> None:
    """Independent errors are part of how answers vary anyway; those that a topic's answers share are not."""
    assert coverage(shared=False, noise=0.0) > 0.925
    assert coverage(shared=True, noise=0.0) < 0.2
    assert coverage(shared=True, noise=NOISE) > 0.925
    assert coverage(shared=False, noise=NOISE) > 0.99


def test_change_between_runs_has_the_noise_of_both() -> None:
    """Of equal answers, which have no other error: the variance of a run's noise, twice."""
    exact = template(24)
    noises = sample(exact, noise=NOISE)
    covariances = replace(exact, noise=np.full(len(exact.shares), NOISE)).noise_covariances
    assert covariances is not None
    row, column, *_ = exact.cells
    votes = exact.votes
    pairs = Pairs((row, column), votes, votes, votes, votes, noises=(covariances, covariances))
    right = np.broadcast_to(np.array([1.0, 0.0]) / (2 * TOPICS), LIKE.shape)
    side = SimpleNamespace(per_answer=right / 24, n=noises.n)
    assert noises.noise is not None
    one_run = noises.noise[..., 0, 0].sum() / (2 * TOPICS) ** 2
    assert pairs.noise((side, side)) == pytest.approx(2 * one_run)  # type: ignore[arg-type]  # all that it reads
