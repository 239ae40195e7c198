"""The measurements of FACT-OR-FAIR: each score with its answers, for gates and plans."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import product
from math import sqrt

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import KEPT, Tally, merged
from pytest_factorfair.benchmarks.fact_or_fair.metrics import FURTHER
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import Design, TallyMetric, asked
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import (
    INFLUENCE,
    ColumnOfInfluence,
    influence_error,
    influences,
)
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import ENOUGH, FEW_GROUPS, S_E, JointScore
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import WITHIN, strata
from pytest_factorfair.benchmarks.fact_or_fair.scoring import change
from pytest_factorfair.benchmarks.measurement import (
    CORRECTED,
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
    TopicKey,
    ValueRange,
)
from pytest_factorfair.benchmarks.metric import InWords, ScoreKey
from pytest_factorfair.benchmarks.rates import Rate, RateScore
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import DIRECTIONS, Case, Score, titled
from pytest_factorfair.statistics.estimate import Estimate, SeveralValues
from pytest_factorfair.statistics.holm import ALPHA


class TallyMeasurement(Measurement):
    """A score of one tally."""

    def __init__(self, tally: Tally, words: tuple[str, ...]) -> None:
        self.tally = tally
        self.model = tally.model
        self.words = words

    @property
    def cells(self) -> tuple[Cell, ...]:
        return cells(self.tally)

    @property
    def held(self) -> frozenset[str]:
        return frozenset[str]().union(*self.tally.vocabulary.values())

    @property
    def score_key(self) -> ScoreKey:
        """The key of its row in a report."""
        return self.tally.score_key

    @property
    def about(self) -> str:
        return f"{self.tally.kind} about {self.tally.attribute}"

    def asks(self, case: Case) -> int:
        return asks(self.tally, case)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return self.tally.context or self.tally.part, self.tally.attribute

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, *self.tally.score_key)})

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """The tallies that it covers."""
        return (self.tally,)

    def churn(self, other: TallyMeasurement) -> float:
        both = zip(self.tallies, other.tallies, strict=True)
        return change.churn([(new, change.paired(new, old)) for new, old in both])


class TallyRate(RateScore, TallyMeasurement):
    """A rate of lost answers."""

    def __init__(self, rate: Rate, tally: Tally, words: tuple[str, ...]) -> None:
        super().__init__(tally, words)
        self.metric: Rate = rate

    @cached_property
    def topics(self) -> Sequence[TopicShare]:
        """The share of each cell."""
        return [
            self.metric.topic(
                f"{titled(self.tally.statistics[row])}, {DIRECTIONS[column]}",
                self.tally.cases(row, column),
                cell,
            )
            for (row, column), cell in zip(np.ndindex(self.tally.asked.shape), self.cells, strict=True)
        ]

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        words = super().in_words(value, digits=digits)
        return words._replace(sentence=f"{asked(self.tally)}, {words.sentence}")

    def earlier(self, baseline: BaselineCounts) -> TallyRate | None:
        old = before(self.tally, baseline)
        return None if old is None else TallyRate(self.metric, old, self.words)


class TallyScore(TallyMeasurement):
    """A metric of one tally."""

    def __init__(
        self, metric: TallyMetric, tally: Tally, words: tuple[str, ...], estimation: Estimation = CORRECTED
    ) -> None:
        super().__init__(tally, words)
        self.metric: TallyMetric = metric
        self._estimation = estimation

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.tally, self._estimation)

    def needed_at(self, alpha: float, *, compared: bool = False) -> int:
        """Pictures need fewer answers at a lower level: in a run with further looks, and for differences.

        A single statistic needs all, because no others average its answers out, and so do many groups.
        """
        pictured = self.tally.modality == "image" and isinstance(self.metric, JointScore)
        pictured &= len(self.tally.statistics) > 1 and self.tally.k <= FEW_GROUPS
        needed = self.metric.needed
        return min(needed, ENOUGH) if pictured and alpha < ALPHA else needed

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        """At least as many as a fair model needs to pass an upper limit."""
        needed = super().enough(alpha, compared=compared)
        if limit is None or compared:
            return needed
        return max(needed, self.metric.passed_from(limit, self.tally.k, len(self.tally.statistics), alpha))

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        value = self.estimate.plugin
        return None if value is None else ValueRange(value, *self.metric.range_if_missing(self.tally))

    @property
    def possible_range(self) -> tuple[float | None, float | None]:
        return self.metric.possible_range(self.tally)

    def row(self) -> Score:
        """The row, with the value of a fair model and the strength of the equivalent stereotype."""
        metric, centre = self.metric, self.estimate.corrected
        strength = None if centre is None else metric.strength(centre, self.tally)
        return replace(super().row(), fair_reference=metric.fair_reference(self.tally), strength=strength)

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        return self.metric.in_words_of(value, self.tally, digits=digits)

    @property
    def components(self) -> Sequence[Component]:
        """The cells that have a value of their own."""
        tally, values = self.tally, self.metric.by_cell(self.tally)
        lost = tally.lost / np.maximum(tally.asked, 1)
        return tuple(
            Component(
                self.metric.named(tally, row, column),
                value=float(values[row, column]),
                share=share,
                cases=cases,
                reply=reply,
                lost=float(lost[row, column]),
                condition=condition,
            )
            for row, column in np.argwhere(~np.isnan(values)).tolist()
            for share, reply in [self.metric.in_cell(tally, row, column)]
            for cases, condition in [self.metric.questions(tally, row, column)]
        )

    def undecided(self, threshold: float, alpha: float) -> frozenset[TopicKey]:
        """For a largest share, only the topics that may have it."""
        among = self.estimate.among
        if not isinstance(among, SeveralValues) or not among.parts:
            return self.topic_keys
        parts = among.undecided(threshold, alpha)
        return frozenset(key for key in self.topic_keys if key.topic[-1] in parts)

    def earlier(self, baseline: BaselineCounts) -> TallyScore | None:
        """The baseline's score of the same topics, if it has one."""
        old = before(self.tally, baseline)
        return None if old is None else TallyScore(self.metric, old, self.words, self._estimation)

    def minus(self, other: TallyScore) -> Estimate:
        if not isinstance(self.metric, JointScore):
            return self.estimate.less(other.estimate)
        return self.metric.change(self.tally, other.tally, change.paired(self.tally, other.tally))

    def paired(self, other: TallyScore) -> float:
        if not isinstance(self.metric, JointScore):
            return 0.0
        most_answered = max(self.tally.answered.sum(), other.tally.answered.sum(), 1)
        return float(len(change.paired(self.tally, other.tally).new) / most_answered)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        design = Design(self.tally.k, len(self.tally.statistics), n)
        return _error(self.metric, threshold, design, regression=regression)


@lru_cache(maxsize=KEPT)
def _error(metric: TallyMetric, threshold: float, design: Design, *, regression: bool) -> float | None:
    """The error of a metric, which takes a search; it is the same in all contexts."""
    return metric.error(threshold, design, regression=regression)


class ConditionScore(TallyScore):
    """S_E within the only condition of a tally."""

    def __init__(self, tally: Tally, words: tuple[str, ...], estimation: Estimation = CORRECTED) -> None:
        (name,) = tally.conditions
        super().__init__(WITHIN[name], tally, words, estimation)

    def earlier(self, baseline: BaselineCounts) -> TallyScore | None:
        (name,) = self.tally.conditions
        old = before(self.tally, baseline)
        if old is None or name not in old.conditions:
            return None
        return ConditionScore(old.within(name), self.words, self._estimation)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The error of S_E at the number of answers of the smallest stratum."""
        (name,) = self.tally.conditions
        design = Design(self.tally.k, len(self.tally.statistics), n)
        error = _error(S_E, threshold, design, regression=regression)
        shares = [
            stratum.cells.sum() / stratum.cells.size
            for stratum in strata(self.tally, name)
            if stratum.cells.any()
        ]
        return None if error is None or not shares else error / sqrt(min(shares))


class ContextsScore(TallyScore):
    """A metric of the answers of several contexts together."""

    def __init__(
        self, metric: TallyMetric, tallies: Sequence[Tally], words: tuple[str, ...], estimation: Estimation
    ) -> None:
        super().__init__(metric, merged(tallies), words, estimation)
        self._tallies = tuple(tallies)

    def earlier(self, baseline: BaselineCounts) -> TallyScore | None:
        old = [
            tally
            for tally in (before(current, baseline) for current in self._tallies)
            if tally and tally.crossed
        ]
        if len(old) < len(self._tallies):
            return None
        return ContextsScore(self.metric, old, self.words, self._estimation)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cell for tally in self._tallies for cell in cells(tally, f"{tally.context} "))

    @property
    def held(self) -> frozenset[str]:
        return frozenset[str]().union(
            *(words for tally in self._tallies for words in tally.vocabulary.values())
        )

    def asks(self, case: Case) -> int:
        return asks(self._tallies[0], case)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        tally = self._tallies[0]
        context = "all contexts" if len(self._tallies) > 1 else tally.context or tally.part
        return context, tally.attribute

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset((self.model, *tally.score_key) for tally in self._tallies)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return self._tallies


class Influence(Measurement):
    """The influence of a context on the answers about one attribute: one column of Table 3.

    ``plain`` is the model's tally without a context.
    """

    def __init__(
        self,
        tally: Tally,
        plain: Tally | None,
        column: ColumnOfInfluence,
        words: tuple[str, ...],
        estimation: Estimation = CORRECTED,
    ) -> None:
        self.metric = FURTHER["_".join(filter(None, (INFLUENCE, column.word)))]
        self.words = words
        self.model = tally.model
        self._tally = tally
        self._tallies = (tally,) if plain is None or not column.paired else (tally, plain)
        self._column = column
        self._estimation = estimation

    @property
    def estimate(self) -> Estimate:
        return self._column.estimate

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        several = len(self._tallies) > 1
        return tuple(
            cell for tally in self._tallies for cell in cells(tally, f"{tally.context} " if several else "")
        )

    @property
    def score_key(self) -> ScoreKey:
        return self._tally.score_key

    @property
    def about(self) -> str:
        return f"{self._tally.kind} about {self._tally.attribute}"

    def earlier(self, baseline: BaselineCounts) -> Influence | None:
        tallies = [tally for tally in (before(current, baseline) for current in self._tallies) if tally]
        if len(tallies) < len(self._tallies):
            return None
        old, plain = tallies[0], tallies[1] if len(tallies) > 1 else None
        for column in influences(old, plain, estimator=self._estimation.estimator):
            if column.word == self._column.word:
                return Influence(old, plain, column, self.words, self._estimation)
        return None

    def churn(self, other: Influence) -> float:
        return change.churn([(self._tally, change.paired(self._tally, other._tally))])

    @property
    def held(self) -> frozenset[str]:
        vocabulary = dict(self._tally.vocabulary) | {"column": frozenset({self._column.word} - {""})}
        return frozenset[str]().union(*vocabulary.values())

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        value = self.estimate.corrected if bounded else self.estimate.plugin
        return None if value is None else ValueRange(value, *self._column.ranges_if_missing[bounded])

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        """The value in words: the context draws answers to its group or, in one column, away from it."""
        amount = f"{100 * value:.{digits}f}"
        group = f"the {self._tally.attribute} that precedes it"
        draws = "away from" if self._column.word == "not_own_group" else "to"
        sentence = f"in '{self._tally.context}', {amount} more of 100 answers than usual go {draws} {group}"
        return InWords(sentence, amount, "fair is 0", f"it was {amount} before")

    def asks(self, case: Case) -> int:
        return asks(self._tally, case)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        return influence_error(threshold, self._tally.k, n, self._column)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        return self._tally.context or self._tally.part, self._tally.attribute

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, *self._tally.score_key)})


@lru_cache(maxsize=KEPT)  # the scores of a tally share it
def before(tally: Tally, baseline: BaselineCounts) -> Tally | None:
    """The baseline's tally of the same topics, if it has one."""
    old = baseline.like(tally)
    if old is None:
        return None
    old = old.restrict(tally.statistics)
    return old if old.statistics == tally.statistics and old.asked.any(axis=1).all() else None


# Smaller variation is rounding.
NOTHING = 1e-9


@lru_cache(maxsize=KEPT)  # the scores of a tally share them
def cells(tally: Tally, prefix: str = "") -> tuple[Cell, ...]:
    """The cells of a tally, each with its numbers of lost answers."""
    tally_cells = []
    effects = tally.sample.design_effect
    masses = 1 - tally.outside / np.maximum(tally.answered, 1)
    topics = product(tally.statistics, DIRECTIONS)
    for (row, column), topic in zip(np.ndindex(tally.asked.shape), topics, strict=True):
        asked, refused, unparsed, errors = (
            int(numbers[row, column])
            for numbers in (tally.asked, tally.refused, tally.unparsed, tally.errors)
        )
        about = tally.part, tally.context, tally.attribute, topic
        tally_cells.append(
            Cell(
                prefix + tally.cell(row, column),
                asked,
                refused,
                unparsed,
                errors,
                1 / max(float(effects[row, column]), NOTHING),
                float(masses[row, column]),
                frozenset({TopicKey(tally.model, tally.checklist, about)}),
                int(tally.neutral_answers[row, column]),
                int(tally.filtered[row, column]),
            )
        )
    return tuple(tally_cells)


def asks(tally: Tally, case: Case) -> int:
    """The number of cases that share the answers of a topic of the tally; 0 for other cases."""
    if not isinstance(case, TopicCase) or tally.attribute not in case.attributes:
        return 0
    return case.scenarios if (case.checklist, case.context) == (tally.checklist, tally.context) else 0
