"""The closed forms of the jackknife, compared with leaving out one answer at a time."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import entropies
from pytest_factorfair.statistics.jackknife import jackknifed_entropies, jackknifed_likenesses
from tests.unit.scoring.builders import toward, truths

CELLS = [[[7, 2, 1, 0], [1, 3, 5, 1]], [[10, 0, 0, 0], [3, 3, 2, 2]], [[1, 1, 0, 0], [0, 0, 0, 9]]]


def _entropy(counts: list[int]) -> float:
    n = sum(counts)
    return -sum(c / n * log(c / n) for c in counts if c) / log(len(counts))


def _likeness(high: list[int], low: list[int]) -> float:
    p = [(c + 0.5) / (sum(high) + len(high) / 2) for c in high]
    q = [(c + 0.5) / (sum(low) + len(low) / 2) for c in low]
    return exp(-sum(a * log(a / b) for a, b in zip(p, q, strict=True)))


def _leaving_one_out(counts: list[int]) -> list[list[int]]:
    """The counts without one answer, for each answer."""
    return [
        [c - (index == group) for index, c in enumerate(counts)]
        for group, answers in enumerate(counts)
        for _ in range(answers)
    ]


@pytest.mark.parametrize("cell", [cell for pair in CELLS for cell in pair])
def test_entropy_against_brute_force(cell: list[int]) -> None:
    n = sum(cell)
    without = [_entropy(remaining) for remaining in _leaving_one_out(cell)]
    expected = n * _entropy(cell) - (n - 1) * sum(without) / n
    assert jackknifed_entropies([[cell, cell]])[0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pair", CELLS)
def test_likeness_against_brute_force(pair: list[list[int]]) -> None:
    high, low = pair
    value = _likeness(high, low)
    expected = value
    for counts, without in (
        (high, [_likeness(remaining, low) for remaining in _leaving_one_out(high)]),
        (low, [_likeness(high, remaining) for remaining in _leaving_one_out(low)]),
    ):
        n = sum(counts)
        expected -= (n - 1) * (sum(without) / n - value)
    assert jackknifed_likenesses([pair])[0] == pytest.approx(expected, abs=1e-12)


def test_two_coin_throws_by_hand() -> None:
    """One of each: H is 1, without either answer 0, so 2 · 1 - 1 · 0 = 2: the centre is not clipped."""
    assert jackknifed_entropies([[[1, 1], [2, 0]]]) == pytest.approx(np.array([[2.0, 0.0]]))


def test_too_few_answers_are_nan_and_leave_the_others_alone() -> None:
    counts = [[[1, 0], [2, 2]], [[0, 0], [3, 1]]]
    jackknifed = jackknifed_entropies(counts)
    assert np.isnan(jackknifed).tolist() == [[True, False], [True, False]]
    assert np.isnan(jackknifed_likenesses(counts)).tolist() == [False, True]


def test_leading_axes() -> None:
    stacked = np.array([CELLS, CELLS[::-1]])
    assert jackknifed_entropies(stacked)[1] == pytest.approx(jackknifed_entropies(CELLS[::-1]))
    assert jackknifed_likenesses(stacked)[1] == pytest.approx(jackknifed_likenesses(CELLS[::-1]))


@pytest.mark.parametrize(
    ("strength", "n", "plugin_bias", "jackknife_bias"),
    [(0.0, 100, -0.0109, 0.0), (0.2, 20, -0.0570, 0.0058), (0.7, 20, -0.0625, 0.0034)],
)
def test_bias_of_the_entropy(strength: float, n: int, plugin_bias: float, jackknife_bias: float) -> None:
    """The biases that the study of the estimators measured, for four groups, within their spread."""
    shares = toward(truths(18, 4), 0.25 + 0.75 * strength, 4)
    counts = np.random.default_rng(7).multinomial(n, np.broadcast_to(shares, (600, *shares.shape)))
    true = entropies(shares).mean()
    plugin = entropies(counts / n).mean() - true
    assert plugin == pytest.approx(plugin_bias, abs=0.002)
    assert jackknifed_entropies(counts).mean() - true == pytest.approx(jackknife_bias, abs=0.002)
