"""What the measuring half of a protocol offers: counts, metrics, measurements, changes and contests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from pytest_factorfair.domain import (
    Case,
    Checklist,
    Correction,
    Dependence,
    Gate,
    Headline,
    PromptCounts,
    Record,
    Sampling,
    Score,
    TopicCounts,
)
from pytest_factorfair.protocols.measurement import (
    CORRECTED,
    C,
    Cell,
    Counts,
    Estimation,
    Former,
    Measurement,
    Moved,
    ValueRange,
)
from pytest_factorfair.protocols.metric import About, Metric
from pytest_factorfair.statistics.confusion import Confusion
from pytest_factorfair.statistics.estimate import Estimate

GateSet = Literal["default", "lenient"]
"""The recommended sets of gates: no plain bias, or nothing worse than what a team's model fails today."""


class Moves(NamedTuple):
    """Changes of scores, of parts of scores, and of further scores, which are judged apart."""

    scores: Sequence[Moved] = ()
    parts: Sequence[Moved] = ()
    further: Sequence[Moved] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ComparedModel:
    """One model of one report. ``name`` is its name on boards, unique among those compared."""

    name: str
    counts: tuple[Counts, ...] = ()
    records: tuple[Record, ...] = ()
    scores: tuple[Score, ...] = ()


def shared(compared_models: Iterable[ComparedModel], kind: type[C]) -> Iterator[Mapping[str, C]]:
    """Counts of one kind about the same thing, by model, if at least two models have them."""
    by_subject: dict[Hashable, dict[str, C]] = {}
    for compared_model in compared_models:
        for model_counts in compared_model.counts:
            if isinstance(model_counts, kind):
                by_subject.setdefault(model_counts.about, {})[compared_model.name] = model_counts
    return (by_model for by_model in by_subject.values() if len(by_model) > 1)


class ComparedScore(NamedTuple):
    """A model's score: ``total`` is what was asked for it and lost, ``cells`` the same in detail.

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
            measurement.estimate,
            measurement.total,
            measurement.cells,
            measurement.needed_compared,
            bounds,
        )


class Gap(NamedTuple):
    """The difference between two models, and the share of answers paired by question."""

    estimate: Estimate
    paired: float = 0.0


class Contest(NamedTuple):
    """A score of several models: what it is about, their entries, and the differences between them."""

    about: About
    metric: Metric
    compared_scores: Sequence[ComparedScore]
    gaps: Mapping[tuple[str, str], Gap]

    @classmethod
    def of(
        cls,
        about: About,
        metric: Metric,
        scores: Mapping[str, Measurement],
        gaps: Mapping[tuple[str, str], Gap],
    ) -> Contest:
        return cls(
            about, metric, [ComparedScore.of(name, measurement) for name, measurement in scores.items()], gaps
        )


class Reported(NamedTuple):
    """What a report says about the counts of one protocol."""

    scores: tuple[Score, ...] = ()
    headline: tuple[Headline, ...] = ()
    topics: tuple[TopicCounts, ...] = ()
    prompts: tuple[PromptCounts, ...] = ()
    dependences: tuple[Dependence, ...] = ()
    corrections: tuple[Correction, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportInputs:
    """What a report is about besides counts: the records, and how they were asked and read.

    ``tables`` are the detector's error tables; ``read_otherwise`` are models whose pictures another detector
    read.
    """

    records: Sequence[Record] = ()
    checklists: Sequence[Checklist] = ()
    models: Sequence[str] = ()
    estimation: Estimation = CORRECTED
    tables: Sequence[Confusion] = ()
    read_otherwise: AbstractSet[str] = frozenset()


class Scope(NamedTuple):
    """The ``words`` by which a gate selects scores.

    ``narrowed`` is whether the last word is a part added by default, because the gate named none. ``beside``
    are parts and contexts that it judges although it is not meant for them, ``named`` whether it names them.
    """

    words: tuple[str, ...]
    narrowed: bool = False
    beside: tuple[str, ...] = ()
    named: bool = False


M = TypeVar("M", bound=Metric)


class Measuring(ABC, Generic[C, M]):
    """The half of a protocol that starts from recorded answers: counts, metrics, measurements."""

    unit: str
    """The unit of the sizes in a plan: "answers per topic"."""
    unsaved: tuple[str, ...] = ()
    """Compared metrics whose counts reports do not hold, although they hold others."""
    metrics: dict[str, M]

    def count(
        self,
        records: Iterable[Record],
        checklist: Any,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[C, ...]:
        """Count the answers to these cases of a checklist, model by model."""
        return self.recount(tuple(records), checklist, cases, models=models)

    def recount(
        self, records: Sequence[Record], checklist: Any, cases: Sequence[Case], *, models: Sequence[str]
    ) -> tuple[C, ...]:
        """The same for counts that reports do not hold; these do not depend on the sampling."""
        return ()

    @abstractmethod
    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[C], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        """The scores that the words of a gate select among all counts of this protocol."""

    def filters(self, counts: Sequence[C]) -> Mapping[str, frozenset[str]]:
        """The vocabulary of a run with such counts."""
        vocabulary: dict[str, set[str]] = {}
        for model_counts in counts:
            for kind, words in model_counts.vocabulary.items():
                vocabulary.setdefault(kind, set()).update(words)
        return {kind: frozenset(words) for kind, words in vocabulary.items()}

    def matching(
        self, words: Sequence[str], counts: Sequence[C]
    ) -> Iterator[tuple[C, Mapping[str, frozenset[str]]]]:
        """The counts that match the words, and the words by kind.

        Words of one kind are alternatives, words of different kinds must all match; unknown words match
        nothing.
        """
        unmatched, words_by_kind = frozenset(words), dict[str, frozenset[str]]()
        for kind, run_vocabulary in self.filters(counts).items():
            words_by_kind[kind] = unmatched & run_vocabulary
            unmatched -= run_vocabulary
        for model_counts in () if unmatched else counts:
            vocabulary = model_counts.vocabulary
            if all(
                not alternatives or alternatives & vocabulary[kind]
                for kind, alternatives in words_by_kind.items()
            ):
                yield model_counts, words_by_kind

    def run_words(self, model_counts: C, filters: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
        """The words for its model and its checklist, each where the filters of the run have several."""
        vocabulary = model_counts.vocabulary
        return tuple(
            word for kind in ("model", "checklist") if len(filters[kind]) > 1 for word in vocabulary[kind]
        )

    def held(self, metric: str, words: Sequence[str], counts: Sequence[C]) -> AbstractSet[str]:
        """All words that match the scores these words select; empty if they select none."""
        selected = self.measure(metric, words, counts, CORRECTED)
        return frozenset[str]().union(*(measurement.held for measurement in selected))

    def scope(self, gate: Gate, counts: Sequence[C]) -> Scope:
        """What selects the scores of a gate: its filters, and the part it is meant for if they name none."""
        return Scope(gate.filters)

    def changeable(self, metric: str) -> bool:
        """Whether its change between two runs can be estimated."""
        return True

    def saved(self, report: Mapping[str, Any]) -> tuple[C, ...]:
        """The counts that a report holds."""
        return ()

    @abstractmethod
    def report(self, counts: Sequence[C], inputs: ReportInputs) -> Reported:
        """What a report says about them."""

    def changes(self, counts: Sequence[C], former: Former) -> Iterator[Moves]:
        """What changed since a former run."""
        return iter(())

    def contests(self, compared_models: Sequence[ComparedModel]) -> Iterator[Contest]:
        """The scores on which models are compared, in the order of boards."""
        return iter(())

    def recommended(
        self, checklist: Any, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        """The gates of a recommended set."""
        return iter(())

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """The topics on which a case can be asked for more answers; none if there are no further looks."""
        return iter(())

    def subjects(self, counts: C) -> Iterator[tuple[Hashable, str, str]]:
        """What the answers are about: the key in ``Measurement.about``, place and attribute."""
        return iter(())


class Expression(NamedTuple):
    """A gate before its words are joined: ``regression(s_e)``, ``("base", "race")``, ``>= -0.02``."""

    metric: str
    words: tuple[str, ...]
    bound: str
