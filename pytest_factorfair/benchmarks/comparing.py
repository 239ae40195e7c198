"""Compare models on the scores that they share, and the scores of a run with those of a baseline."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

from pytest_factorfair.benchmarks import AnyBenchmark
from pytest_factorfair.benchmarks.combined import measure
from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    BaselineCounts,
    Cell,
    Counts,
    Measurement,
    Moved,
    PieceName,
    ValueRange,
    checked_estimate,
)
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.domain import Change, Score
from pytest_factorfair.statistics.estimate import Estimate


class Changes(NamedTuple):
    """Changes of scores, of parts of scores, and of further scores; each kind is corrected separately.

    Those of ``tests`` are judged already, by the level of the test.
    """

    scores: Sequence[Moved] = ()
    parts: Sequence[Moved] = ()
    further: Sequence[Moved] = ()
    tests: Sequence[Change] = ()


def changes(benchmark: AnyBenchmark, counts: Sequence[Counts], baseline: BaselineCounts) -> Changes:
    """The changes of a benchmark's scores since a former run."""

    def moved(scores: Iterable[tuple[PieceName | None, Measurement]]) -> Iterator[Moved]:
        for piece, score in scores:
            if score.metric.watched and (changed := score.change_from(baseline)) is not None:
                yield changed.moved(piece)

    compared = [score for model_counts in counts for score in benchmark.compared(model_counts)]
    tests = (
        score.tested_change(baseline)
        for name, metric in benchmark.metrics.items()
        if metric.level
        for score in measure(benchmark, name, (), counts, CORRECTED)
    )
    return Changes(
        [*moved((None, score) for score in compared)],
        [*moved(piece for score in compared for piece in score.pieces())],
        [
            move
            for move in moved((None, score) for score in further_scores(benchmark, counts))
            if move[1].estimate.plugin is not None
        ],
        [change for change in tests if change is not None],
    )


def further_scores(benchmark: AnyBenchmark, counts: Sequence[Counts]) -> Iterator[Measurement]:
    """The scores of further metrics, which may rest on several counts."""
    for name, metric in benchmark.metrics.items():
        if any(variant.further for variant in (metric, *metric.variants)):
            for score in measure(benchmark, name, (), counts, CORRECTED):
                if score.metric.further and score.estimate.plugin is not None:
                    yield score


@dataclass(frozen=True, slots=True, eq=False)
class ComparedModel:
    """One model of one report. ``name`` is its name on boards, unique among those compared."""

    name: str
    counts: tuple[Counts, ...] = ()
    scores: tuple[Score, ...] = ()


def shared(compared_models: Iterable[ComparedModel]) -> Iterator[Mapping[str, Any]]:
    """Counts with the same comparison key, by model, if at least two models have them."""
    by_key: dict[Hashable, dict[str, Counts]] = {}
    for compared_model in compared_models:
        for model_counts in compared_model.counts:
            by_key.setdefault(model_counts.comparison_key, {})[compared_model.name] = model_counts
    return (by_model for by_model in by_key.values() if len(by_model) > 1)


class ComparedScore(NamedTuple):
    """A model's score in a comparison; ``total`` has the numbers of answers asked and lost, like ``cells``.

    ``needed_at`` says how many answers each cell must have been asked for bounds of a difference at a level.
    ``if_missing`` is how far lost answers could move its centre; it is called only where there are any.
    """

    name: str
    estimate: Estimate
    total: Cell
    cells: tuple[Cell, ...]
    needed_at: Callable[[float], int]
    if_missing: Callable[[], ValueRange | None] = lambda: None

    @classmethod
    def of(cls, name: str, measurement: Measurement) -> ComparedScore:
        bounds = partial(measurement.if_missing, bounded=True)
        return cls(
            name,
            checked_estimate(measurement),
            measurement.total,
            measurement.cells,
            partial(measurement.needed_at, compared=True),
            bounds,
        )


class Gap(NamedTuple):
    """The difference between two models, and the share of answers paired by question."""

    estimate: Estimate
    paired: float = 0.0


class ModelComparison(NamedTuple):
    """A score of several models: its key and metric, their scores, and the differences between these."""

    score_key: ScoreKey
    metric: Metric
    compared_scores: Sequence[ComparedScore]
    gaps: Mapping[tuple[str, str], Gap]

    @classmethod
    def of(cls, score_key: ScoreKey, scores: Mapping[str, Measurement]) -> ModelComparison:
        """Compare a score of several models, pair by pair."""
        gaps = {
            (model, rival): Gap(score.minus(rival_score), score.paired(rival_score))
            for (model, score), (rival, rival_score) in combinations(scores.items(), 2)
        }
        compared_scores = [ComparedScore.of(name, score) for name, score in scores.items()]
        return cls(score_key, next(iter(scores.values())).metric, compared_scores, gaps)


def model_comparisons(
    benchmark: AnyBenchmark, compared_models: Sequence[ComparedModel]
) -> Iterator[ModelComparison]:
    """The scores of a benchmark on which models are compared, in the order of boards."""
    common = [benchmark.common(counts_by_model) for counts_by_model in shared(compared_models)]
    compared = [
        (model, score)
        for counts_by_model in common
        for model, counts in counts_by_model.items()
        for score in benchmark.compared(counts)
    ]
    for model in compared_models:
        of_model = [counts[model.name] for counts in common if model.name in counts]
        compared += [(model.name, score) for score in further_scores(benchmark, of_model)]
    by_score: dict[tuple[str, ScoreKey], dict[str, Measurement]] = {}
    for name, score in compared:
        by_score.setdefault((score.metric.name, score.score_key), {})[name] = score
    first: dict[str, str | None] = {}
    for _, key in by_score:
        if key.part == benchmark.one_context:
            first.setdefault(key.checklist, key.context)
    for (metric, key), scores in by_score.items():
        context = first.get(key.checklist, key.context)
        on_boards = key.context == context or (metric, key._replace(context=context)) not in by_score
        valued = any(score.estimate.plugin is not None for score in scores.values())
        if on_boards and len(scores) > 1 and valued:
            yield ModelComparison.of(key, scores)
