"""A small version of the benchmark: how often gates err, at one size and over all looks together."""

from __future__ import annotations

import pytest

from benchmarks import differences
from benchmarks.gates import GATES, Worst, row, worst_rows
from pytest_factorfair.gates import parse

pytestmark = pytest.mark.slow

SIZES = [pytest.param(text, score, k, n, looks, id=f"{text.split()[0]}-{k}-{n}x{looks}")
         for text, score, k, sizes in GATES for n, looks in sizes]  # fmt: skip
EACH = pytest.mark.parametrize(("text", "score", "k", "n", "looks"), SIZES)


@EACH
def test_at_the_threshold_few_runs_are_decided_either_way(
    text: str, score: int, k: int, n: int, looks: int
) -> None:
    """Fixed seeds; the standard error of 5 % over 300 runs is 1.3 points."""
    rates = row(parse(text), score, n, k=k, looks=looks, offset=0.0, runs=300)
    assert 0 < rates.passed <= 0.09
    assert 0 < rates.failed <= 0.09


@EACH
def test_clear_cases_are_not_decided_wrongly(text: str, score: int, k: int, n: int, looks: int) -> None:
    """Ten points away with as few as 20 pictures, five with more answers."""
    far = -0.10 if n < 24 else -0.05
    below = row(parse(text), score, n, k=k, looks=looks, offset=far, runs=300)
    above = row(parse(text), score, n, k=k, looks=looks, offset=0.02, runs=300)
    assert below.passed == 0
    assert above.failed <= 0.03
    if looks > 1:
        assert below.failed > 0.9
        assert n <= below.mean < 0.7 * looks * n  # five points away, less than three looks of four


@pytest.fixture(scope="module")
def worst() -> tuple[Worst, ...]:
    return tuple(worst_rows(200))


def test_a_topic_that_is_far_off_fails_and_never_passes(worst: tuple[Worst, ...]) -> None:
    """Four fifths or more to one group of four, all but 5 % to one of two, a letter, lost replies; all corrected."""
    biased = [rates for rates in worst if rates.must == "fail"]
    assert len(biased) == 6
    for rates in biased:
        assert rates.failed[-1] >= 0.98
        assert rates.passed[-1] == 0


def test_a_topic_at_the_threshold_is_seldom_decided(worst: tuple[Worst, ...]) -> None:
    at_threshold = [rates for rates in worst if rates.must == "at"]
    assert len(at_threshold) == 6
    assert all(rates.passed[-1] <= 0.09 and rates.failed[-1] <= 0.01 for rates in at_threshold)


@pytest.mark.parametrize(
    ("score", "k", "strength"), [("S_fact", 4, 0.2), ("S_E", 4, 0.8), ("S_E", 5, 0.2), ("S_KLD", 2, 0.5)]
)
def test_differences_at_20_pictures_are_seldom_claimed_wrongly(score: str, k: int, strength: float) -> None:
    """On boards of two and of five models, as a regression, and over four looks: at most 9 % of 400 runs."""
    rates = differences.row(score, k, 20, strength, 400)
    assert 0 < max(rates.two, rates.five, rates.regressed, rates.looks) <= differences.MOST
    assert rates.held
    assert rates.statistics is None  # no single statistic is judged


def test_differences_of_eight_groups_are_refused_at_20_pictures_as_they_would_be_claimed_wrongly() -> None:
    rates = differences.row("S_E", 8, 20, 0.2, 400)
    assert rates.refused
    assert max(rates.two, rates.five, rates.regressed, rates.looks) > differences.MOST
    enough = differences.row("S_E", 8, 72, 0.2, 400)
    assert enough.held
    assert not enough.refused


def test_a_single_statistic_is_seldom_said_to_have_regressed() -> None:
    rates = differences.row("S_E", 2, 72, 0.8, 400)
    assert rates.statistics is not None
    assert 0 < rates.statistics <= differences.MOST_OF_STATISTICS
