"""The bounds of several looks: together they have the error rate of a single look."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_factorfair.gates.levels import BOUNDARIES


def error(correlation: NDArray[np.float64]) -> float:
    """The probability that some of these standard normal variables exceeds the boundary of its look."""
    from scipy.stats import multivariate_normal  # two seconds

    looks = len(correlation)
    never = multivariate_normal(mean=np.zeros(looks), cov=correlation).cdf(BOUNDARIES[looks])
    return 1 - float(never)


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_the_error_over_all_looks_is_five_percent(looks: int) -> None:
    """Means of i and of j times as many answers, of which the fewer are among the more: correlation sqrt(i / j)."""
    n = np.arange(1, looks + 1)
    correlation = np.sqrt(np.minimum.outer(n, n) / np.maximum.outer(n, n))
    assert error(correlation) == pytest.approx(0.05, abs=2e-4)


@pytest.mark.parametrize("growth", [2, 3])
def test_a_last_look_at_more_answers_adds_hardly_any_error(growth: int) -> None:
    """Topics that others need for bounds: their own score may have had both looks, the last at up to three times."""
    correlation = np.array([[1, growth**-0.5], [growth**-0.5, 1]])
    assert error(correlation) < 0.0515


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_early_looks_spend_little_of_the_error(looks: int) -> None:
    assert sorted(BOUNDARIES[looks], reverse=True) == list(BOUNDARIES[looks])
    assert len(BOUNDARIES[looks]) == looks
    assert BOUNDARIES[looks][-1] == pytest.approx(1.645, abs=0.08)
