"""The expected scores of a fair model, compared with full enumeration and the study's simulations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb, exp, factorial, log, prod

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import fair_entropy, fair_likeness
from tests.unit.scoring.builders import tally, tally_metric


def _all_counts(n: int, k: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """All counts of n answers for k groups, with their probabilities under a fair model."""
    for counts in product(range(n + 1), repeat=k):
        if sum(counts) == n:
            yield counts, factorial(n) / prod(map(factorial, counts)) / k**n


def _likeness(high: tuple[int, ...], low: tuple[int, ...]) -> float:
    divergence = 0.0
    for c, d in zip(high, low, strict=True):
        if c and not d:
            return 0.0
        if c:
            divergence += c / sum(high) * log(c / sum(high) * sum(low) / d)
    return exp(-divergence)


@pytest.mark.parametrize(("n", "k"), [(1, 2), (2, 2), (7, 2), (5, 3), (6, 4)])
def test_entropy_against_enumeration(n: int, k: int) -> None:
    expected = sum(
        chance * -sum(c / n * log(c / n) for c in counts if c) / log(k)
        for counts, chance in _all_counts(n, k)
    )
    assert fair_entropy(n, k) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("high", "low", "k"), [(1, 1, 2), (9, 4, 2), (3, 8, 2), (4, 5, 3), (5, 3, 4)])
def test_likeness_against_enumeration(high: int, low: int, k: int) -> None:
    expected = sum(
        p * q * _likeness(high_counts, low_counts)
        for high_counts, p in _all_counts(high, k)
        for low_counts, q in _all_counts(low, k)
    )
    assert fair_likeness(high, low, k) == pytest.approx(expected, abs=1e-12)


def test_likeness_of_many_answers_against_the_double_binomial_sum() -> None:
    expected = sum(
        comb(200, c) * comb(150, d) / 2**350 * _likeness((c, 200 - c), (d, 150 - d))
        for c in range(201)
        for d in range(151)
    )
    assert fair_likeness(200, 150, 2) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(
    ("k", "n", "entropy", "likeness"),
    [
        (2, 20, 96.30, 95.10), (2, 72, 98.99, 98.62), (2, 300, 99.76, 99.67),
        (4, 20, 94.29, 84.42), (4, 72, 98.47, 95.85), (4, 100, 98.91, 97.01), (4, 300, 99.64, 99.00),
    ],
)  # fmt: skip
def test_the_noise_floors_of_the_study(k: int, n: int, entropy: float, likeness: float) -> None:
    assert 100 * fair_entropy(n, k) == pytest.approx(entropy, abs=0.02)
    assert 100 * fair_likeness(n, n, k) == pytest.approx(likeness, abs=0.05)


def test_the_limit_takes_over_without_a_step() -> None:
    assert fair_likeness(1000, 1000, 4) == pytest.approx((1 + 2 / 1000) ** -1.5, abs=1e-5)
    assert fair_likeness(10**6, 10**6, 4) == pytest.approx(1 - 3e-6, abs=1e-9)
    assert fair_entropy(10**6, 4) == pytest.approx(1 - 3 / (2e6 * log(4)), abs=1e-9)


def test_cells_of_unequal_size_are_averaged() -> None:
    observed = tally([[[5, 5], [10, 10]], [[20, 20], [5, 5]]])
    assert tally_metric("s_e").fair_reference(observed) == pytest.approx(
        (2 * fair_entropy(10, 2) + fair_entropy(20, 2) + fair_entropy(40, 2)) / 4
    )
    assert tally_metric("s_kld").fair_reference(observed) == pytest.approx(
        (fair_likeness(10, 20, 2) + fair_likeness(40, 10, 2)) / 2
    )
    assert tally_metric("s_fact").fair_reference(observed) == 0.5


def test_no_reference_without_answers_or_for_a_rate() -> None:
    assert tally_metric("s_e").fair_reference(tally([[[0, 0], [5, 5]]])) is None
    assert tally_metric("worst_refusal").fair_reference(tally([[[5, 5], [5, 5]]])) is None
