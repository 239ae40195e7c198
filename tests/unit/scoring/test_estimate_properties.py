"""Properties of estimates for any counts: invariance to names and order, and ordered bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.largest import LargestShare
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import CombinationDistance, EvennessWithin
from tests.unit.scoring.builders import SEEDS, estimate, tally, tally_metric


def drawn_tally(seed: int) -> Tally:
    """At least 20 answers in each cell, cells of unequal size, two scenarios, some answers missing."""
    generator = np.random.default_rng(seed)
    k, statistics = generator.integers(2, 6), generator.integers(1, 5)
    scenarios = generator.integers(0, 60, (statistics, 2, 2, k)) * generator.integers(
        0, 2, (statistics, 2, 2, k)
    )
    scenarios[..., 0] += 10 * (scenarios.sum(axis=-1) < 10)
    lost = generator.integers(0, 10, (statistics, 2))
    truth = generator.integers(0, k, (statistics, 2))
    return tally(scenarios.sum(axis=2), truth, scenarios=scenarios, refused=lost)


TALLIES = SEEDS.map(drawn_tally)


def _numbers(tally: Tally) -> list[float]:
    """The centres and errors of both kinds of interval that exist."""
    by_interval = [estimate(tally), estimate(tally, interval="scenarios")]
    estimates = [
        estimated
        for by_metric in by_interval
        for metric, estimated in by_metric.items()
        if not METRICS[metric].counts_losses
    ]
    return [
        number if number is not None else -1.0
        for estimated in estimates
        for number in (estimated.corrected, estimated.error)
    ]


@given(TALLIES, st.integers(0, 100))
def test_renaming_groups_changes_nothing(observed: Tally, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(observed.k)
    renamed = tally(
        observed.counts[..., order],
        np.argsort(order)[observed.truth],
        scenarios=observed.scenarios[..., order],
    )
    assert _numbers(renamed) == pytest.approx(_numbers(observed), abs=1e-9)


@given(TALLIES, st.integers(0, 100))
def test_the_order_of_statistics_and_scenarios_changes_nothing(observed: Tally, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(observed.counts))
    moved = tally(
        observed.counts[order], observed.truth[order], scenarios=observed.scenarios[order][:, :, ::-1]
    )
    assert _numbers(moved) == pytest.approx(_numbers(observed), abs=1e-9)


@given(TALLIES)
def test_bounds_enclose_the_centre_and_widen_with_confidence(observed: Tally) -> None:
    for metric, estimated in estimate(observed).items():
        if metric in ("name_preference", "age_preference"):  # nobody is shown in these
            continue
        assert estimated.reason == ""
        bounds = [
            estimated.lower(0.01),
            estimated.lower(0.2),
            estimated.corrected,
            estimated.upper(0.2),
            estimated.upper(0.01),
        ]
        defined = [bound for bound in bounds if bound is not None]
        assert defined == sorted(defined)
        assert len(defined) == 5


@example(drawn_tally(2556))  # a share of the worst case converges to 0
@given(TALLIES)
def test_the_plugin_value_lies_within_the_worst_and_the_best_case(observed: Tally) -> None:
    none_lost = tally(observed.counts, observed.truth)
    for metric in sorted(
        metric.name
        for metric in METRICS.values()
        if isinstance(metric, TallyMetric)
        and metric.applies("subjective", "random")
        and not isinstance(metric, (LargestShare, EvennessWithin, CombinationDistance))
    ):
        low, high = tally_metric(metric).range_if_missing(none_lost)
        value = tally_metric(metric).plugin(none_lost)
        assert low - 1e-9 <= value <= high + 1e-9
        if metric != "distance":
            wider_low, wider_high = tally_metric(metric).range_if_missing(observed)
            assert wider_low <= low + 1e-9
            assert wider_high >= high - 1e-9
