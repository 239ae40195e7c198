"""Metrics, counts and measurements of all protocols combined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_factorfair.domain import Case, Checklist, Gate
from pytest_factorfair.protocols import benchmark_of, benchmarks
from pytest_factorfair.protocols.measurement import Counts, Estimation, Measurement, TopicKey
from pytest_factorfair.protocols.measuring import BenchmarkReport, Measuring, ReportInputs
from pytest_factorfair.protocols.metric import Metric

# Any: counts name their benchmark, which types cannot express.
AnyMeasuring: TypeAlias = Measuring[Any, Any]


def metrics() -> Mapping[str, Metric]:
    """Every metric of every protocol, by name."""
    by_name: dict[str, Metric] = {}
    for benchmark in benchmarks().values():
        for name, metric in benchmark.measuring.metrics.items():
            by_name.setdefault(name, metric)
    return by_name


def by_protocol(counts: Sequence[Counts]) -> Iterator[tuple[AnyMeasuring, tuple[Counts, ...]]]:
    """The counts of each benchmark that has any."""
    for name, benchmark in benchmarks().items():
        if protocol_counts := tuple(model_counts for model_counts in counts if model_counts.protocol == name):
            yield benchmark.measuring, protocol_counts


def selected(gate: Gate, counts: Sequence[Counts], estimation: Estimation) -> tuple[Measurement, ...]:
    """The scores that a gate selects; for a regression those whose change can be estimated."""
    return tuple(
        measurement
        for protocol, protocol_counts in by_protocol(counts)
        if gate.metric in protocol.metrics and (not gate.regression or protocol.metrics[gate.metric].changes)
        for measurement in protocol.measure(
            gate.metric, protocol.scope(gate, protocol_counts).words, protocol_counts, estimation
        )
    )


def topic_keys(model: str, checklist: Checklist, case: Case) -> frozenset[TopicKey]:
    """The topics of a case on which more answers can be asked for."""
    topics = benchmark_of(checklist).measuring.topics(case)
    return frozenset(TopicKey(model, checklist.name, topic) for topic in topics)


def report(counts: Sequence[Counts], inputs: ReportInputs) -> BenchmarkReport:
    """What a report says about all counts."""
    parts = [protocol.report(protocol_counts, inputs) for protocol, protocol_counts in by_protocol(counts)]
    return BenchmarkReport(
        scores=tuple(row for part in parts for row in part.scores),
        headline=tuple(row for part in parts for row in part.headline),
        topics=tuple(row for part in parts for row in part.topics),
        prompts=tuple(row for part in parts for row in part.prompts),
        dependences=tuple(row for part in parts for row in part.dependences),
        corrections=tuple(row for part in parts for row in part.corrections),
        notes=tuple(row for part in parts for row in part.notes),
    )
