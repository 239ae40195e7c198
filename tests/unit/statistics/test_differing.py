"""The difference of two runs and its limit, against counts by hand, and the rates of simulated runs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.differing import difference, most_by_chance, power


def pairs_unlike(first: str, second: str, *, same: bool) -> float:
    pairs = list(combinations(first, 2)) if same else list(product(first, second))
    return sum(answer != later for answer, later in pairs) / len(pairs)


@pytest.mark.parametrize(
    ("before", "now"), [("aaaa", "aa"), ("aaaa", "bb"), ("aabb", "ab"), ("aaabc", "bbcc"), ("abcd", "efgh")]
)
def test_the_difference_counts_pairs_of_answers_that_are_unlike(before: str, now: str) -> None:
    words = sorted({*before, *now})
    counts = [np.array([answers.count(word) for word in words]) for answers in (before, now)]
    within = (pairs_unlike(before, before, same=True) + pairs_unlike(now, now, same=True)) / 2
    assert difference(*counts) == pytest.approx(pairs_unlike(before, now, same=False) - within)


def test_a_steady_model_differs_by_chance_in_no_question() -> None:
    alike = np.array([4, 0]), np.array([2, 0])
    assert most_by_chance([alike] * 9, 0.025) == 0
    changed = np.array([4, 0]), np.array([0, 2])
    assert difference(*changed) == 1
    # By chance it would be one of the 15 divisions of six answers.
    assert most_by_chance([*[alike] * 9, changed], 1 / 12) < 1
    assert most_by_chance([*[alike] * 9, changed], 1 / 20) == 1


def drawn(random: np.random.Generator, size: int, first: float) -> IntArray:
    """The answers to 48 questions of a model that draws, with this first choice among four."""
    return random.multinomial(size, [first, *[(1 - first) / 3] * 3], size=48)


def test_the_limit_is_exceeded_as_often_as_asked() -> None:
    random, exceeded = np.random.default_rng(1), 0
    for _ in range(400):
        before, now = drawn(random, 12, 0.7), drawn(random, 4, 0.7)
        limit = most_by_chance(tuple(zip(before, now, strict=True)), 0.1)
        exceeded += difference(before, now).sum() > limit
    assert 0.06 < exceeded / 400 < 0.14


def test_the_power_falls_with_noise_and_grows_with_answers() -> None:
    random = np.random.default_rng(1)
    steady, drawing = list(drawn(random, 12, 1.0)), list(drawn(random, 12, 0.7))
    # A change in each question with probability .1 leaves all 48 as they are in .6 % of runs.
    assert power(steady, 4, 0.1, 0.025) == pytest.approx(1 - 0.9**48, abs=0.006)
    assert power(drawing, 4, 0.1, 0.025) < power(drawing, 16, 0.1, 0.025)
    assert power(drawing, 4, 0.0, 0.025) == pytest.approx(0.025, abs=0.015)
