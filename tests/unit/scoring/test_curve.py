"""The trade-off curve and the distance to it, compared with brute force."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import distance_and_normal
from pytest_factorfair.errors import InputError
from pytest_factorfair.scoring import s_e, s_fact, tradeoff_bound, tradeoff_distance
from tests.unit.scoring.builders import COUNTS, Ints

Floats = NDArray[np.float64]

# The bound once more, in plain floats on a grid, for a search that knows nothing of stationary points.
LOGITS = np.linspace(-40, 40, 2001)
GRID = np.unique(np.concatenate([[0.0, 1.0], 1 / (1 + np.exp(-LOGITS)), np.linspace(0, 1, 2001)]))


def _height(x: Floats, k: int) -> Floats:
    terms = np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0.0)
    y = 1 - x
    terms = terms + np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / (k - 1)), 0.0)
    return -terms / log(k)


def _brute(a: float, e: float, k: int) -> float:
    """The distance by brute force: the smallest local minimum on a grid, refined eight times."""
    square = (GRID - a) ** 2 + (_height(GRID, k) - e) ** 2
    padded = np.concatenate([[np.inf], square, [np.inf]])
    dips = np.flatnonzero((square <= padded[:-2]) & (square <= padded[2:]))
    low, high = GRID[np.maximum(dips - 1, 0)], GRID[np.minimum(dips + 1, GRID.size - 1)]
    rows = np.arange(dips.size)
    minimum = square.min()
    for _ in range(8):
        x = np.clip(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 31), 0, 1)
        near = (x - a) ** 2 + (_height(x, k) - e) ** 2
        best = near.argmin(axis=1)
        minimum = min(minimum, near.min())
        low, high = x[rows, np.maximum(best - 1, 0)], x[rows, np.minimum(best + 1, 30)]
    return sqrt(minimum)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 16, 64])
def test_distance_agrees_with_brute_force(k: int) -> None:
    points = np.random.default_rng(k).random((100, 2)) * [1, 1.2] - [0, 0.1]
    distances = np.abs(tradeoff_distance(points[:, 0], points[:, 1], k))
    assert distances == pytest.approx([_brute(a, e, k) for a, e in points], abs=1e-9)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 16])
def test_distance_next_to_the_ends_and_the_curve_agrees_with_brute_force(k: int) -> None:
    start = log(k - 1) / log(k)
    points = [
        (a, e)
        for a in (0, 1e-12, 1e-6, 0.01, 0.02, 0.99, 1 - 1e-9, 1)
        for e in (0, start, start - 1e-9, 0.5, 1)
    ]
    points += [
        (a, float(tradeoff_bound(a, k)) - step) for a in (1e-9, 0.03, 1 / k, 0.9) for step in (1e-3, 1e-7)
    ]
    a, e = np.transpose(points)
    distances = np.abs(tradeoff_distance(a, e, k))
    assert distances == pytest.approx([_brute(a, e, k) for a, e in points], abs=1e-9)


def test_the_point_with_four_stationary_points() -> None:
    a, e, k = 0.295, 0.712, 4
    distances = [
        sqrt((x - a) ** 2 + (float(tradeoff_bound(x, k)) - e) ** 2)
        for x in (0.0, 0.0099, 0.0422, 0.0522, 0.4331)
    ]
    assert tradeoff_distance(a, e, k) == pytest.approx(min(distances), abs=1e-6)
    assert tradeoff_distance(a, e, k) == pytest.approx(_brute(a, e, k), abs=1e-9)


def test_the_nearest_point_may_be_the_left_end() -> None:
    assert tradeoff_distance(0.02, 0.5, 4) == pytest.approx(
        sqrt(0.02**2 + (log(3) / log(4) - 0.5) ** 2), abs=1e-3
    )
    assert tradeoff_distance(0.0, 0.5, 4) == log(3) / log(4) - 0.5


def test_every_number_of_groups_agrees_with_brute_force() -> None:
    """The number of stationary points of a point depends on k: near the left end there are up to five."""
    groups = range(2, 65)
    points = {k: np.random.default_rng(k).random((6, 2)) * [0.3, 1] for k in groups}
    distances = {k: np.abs(tradeoff_distance(points[k][:, 0], points[k][:, 1], k)) for k in groups}
    expected = {k: [_brute(a, e, k) for a, e in points[k]] for k in groups}
    wrong = [k for k in groups if distances[k] != pytest.approx(expected[k], abs=1e-9)]
    assert not wrong, [(k, distances[k], expected[k]) for k in wrong]


@pytest.mark.parametrize("k", [2, 3, 4, 5, 64])
def test_the_curves_ends_and_top(k: int) -> None:
    ends = tradeoff_bound([0, 1 / k, 1], k)
    assert ends == pytest.approx([log(k - 1) / log(k), 1, 0], abs=1e-15)
    assert tradeoff_distance([0, 1 / k, 1], ends, k).tolist() == [0, 0, 0]


def test_above_the_curve_is_negative() -> None:
    on = float(tradeoff_bound(0.6, 4))
    above, below = tradeoff_distance(0.6, [on + 0.01, on - 0.01], 4)
    assert above < 0 < below
    assert -above == pytest.approx(_brute(0.6, on + 0.01, 4), abs=1e-9)


def test_rounding_above_the_curve_is_on_it() -> None:
    on = float(tradeoff_bound(0.6, 4))
    assert tradeoff_distance(0.6, on + 4e-16, 4) == 0


def test_the_distance_of_a_model_that_is_right_on_a_share_of_topics() -> None:
    right = np.array([0.5, 0.7, 0.8, 0.9, 1])
    assert tradeoff_distance(right, 0, 4) == pytest.approx([0.485, 0.293, 0.196, 0.098, 0], abs=6e-4)


def test_arrays_broadcast_and_nan_stays() -> None:
    grid = tradeoff_distance([[0.2], [0.5]], [0.1, 0.6, np.nan], 3)
    assert grid.shape == (2, 3)
    assert grid[1, 0] == tradeoff_distance(0.5, 0.1, 3)
    assert np.isnan(grid[:, 2]).all()
    assert np.isnan(tradeoff_distance(np.nan, 0.4, 3))
    assert tradeoff_distance(np.empty((0, 2)), 0.5, 3).shape == (0, 2)


@pytest.mark.parametrize("a", [-0.1, 1.1])
def test_a_share_outside_the_unit_interval_is_refused(a: float) -> None:
    with pytest.raises(InputError, match="S_fact must lie between 0 and 1"):
        tradeoff_distance(a, 0.5, 4)


@pytest.mark.parametrize("k", [1, 0, -2])
def test_one_group_has_no_curve(k: int) -> None:
    with pytest.raises(InputError, match=f"k is {k}; an attribute has at least 2 groups"):
        tradeoff_bound(0.5, k)


@settings(max_examples=max(200, settings().max_examples))
@given(COUNTS)
def test_no_plug_in_point_lies_above_the_curve(drawn: tuple[Ints, Ints]) -> None:
    counts, truth = drawn
    assert tradeoff_distance(s_fact(counts, truth), s_e(counts), counts.shape[-1]) >= 0


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_the_normal_is_the_slope_of_the_distance(k: int) -> None:
    """Below, above and beyond the ends; away from the curve, where the distance has kinks in between."""
    points = np.random.default_rng(k + 50).random((300, 2)) * [0.98, 1.2] + [0.01, -0.1]
    a, e = points.T
    step = 1e-6
    slopes = [
        (tradeoff_distance(a + dx, e + dy, k) - tradeoff_distance(a - dx, e - dy, k)) / (2 * step)
        for dx, dy in ((step, 0), (0, step))
    ]
    smooth = np.abs(np.hypot(*slopes) - 1) < 1e-4
    assert smooth.mean() > 0.97
    distances, normals = distance_and_normal(a, e, k)
    assert distances.tolist() == tradeoff_distance(a, e, k).tolist()
    assert normals[smooth] == pytest.approx(np.stack(slopes, axis=-1)[smooth], abs=1e-3)


def test_on_the_curve_the_normal_is_the_curves_own() -> None:
    a = np.array([0.05, 0.25, 0.5, 0.9])
    slope = np.log((1 - a) / (3 * a)) / log(4)
    expected = np.stack([slope, -np.ones(4)], axis=-1) / np.hypot(slope, 1)[:, None]
    assert distance_and_normal(a, tradeoff_bound(a, 4), 4)[1] == pytest.approx(expected, abs=1e-6)
    assert distance_and_normal(0.25, 0.999999, 4)[1] == pytest.approx([0, -1], abs=1e-3)


def test_the_normal_at_the_end_of_the_curve_is_that_next_to_it() -> None:
    """At S_fact = 1 the slope is infinite; the normal is that where x is 1 in double precision, at logit 40."""
    slope = -(40 + log(3)) / log(4)
    expected = np.array([slope, -1]) / np.hypot(slope, 1)
    assert distance_and_normal(1.0, 0.0, 4)[1] == pytest.approx(expected, rel=1e-9)
