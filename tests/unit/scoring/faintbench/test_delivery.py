"""Explicit scores by hand: shares with Wilson's bounds, both sides of relations, mean probabilities."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import explicit, level, sides
from pytest_factorfair.errors import InputError


def test_a_prompt_s_share_has_wilson_s_bounds() -> None:
    """18 of 20 at 95 % two-sided, by the formula."""
    estimate = explicit([18], [20]).estimate(0)
    z, n, p = 1.959963984540054, 20, 0.9
    centre, reach = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert (estimate.plugin, estimate.corrected, estimate.n) == (0.9, 0.9, 20)
    assert estimate.lower(0.025) == pytest.approx((centre - reach) / (1 + z * z / n), abs=1e-12)
    assert estimate.upper(0.025) == pytest.approx((centre + reach) / (1 + z * z / n), abs=1e-12)


def test_an_obedient_painter_scores_one_at_every_level() -> None:
    images = np.full(2440, 4)
    cells = explicit(images, images)
    assert (cells.plugin == 1).all()
    whole = level(cells, np.ones(2440), np.arange(2440))
    assert whole.corrected == pytest.approx(1)
    assert whole.error == pytest.approx(sqrt(0.75 * 0.25 / 4 / 2440))


def test_a_prompt_without_images_has_no_score() -> None:
    cells = explicit([0, 0], [0, 5])
    assert cells.present.tolist() == [False, True]
    assert cells.plugin[1] == 0


def test_both_sides_of_a_relation() -> None:
    """Of 10 images 1 delivers nothing, 2 the right side alone, 3 the left alone, 4 both."""
    delivery = sides([[1, 2], [3, 4]])
    shares = [float(part.plugin) for part in (delivery.left, delivery.right, delivery.both)]
    assert shares == [0.7, 0.6, 0.4]
    assert float(delivery.mean.plugin) == pytest.approx(0.65)
    values = np.repeat([0, 0.5, 1], [1 + 1, 2 + 3 + 2, 4 + 1])
    assert float(delivery.mean.error) == pytest.approx(values.std() / sqrt(10))
    assert delivery.both.share
    assert not delivery.mean.share


def test_correlated_sides_have_a_larger_error_than_opposed_ones() -> None:
    together, apart = sides([[50, 0], [0, 50]]).mean, sides([[0, 50], [50, 0]]).mean
    assert float(together.plugin) == float(apart.plugin) == 0.5
    assert float(together.error) > 5 * float(apart.error)


@pytest.mark.parametrize(("delivered", "images"), [([3], [2]), ([-1], [2]), ([1, 1], [2]), ([1], [np.inf])])
def test_invalid_counts_are_refused(delivered: list[int], images: list[float]) -> None:
    with pytest.raises(InputError, match="delivered"):
        explicit(delivered, images)


@pytest.mark.parametrize("outcomes", [[1, 2], [[1, 2, 3], [4, 5, 6]], [[1, -2], [3, 4]]])
def test_invalid_outcomes_are_refused(outcomes: list[int]) -> None:
    with pytest.raises(InputError, match="outcomes"):
        sides(outcomes)
