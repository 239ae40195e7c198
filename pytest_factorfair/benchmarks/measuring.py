"""The measuring part of a benchmark: counts, metrics, measurements, changes and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple

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
    Change,
    Checklist,
    Gate,
    Record,
    SavedCounts,
    Score,
)
from pytest_factorfair.errors import InputError
from pytest_factorfair.statistics.estimate import Estimate

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from pytest_factorfair.statistics.confusion import Confusion

GateSet = Literal["default", "lenient"]
"""The recommended sets of gates: no plain bias, or nothing worse than what a team's model fails today."""


class Changes(NamedTuple):
    """Changes of scores, of parts of scores, and of further scores; each kind is corrected separately.

    Those of ``tests`` are judged already, by the level of the test.
    """

    scores: Sequence[Moved] = ()
    parts: Sequence[Moved] = ()
    further: Sequence[Moved] = ()
    tests: Sequence[Change] = ()


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


def plain_values(kind: Any, benchmark: str, name: str = "counts") -> TypeAdapter[Any]:
    """Writes values of a benchmark's class to reports, and reads them; ``name`` is what messages call it.

    Raises:
        InputError: the class has fields that JSON cannot hold.
    """
    from pydantic import PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(kind)
    except PydanticUserError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"benchmark '{benchmark}': {name}: not a class of plain values: {reason}") from None


class BenchmarkReport(NamedTuple):
    """The rows of a report on the counts of one benchmark; ``rows`` are those that it declares, by name."""

    scores: tuple[Score, ...] = ()
    rows: Mapping[str, tuple[Any, ...]] = MappingProxyType({})
    counts: tuple[SavedCounts, ...] = ()
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


@dataclass(frozen=True, slots=True, eq=False)
class SelectedCounts(Generic[CountsT]):
    """The counts that the words of a gate select, among all ``run_counts`` of one benchmark.

    ``by_kind`` are the gate's words by kind, and ``vocabulary`` all words that filter the gates of the run.
    ``scores`` are the benchmark's scores of counts.
    """

    words: tuple[str, ...]
    counts: tuple[CountsT, ...]
    run_counts: tuple[CountsT, ...]
    by_kind: Mapping[str, frozenset[str]]
    vocabulary: Mapping[str, frozenset[str]]
    scores: Callable[[CountsT, Estimation], Iterable[Measurement]]

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        counts: Sequence[CountsT],
        scores: Callable[[CountsT, Estimation], Iterable[Measurement]],
    ) -> SelectedCounts[CountsT]:
        """Select the counts that match the words.

        Words of one kind are alternatives, words of different kinds must all match; unknown words match
        nothing.
        """
        vocabulary = filter_words(counts)
        unmatched, by_kind = frozenset(words), dict[str, frozenset[str]]()
        for kind, kind_words in vocabulary.items():
            by_kind[kind] = unmatched & kind_words
            unmatched -= kind_words
        matching = tuple(
            model_counts
            for model_counts in (() if unmatched else counts)
            if all(
                not alternatives or alternatives & model_counts.vocabulary[kind]
                for kind, alternatives in by_kind.items()
            )
        )
        return cls(tuple(words), matching, tuple(counts), by_kind, vocabulary, scores)

    def narrowed_by(self, kinds: Iterable[str]) -> bool:
        """Whether the gate has a word of one of these kinds."""
        return any(self.by_kind.get(kind) for kind in kinds)

    def allows(self, kind: str, word: str) -> bool:
        """Whether the gate selects this word of a kind: by name, or because it names none of the kind."""
        return not self.by_kind.get(kind) or word in self.by_kind[kind]

    def run_words(self, model_counts: CountsT) -> tuple[str, ...]:
        """The model and the checklist of counts as words, each only if the run has several."""
        return tuple(
            word
            for kind in ("model", "checklist")
            if len(self.vocabulary[kind]) > 1
            for word in model_counts.vocabulary[kind]
        )


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
