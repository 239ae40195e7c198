"""Metrics, counts and measurements of all benchmarks combined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_factorfair.benchmarks import benchmark_of, benchmarks
from pytest_factorfair.benchmarks.measurement import Counts, Estimation, Measurement, TopicKey, attributed
from pytest_factorfair.benchmarks.measuring import BenchmarkReport, Measuring, ReportInputs
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.domain import Case, Checklist, Gate

# Any: counts name their benchmark, which types cannot express.
AnyMeasuring: TypeAlias = Measuring[Any, Any]


def metrics() -> Mapping[str, Metric]:
    """Every metric of every benchmark, by name."""
    by_name: dict[str, Metric] = {}
    for benchmark in benchmarks().values():
        for name, metric in benchmark.measuring.metrics.items():
            by_name.setdefault(name, metric)
    return by_name


def declared() -> Mapping[str, Metric]:
    """The metrics of all rows of reports that are scores, by name."""
    by_name: dict[str, Metric] = {}
    for benchmark in benchmarks().values():
        for name, metric in benchmark.measuring.declared.items():
            by_name.setdefault(name, metric)
    return by_name


def by_benchmark(counts: Sequence[Counts]) -> Iterator[tuple[AnyMeasuring, tuple[Counts, ...]]]:
    """The counts of each benchmark that has any."""
    for name, benchmark in benchmarks().items():
        if benchmark_counts := tuple(
            model_counts for model_counts in counts if model_counts.benchmark == name
        ):
            yield benchmark.measuring, benchmark_counts


def selected(gate: Gate, counts: Sequence[Counts], estimation: Estimation) -> tuple[Measurement, ...]:
    """The scores that a gate selects; for a regression gate, those with a change that can be estimated."""
    with attributed(f"metric '{gate.metric}'"):
        return tuple(
            measurement
            for measuring, benchmark_counts in by_benchmark(counts)
            if gate.metric in measuring.metrics
            and (not gate.regression or measuring.metrics[gate.metric].changes)
            for measurement in measuring.measure(
                gate.metric, measuring.scope(gate, benchmark_counts).words, benchmark_counts, estimation
            )
        )


def topic_keys(model: str, checklist: Checklist, case: Case) -> frozenset[TopicKey]:
    """The topics of a case on which more answers can be asked for."""
    topics = benchmark_of(checklist).measuring.topics(case)
    return frozenset(TopicKey(model, checklist.name, topic) for topic in topics)


def report(counts: Sequence[Counts], inputs: ReportInputs) -> BenchmarkReport:
    """The rows of a report on the counts of all benchmarks."""
    parts = []
    for measuring, benchmark_counts in by_benchmark(counts):
        with attributed(f"the scores of benchmark '{benchmark_counts[0].benchmark}'"):
            parts.append(measuring.report(benchmark_counts, inputs))
    return BenchmarkReport(
        scores=tuple(row for part in parts for row in part.scores),
        topics=tuple(row for part in parts for row in part.topics),
        prompts=tuple(row for part in parts for row in part.prompts),
        dependences=tuple(row for part in parts for row in part.dependences),
        scans=tuple(row for part in parts for row in part.scans),
        corrections=tuple(row for part in parts for row in part.corrections),
        impact_ratios=tuple(row for part in parts for row in part.impact_ratios),
        notes=tuple(row for part in parts for row in part.notes),
    )
