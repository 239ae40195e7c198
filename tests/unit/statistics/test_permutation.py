"""The permutation test of parts of topics, against exact counts of permutations."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from pytest_factorfair.statistics.permutation import lowest_part

ONE = np.zeros(10, np.int64)


def test_the_chance_of_the_lowest_values_is_one_of_all_choices() -> None:
    """3 of 10 values are 0 and the others 1: 1 of 120 choices of three is as low."""
    part = np.arange(10) < 3
    lowest = lowest_part(np.where(part, 0.0, 1.0), part[None], ONE)
    assert (lowest.part, lowest.gap) == (0, 1.0)
    assert lowest.chance == pytest.approx(1 / comb(10, 3), abs=0.004)


def test_equal_values_are_no_difference() -> None:
    lowest = lowest_part(np.full(10, 0.4), (np.arange(10) < 3)[None], ONE)
    assert lowest.gap == pytest.approx(0.0)
    assert lowest.chance == 1.0


def test_a_difference_between_strata_is_none_within_them() -> None:
    """One half of the values is 0, the other 1; a part of either is like the rest of its half."""
    strata = np.repeat([0, 1], 5)
    parts = np.array([np.isin(np.arange(10), (0, 1, 2)), np.isin(np.arange(10), (5, 6, 7))])
    lowest = lowest_part(strata.astype(np.float64), parts, strata)
    assert lowest.gap == pytest.approx(0.0)
    assert lowest.chance == 1.0


def test_of_several_parts_the_lowest_is_named() -> None:
    parts = np.array([np.arange(10) < 3, np.arange(10) >= 7])
    values = np.array([0.5] * 7 + [0.1] * 3)
    lowest = lowest_part(values, parts, ONE)
    assert lowest.part == 1
    assert lowest.gap == pytest.approx(0.4)
    assert lowest.chance == pytest.approx(2 / comb(10, 3), abs=0.006)
