"""Metrics, counts and measurements of all benchmarks combined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_factorfair.benchmarks import (
    AnyBenchmark,
    benchmark_named,
    benchmark_of,
    benchmarks,
    benchmarks_of,
    imported_first,
    names,
)
from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    Counts,
    Estimation,
    Measurement,
    TopicKey,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    ReportInputs,
    Scope,
    SelectedCounts,
    filter_words,
)
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.domain import Case, Checklist, Declining, Gate, Reported, Summary
from pytest_factorfair.drawing import statements
from pytest_factorfair.errors import InputError, attributed, nearest


def metrics(among: Iterable[AnyBenchmark]) -> Mapping[str, Metric]:
    """Every metric that gates on these benchmarks judge, by name; of a name in several, that of the first."""
    by_name: dict[str, Metric] = {}
    for benchmark in among:
        for name, metric in benchmark.metrics.items():
            by_name.setdefault(name, metric)
    return by_name


def metric_named(name: str) -> Metric:
    """The metric of this name, whatever its benchmark.

    Raises:
        InputError: no benchmark has one.
    """
    for benchmark in imported_first():
        if name in benchmark.metrics:
            return benchmark.metrics[name]
    raise InputError(f"unknown metric '{name}'{nearest(name, metrics(benchmarks().values()))}")


def by_benchmark(counts: Sequence[Counts]) -> Iterator[tuple[AnyBenchmark, tuple[Counts, ...]]]:
    """The counts of each benchmark that has any, in the order of reports."""
    for name in names():
        if of_benchmark := tuple(model_counts for model_counts in counts if model_counts.benchmark == name):
            yield benchmark_named(name), of_benchmark


def selected(gate: Gate, counts: Sequence[Counts], estimation: Estimation) -> tuple[Measurement, ...]:
    """The scores that a gate selects; for a regression gate, those with a change that can be estimated."""
    with attributed(f"metric '{gate.metric}'"):
        return tuple(
            measurement
            for benchmark, benchmark_counts in by_benchmark(counts)
            if gate.metric in benchmark.metrics
            and (not gate.regression or benchmark.metrics[gate.metric].changes)
            for measurement in measure(
                benchmark,
                gate.metric,
                scope(benchmark, gate, benchmark_counts).words,
                benchmark_counts,
                estimation,
            )
        )


def measure(
    benchmark: AnyBenchmark,
    metric: str,
    words: Sequence[str],
    counts: Sequence[Counts],
    estimation: Estimation,
) -> tuple[Measurement, ...]:
    """The scores that the words of a gate select among all counts of a benchmark."""
    selection, filters = SelectedCounts.of(words, counts, benchmark.scores), benchmark.metrics[metric].filters
    if filters is not None and selection.narrowed_by(selection.vocabulary.keys() - filters):
        return ()
    return tuple(benchmark.metrics[metric].measurements(selection, estimation))


def scope(benchmark: AnyBenchmark, gate: Gate, counts: Sequence[Counts]) -> Scope:
    """The filters of a gate, and the part that it is meant for if the filters name none."""
    sense, vocabulary = benchmark.metrics[gate.metric].sense(gate.comparison), filter_words(counts)
    if sense is None:
        return Scope(gate.filters)
    parts, contexts = (vocabulary.get(kind, frozenset()) for kind in ("part", "context"))
    named = not (parts | contexts).isdisjoint(gate.filters)
    if not named and sense.part in parts:
        return Scope((*gate.filters, sense.part), narrowed=True)
    keys = [score.score_key for score in measure(benchmark, gate.metric, gate.filters, counts, CORRECTED)]
    beside = dict.fromkeys(key.context or key.part for key in keys if key.part != sense.part)
    return Scope(gate.filters, beside=tuple(beside), named=named)


def topic_keys(model: str, checklist: Checklist, case: Case) -> frozenset[TopicKey]:
    """The topics of a case on which more answers can be asked for."""
    topics = benchmark_of(checklist).topics(case)
    return frozenset(TopicKey(model, checklist.name, topic) for topic in topics)


def declining(reported: Reported) -> tuple[Declining, ...]:
    """How many judgements each model declined that count as neutral."""
    return tuple(
        line for benchmark in benchmarks_of(reported.scores) for line in benchmark.declining(reported)
    )


def warnings(summary: Summary) -> Iterator[str]:
    """Warnings about expired waivers, and about models, parts and contexts without a single answer."""
    yield from statements.warnings(summary)
    for benchmark in benchmarks_of(summary.scores):
        yield from benchmark.warnings(summary)


def report(counts: Sequence[Counts], inputs: ReportInputs) -> BenchmarkReport:
    """The rows of a report on the counts of all benchmarks."""
    parts = []
    for benchmark, benchmark_counts in by_benchmark(counts):
        with attributed(f"the scores of benchmark '{benchmark_counts[0].benchmark}'"):
            part = benchmark.report(benchmark_counts, inputs)
        if undeclared := [name for name in part.rows if name not in {rows.name for rows in benchmark.rows}]:
            raise InputError(f"benchmark '{benchmark.name}': its `rows` do not declare '{undeclared[0]}'")
        parts.append(part)
    return BenchmarkReport(
        scores=tuple(row for part in parts for row in part.scores),
        rows={
            name: tuple(row for part in parts for row in part.rows.get(name, ()))
            for name in dict.fromkeys(name for part in parts for name in part.rows)
        },
        counts=tuple(row for part in parts for row in part.counts),
        notes=tuple(row for part in parts for row in part.notes),
    )
