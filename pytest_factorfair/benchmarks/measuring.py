"""The measuring part of a benchmark: counts, metrics, measurements, changes and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple

from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    BaselineCounts,
    Counts,
    CountsT,
    Estimation,
    Measurement,
)
from pytest_factorfair.domain import (
    Checklist,
    Gate,
    Record,
    SavedCounts,
    Score,
)
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from pytest_factorfair.statistics.confusion import Confusion

GateSet = Literal["default", "lenient"]
"""The recommended sets of gates: no plain bias, or nothing worse than what a team's model fails today."""


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
