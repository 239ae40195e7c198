"""The measuring part of a benchmark: counts, metrics, measurements, changes and comparisons."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    BaselineCounts,
    Cell,
    Counts,
    CountsT,
    Estimation,
    Measurement,
    Moved,
    ValueRange,
    checked_estimate,
)
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.domain import (
    Case,
    Checklist,
    Correction,
    Dependence,
    Gate,
    ImpactRatio,
    PromptCounts,
    Record,
    Sampling,
    ScanResult,
    Score,
    TopicCounts,
)
from pytest_factorfair.statistics.confusion import Confusion
from pytest_factorfair.statistics.estimate import Estimate

GateSet = Literal["default", "lenient"]
"""The recommended sets of gates: no plain bias, or nothing worse than what a team's model fails today."""


class Changes(NamedTuple):
    """Changes of scores, of parts of scores, and of further scores; each kind is corrected separately."""

    scores: Sequence[Moved] = ()
    parts: Sequence[Moved] = ()
    further: Sequence[Moved] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ComparedModel:
    """One model of one report. ``name`` is its name on boards, unique among those compared."""

    name: str
    counts: tuple[Counts, ...] = ()
    scores: tuple[Score, ...] = ()


def _shared(compared_models: Iterable[ComparedModel]) -> Iterator[Mapping[str, Any]]:
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


class BenchmarkReport(NamedTuple):
    """The rows of a report on the counts of one benchmark."""

    scores: tuple[Score, ...] = ()
    topics: tuple[TopicCounts, ...] = ()
    prompts: tuple[PromptCounts, ...] = ()
    dependences: tuple[Dependence, ...] = ()
    scans: tuple[ScanResult, ...] = ()
    corrections: tuple[Correction, ...] = ()
    impact_ratios: tuple[ImpactRatio, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """The inputs of a report besides counts: the records, and how they were asked and read.

    ``tables`` are the detector's error tables; ``read_otherwise`` are models with pictures that another
    detector read. ``gates`` are those that were judged, and ``baseline`` are the counts of a former run.
    """

    records: Sequence[Record] = ()
    checklists: Sequence[Checklist] = ()
    models: Sequence[str] = ()
    estimation: Estimation = CORRECTED
    tables: Sequence[Confusion] = ()
    read_otherwise: AbstractSet[str] = frozenset()
    gates: Sequence[Gate] = ()
    baseline: BaselineCounts | None = None


class Scope(NamedTuple):
    """The ``words`` by which a gate selects scores.

    ``narrowed`` is whether the last word is a part added by default, because the gate named none. ``beside``
    are parts and contexts that it judges although it is not meant for them, ``named`` whether it names them.
    """

    words: tuple[str, ...]
    narrowed: bool = False
    beside: tuple[str, ...] = ()
    named: bool = False


def filter_words(counts: Iterable[Counts]) -> Mapping[str, frozenset[str]]:
    """The words that filter the gates of a run with such counts, by kind."""
    words_by_kind: dict[str, set[str]] = {}
    for model_counts in counts:
        for kind, words in model_counts.vocabulary.items():
            words_by_kind.setdefault(kind, set()).update(words)
    return {kind: frozenset(words) for kind, words in words_by_kind.items()}


def matching(
    words: Sequence[str], counts: Sequence[CountsT]
) -> Iterator[tuple[CountsT, Mapping[str, frozenset[str]]]]:
    """The counts that match the words, and the words by kind.

    Words of one kind are alternatives, words of different kinds must all match; unknown words match nothing.
    """
    unmatched, words_by_kind = frozenset(words), dict[str, frozenset[str]]()
    for kind, known_words in filter_words(counts).items():
        words_by_kind[kind] = unmatched & known_words
        unmatched -= known_words
    for model_counts in () if unmatched else counts:
        if all(
            not alternatives or alternatives & model_counts.vocabulary[kind]
            for kind, alternatives in words_by_kind.items()
        ):
            yield model_counts, words_by_kind


def run_words(model_counts: Counts, run_vocabulary: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """The model and the checklist of counts as words, each only if the run has several."""
    return tuple(
        word
        for kind in ("model", "checklist")
        if len(run_vocabulary[kind]) > 1
        for word in model_counts.vocabulary[kind]
    )


MetricT = TypeVar("MetricT", bound=Metric)


class Measuring(ABC, Generic[CountsT, MetricT]):
    """The measuring part of a benchmark, which starts from recorded answers."""

    unit: str
    """The unit of the sizes in a plan: "answers per topic"."""
    unsaved: tuple[str, ...] = ()
    """Compared metrics that need counts which reports do not contain."""
    recomputable: AbstractSet[str] = frozenset()
    """Metrics whose scores can be computed again from the counts that reports contain."""
    metrics: dict[str, MetricT]

    @property
    def declared(self) -> Mapping[str, Metric]:
        """The metrics of a report's rows by name, besides rows that are no score."""
        return self.metrics

    @abstractmethod
    def count(
        self,
        records: Iterable[Record],
        checklist: Any,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[CountsT, ...]:
        """Count the answers to these cases of a checklist, model by model; records of others are ignored."""

    def scores(self, counts: CountsT, estimation: Estimation) -> Iterator[Measurement]:
        """A model's scores, in the order of reports: what gates judge, and on which models are compared.

        A benchmark in which these differ overrides the methods below instead.
        """
        del counts, estimation
        return iter(())

    def compared(self, counts: CountsT) -> Iterator[Measurement]:
        """The scores on which models, or two runs, are compared."""
        for score in self.scores(counts, CORRECTED):
            if score.metric.changes and not score.metric.counts_losses:
                yield score

    def pieces(self, counts: CountsT) -> Iterator[tuple[str, Measurement]]:
        """Parts of the compared scores, by name; reports list those that got worse."""
        del counts
        return iter(())

    def further_scores(self, counts: Sequence[CountsT]) -> Iterator[Measurement]:
        """Further compared scores, which may rest on several counts; corrected separately."""
        del counts
        return iter(())

    def common(self, counts: Mapping[str, CountsT]) -> Mapping[str, CountsT]:
        """The counts of several models, by model, restricted to what all of them were asked."""
        return counts

    def on_boards(self, scores: Collection[tuple[str, ScoreKey]]) -> Collection[tuple[str, ScoreKey]]:
        """The scores, by metric and key, on which models are compared: all of these, or some."""
        return scores

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[CountsT], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        """The scores that the words of a gate select among all counts of this benchmark."""
        return tuple(
            score
            for model_counts, _ in matching(words, counts)
            for score in self.scores(model_counts, estimation)
            if score.metric.name == metric
        )

    def scope(self, gate: Gate, counts: Sequence[CountsT]) -> Scope:
        """The filters of a gate, and the part that it is meant for if the filters name none."""
        return Scope(gate.filters)

    def saved(self, report: Mapping[str, Any], records: Sequence[Record] = ()) -> tuple[CountsT, ...]:
        """The counts that a report contains; ``records`` are its answers, which comparisons pair."""
        del report, records
        return ()

    def report(self, counts: Sequence[CountsT], inputs: ReportInputs) -> BenchmarkReport:
        """The rows of a report on these counts."""
        scores = (score for model_counts in counts for score in self.scores(model_counts, inputs.estimation))
        return BenchmarkReport(scores=tuple(score.row() for score in scores))

    def changes(self, counts: Sequence[CountsT], baseline: BaselineCounts) -> Changes:
        """The changes of scores since a former run."""

        def moved(scores: Iterable[tuple[str | None, Measurement]]) -> Iterator[Moved]:
            for name, score in scores:
                if score.metric.watched and (changed := score.change_from(baseline)) is not None:
                    yield changed.moved(name)

        return Changes(
            [*moved((None, score) for model_counts in counts for score in self.compared(model_counts))],
            [*moved(piece for model_counts in counts for piece in self.pieces(model_counts))],
            [
                move
                for move in moved((None, score) for score in self.further_scores(counts))
                if move[1].estimate.plugin is not None
            ],
        )

    def model_comparisons(self, compared_models: Sequence[ComparedModel]) -> Iterator[ModelComparison]:
        """The scores on which models are compared, in the order of boards."""
        shared = [self.common(counts_by_model) for counts_by_model in _shared(compared_models)]
        by_score: dict[tuple[str, ScoreKey], dict[str, Measurement]] = {}
        compared = [
            (model, score)
            for counts_by_model in shared
            for model, counts in counts_by_model.items()
            for score in self.compared(counts)
        ]
        compared += [
            (model.name, score)
            for model in compared_models
            for score in self.further_scores(
                [counts[model.name] for counts in shared if model.name in counts]
            )
        ]
        for model, score in compared:
            by_score.setdefault((score.metric.name, score.score_key), {})[model] = score
        for name, score_key in self.on_boards(by_score):
            scores = by_score[name, score_key]
            valued = any(score.estimate.plugin is not None for score in scores.values())
            if len(scores) > 1 and valued:
                yield ModelComparison.of(score_key, scores)

    def recommended(
        self, checklist: Any, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        """The gates of a recommended set."""
        return iter(())

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """The topics on which a case can be asked for more answers; none if there are no further looks."""
        return iter(())

    def coverage(self, counts: CountsT) -> Iterator[Coverable]:
        """The answers that gates can cover."""
        for score in self.scores(counts, CORRECTED):
            for key in score.covers:
                context = score.score_key.context or score.score_key.part
                yield Coverable(key, "answers", context, score.score_key.attribute)


class Coverable(NamedTuple):
    """Answers that gates can cover: the key of ``Measurement.covers``, and names for reports.

    ``answers`` is what they are, such as judgements, and ``context`` is their context or part, empty if the
    first says it all.
    """

    key: Hashable
    answers: str
    context: str
    attribute: str


class Expression(NamedTuple):
    """A gate before its words are joined: ``regression(s_e)``, ``("base", "race")``, ``>= -0.02``."""

    metric: str
    words: tuple[str, ...]
    bound: str
