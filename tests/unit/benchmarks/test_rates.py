"""Rates of lost answers are the same in every benchmark, and have errors by cluster where questions have any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pytest_factorfair.benchmarks import benchmark_with, benchmarks
from pytest_factorfair.benchmarks.measurement import Cell
from pytest_factorfair.benchmarks.rates import Rate, RateScore, rates
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import CaseGroup, Score
from pytest_factorfair.drawing.entries import entries
from pytest_factorfair.reports.papers import paper_tables
from tests.unit.reports.paper_tables.builders import summary

NAMES = ("refusal_rate", "unparsed_rate", "error_rate")
REFUSALS = rates(Rate)["refusal_rate"]


class Questions(RateScore):
    """Questions with their numbers of refusals and errors among 10 answers, by cluster; None if not asked."""

    def __init__(self, *lost: tuple[int, int] | None, clusters: Sequence[int | None]) -> None:
        self.metric, self.model, self.words = REFUSALS, "m", ()
        self.answers = [
            Cell(f"q{number}", 0, 0, 0, 0) if pair is None else Cell(f"q{number}", 10, pair[0], 0, pair[1])
            for number, pair in enumerate(lost)
        ]
        self.clusters = clusters

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(self.answers)

    @property
    def topics(self) -> Sequence[TopicShare]:
        return [
            self.metric.topic(cell.name, CaseGroup("c", (cell.name,), cell.name), cell, cluster=cluster)
            for cell, cluster in zip(self.answers, self.clusters, strict=True)
        ]


def test_every_benchmark_has_the_same_rates() -> None:
    for name, benchmark in benchmarks().items():
        metrics = benchmark.metrics.values()
        lost = {metric.name: metric for metric in metrics if isinstance(metric, Rate)}
        lost.pop("filtered_rate", None)  # only judgements that may be declined have it
        # The canary compares refusals like any other answer.
        assert tuple(lost) == (() if name == "canary" else NAMES), name
        for metric in lost.values():
            shared = rates(Rate)[metric.name]
            assert (metric.label, metric.outcome, metric.missing) == (
                shared.label,
                shared.outcome,
                shared.missing,
            )


def test_no_benchmark_prints_the_rates_of_another() -> None:
    """Reports are printed by benchmarks that know their scores by name; a rate has the same name in all."""
    shown = summary(
        [
            Score("m", "c", "objective", None, "gender", "refusal_rate", 0.25, n=40),
            Score("m", "c", "objective", None, "gender", "s_fact", 0.5, n=30),
        ]
    )
    for name, benchmark in benchmarks().items():
        if name != "fact_or_fair":
            assert not list(benchmark.tables(shown)), name
    assert not any(benchmark_with(score.metric).on_card(score) for score in shown.scores[:1])
    assert not any(benchmark_with(score.metric).over_time(score) for score in shown.scores[:1])
    assert not list(paper_tables("c", entries({"it": replace(shown, scores=shown.scores[:1])})))


def test_independent_questions_have_wilsons_bounds() -> None:
    """6 of 40 were refused; at 5 %, one-sided, Wilson's bounds are .0796 and .2647."""
    estimate = Questions((5, 0), (1, 2), (0, 0), (0, 0), clusters=[None] * 4).estimate
    assert (estimate.plugin, estimate.n) == (0.15, 40)
    assert estimate.lower() == pytest.approx(0.0796, abs=1e-4)
    assert estimate.upper() == pytest.approx(0.2647, abs=1e-4)


def test_clusters_are_treated_as_a_random_sample() -> None:
    """The clusters' influences are (6 - 3) / 40 and (0 - 3) / 40: a variance of 2 (.075 ** 2 + .075 ** 2)."""
    estimate = Questions((5, 0), (1, 2), (0, 0), (0, 0), clusters=[0, 0, 1, 1]).estimate
    assert (estimate.plugin, estimate.n, estimate.freedom) == (0.15, 40, 1)
    assert estimate.error == pytest.approx(0.15)


def test_a_change_is_over_questions_asked_in_both() -> None:
    """2 of 20 more; the clusters' influences differ by (3 - 1) / 20 and (-1 - 1) / 20."""
    new = Questions((4, 0), (0, 0), (5, 0), clusters=[0, 1, 2])
    old = Questions((1, 0), (1, 0), None, clusters=[0, 1, 2])
    change = new.minus(old)
    assert (change.n, change.freedom) == (20, 1)
    assert change.plugin == pytest.approx(0.1)
    assert change.error == pytest.approx((2 * 2 * 0.1**2) ** 0.5)


def test_an_error_could_have_been_a_refusal() -> None:
    extremes = Questions((5, 0), (1, 2), clusters=[None] * 2).if_missing(bounded=True)
    assert extremes is not None
    assert (extremes.value, extremes.low, extremes.high) == (0.3, 0.3, 0.4)


@pytest.mark.parametrize(("clusters", "n"), [([None, None], 100), ([0, 1], 2), ([0, 0], 1)])
def test_power_counts_answers_or_else_clusters(clusters: list[int | None], n: int) -> None:
    score = Questions((5, 0), (1, 2), clusters=clusters)
    assert score.error_at(0.2, 50, regression=False) == pytest.approx((0.2 * 0.8 / n) ** 0.5)
