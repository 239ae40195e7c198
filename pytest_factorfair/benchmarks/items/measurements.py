"""The interface of metrics of items, and their measurements: each score with its votes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple, Self

import numpy as np

from pytest_factorfair.benchmarks.items.votes import AnswerKey, Votes
from pytest_factorfair.benchmarks.measurement import (
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
    ScoreChange,
    ValueRange,
)
from pytest_factorfair.benchmarks.measuring import SelectedCounts
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.benchmarks.rates import Rate, RateScore
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import ALL, LOST, Case, CaseGroup, plural
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray
from pytest_factorfair.statistics.estimate import (
    Estimate,
    by_cluster,
    difference_by_cluster,
    error_of_mean,
    least_variance,
)

NEEDED = 50
"""The number of answers from which bounds can be trusted."""

MOST_REPEATS = 50
"""The most answers per question that a run is asked for before it begins."""


ROUNDS = 20
"""Iterations of the search for an extreme ratio, which converges in two or three."""


class Term(NamedTuple):
    """A value, the influence of each item on it, (items,), and its variance if answers are independent."""

    value: float
    influence: FloatArray
    variance: float


class Ratio(NamedTuple):
    """The amounts that answers add to numerator and denominator, of shape (items, options + 3).

    Where ``strata`` (items,) number kinds of questions, the answers to each kind weigh the same in total.
    """

    above: FloatArray
    below: FloatArray
    strata: IntArray | None = None

    @property
    def rows(self) -> BoolArray:
        """The items that it rests on, (items,)."""
        return np.asarray((self.below != 0).any(axis=1))

    def of(self, votes: FloatArray) -> float:
        """The ratio of these votes, whatever their strata."""
        below = float((votes * self.below).sum())
        return float((votes * self.above).sum()) / below if below else float("nan")

    def weighted(self, asked: FloatArray) -> Ratio:
        """The amounts, divided by the number of answers asked for in the stratum; ``asked`` is (items,).

        They are all 0 if nothing was asked in a stratum.
        """
        if self.strata is None:
            return self
        totals = np.bincount(self.strata, asked * self.rows)
        by_stratum = 1 / totals if totals.all() else np.zeros(len(totals))
        weights = (by_stratum[self.strata] * self.rows)[:, None]
        return Ratio(self.above * weights, self.below * weights)

    def term(self, votes: FloatArray, ends: tuple[float, float]) -> Term:
        """The ratio of these votes, whose answers add amounts between these ends.

        In a stratum, only what differs from the stratum's mean has an influence: how many questions
        there are of each kind says nothing about the model.
        """
        asked = votes.sum(axis=1)
        weighted = self.weighted(asked)
        share, below = weighted.of(votes), float((votes * weighted.below).sum())
        if not below:
            return Term(share, np.zeros(len(votes)), 0.0)
        deviations = self.above - share * self.below
        if self.strata is None:
            squares = float((votes * deviations**2).sum())
            influence = (votes * deviations).sum(axis=1) / below
            return Term(share, influence, least_variance(squares, share, below, ends))
        influence, variance = np.zeros(len(votes)), 0.0
        for stratum in np.unique(self.strata[self.rows]):
            rows = self.rows & (self.strata == stratum)
            n = float(asked[rows].sum())
            mean = float((votes * deviations)[rows].sum()) / n
            apart = deviations[rows] - mean
            influence[rows] = (votes[rows] * apart).sum(axis=1) / (n * below)
            squares, (low, high) = float((votes[rows] * apart**2).sum()), ends
            variance += least_variance(squares, mean, n, (low - share, high - share)) / below**2
        return Term(share, influence, variance)


Ratios = Callable[[AnswerKey, ScoreKey], Sequence[Ratio]]


OF_ITEMS = frozenset({"model", "checklist", "part", "category", "attribute", "group"})
"""The kinds of words that select items, or scores of groups."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfItems(Metric):
    """A metric of items: the scores that reports list, and that gates judge."""

    filters: AbstractSet[str] | None = OF_ITEMS

    @property
    def subject_kinds(self) -> tuple[str, ...]:
        """The kinds of words that select among its scores, and no items."""
        return ("part",)

    def score_keys(self, key: AnswerKey) -> Sequence[ScoreKey]:
        """The keys of its scores: of conditions, unless it says otherwise."""
        whole = {part: ScoreKey(key.checklist, part, None, ALL) for part in key.part.tolist()}
        return tuple(whole.values())

    def reported(self, key: AnswerKey) -> Iterator[ScoreKey]:
        """The keys of its rows: its score keys, and each category of a condition with several."""
        for score_key in self.score_keys(key):
            yield score_key
            categories = dict.fromkeys(key.category[key.part == score_key.part].tolist())
            if len(categories) > 1:
                yield from (score_key._replace(context=category) for category in categories)

    def score(self, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()) -> ItemsMeasurement:
        """The score of a key."""
        raise NotImplementedError

    def measurements(
        self, selection: SelectedCounts[Votes], estimation: Estimation
    ) -> Iterator[ItemsMeasurement]:
        """One score for each model, checklist and condition that the words select, and for each group."""
        subject_kinds = (*self.subject_kinds, "model", "checklist")
        narrowing = [kind for kind, words in selection.by_kind.items() if words and kind not in subject_kinds]
        named = [
            word for word in selection.words if any(word in selection.by_kind[kind] for kind in narrowing)
        ]
        for votes in selection.counts:
            rows = np.array(
                [
                    all(not selection.by_kind[kind].isdisjoint(case.words[kind]) for kind in narrowing)
                    for case in votes.key.cases
                ],
                np.bool_,
            )
            for score_key in self.score_keys(votes.key):
                subject = (score_key.part, score_key.attribute, str(score_key.context))
                subject_words = dict(zip(self.subject_kinds, subject, strict=False))
                if all(selection.allows(kind, word) for kind, word in subject_words.items()):
                    words = (*selection.run_words(votes), *subject_words.values(), *named)
                    score = self.score(votes.at(rows), score_key, words)
                    if score.rows.any():
                        yield score


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LostAnswers(Rate, OfItems):
    """A rate of lost answers."""

    filters: AbstractSet[str] | None = OF_ITEMS

    def score(self, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()) -> ItemsRate:
        return ItemsRate(self, votes, score_key, words)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ItemMetric(OfItems):
    """A metric of items: the first of its ``ratios``, minus the second if there is one.

    ``ratios`` are made from an answer key and, for a metric ``by_group``, the group that a score is about.
    ``parts`` are the conditions of its items. ``shares`` says that each ratio lies between 0 and 1.
    """

    ratios: Ratios
    parts: tuple[str, ...]
    by_group: bool = False
    shares: bool = False

    @property
    def subject_kinds(self) -> tuple[str, ...]:
        # Words for a group select its score but no items, because it is compared with the items of others.
        return ("part", "attribute", "group") if self.by_group else ("part",)

    def score_keys(self, key: AnswerKey) -> Sequence[ScoreKey]:
        """The keys of its scores: of conditions or, if it is by group, of groups."""
        if self.by_group:
            distinct = dict.fromkeys(
                ScoreKey(key.checklist, case.part, groups[0], attribute)
                for case, favourable in zip(key.cases, key.favourable, strict=True)
                if favourable.any() and case.part in self.parts
                for attribute, groups in case.item.groups.items()
                if len(groups) == 1
            )
        else:
            whole = OfItems.score_keys(self, key)
            distinct = dict.fromkeys(score_key for score_key in whole if score_key.part in self.parts)
        return tuple(
            score_key for score_key in distinct if self.measured(key.at(rows_of(key, score_key)), score_key)
        )

    def reported(self, key: AnswerKey) -> Iterator[ScoreKey]:
        return iter(self.score_keys(key)) if self.by_group else OfItems.reported(self, key)

    def score(self, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()) -> ItemScore:
        return ItemScore(self, votes, score_key, words)

    def rows(self, key: AnswerKey, score_key: ScoreKey) -> BoolArray:
        """The items that it rests on, (items,)."""
        return np.asarray(np.logical_or.reduce([ratio.rows for ratio in self.ratios(key, score_key)]))

    def measured(self, key: AnswerKey, score_key: ScoreKey) -> bool:
        """Whether these items have such a score."""
        return all(bool(ratio.below.any()) for ratio in self.ratios(key, score_key))

    @property
    def possible_range(self) -> tuple[float, float]:
        """The lowest and the highest value that its ratios can have."""
        return (0.0 if self.shares or not self.signed else -1.0), 1.0

    def term(self, votes: Votes, score_key: ScoreKey) -> Term:
        """The first ratio minus the second, if there is one."""
        first, *second = (
            ratio.term(votes.votes, self.possible_range) for ratio in self.ratios(votes.key, score_key)
        )
        for term in second:
            first = Term(
                first.value - term.value,
                first.influence - term.influence,
                first.variance + term.variance,
            )
        return first

    def estimate(self, votes: Votes, score_key: ScoreKey) -> Estimate:
        """The value with its error: sandwich by cluster, and at least that of independent answers.

        The least error covers answers that all agree.
        """
        value, influence, variance = self.term(votes, score_key)
        scope = self.rows(votes.key, score_key) & (votes.votes.sum(axis=1) > 0)
        n = round(float(votes.answered[scope].sum()))
        if np.isnan(value):
            return Estimate(None, None, None, n, "no such question was answered")
        cluster, ends = votes.key.cluster[scope], self.declared_range
        return by_cluster(value, influence[scope], cluster, n, variance, ends)

    def difference(self, new: Votes, old: Votes, score_key: ScoreKey) -> Estimate:
        """The new value minus the old one over items answered in both, paired by cluster."""
        common = (new.answered > 0) & (old.answered > 0)
        paired_new, paired_old = (replace(votes, votes=votes.votes * common[:, None]) for votes in (new, old))
        (after, new_influence, _), (before, old_influence, _) = (
            self.term(votes, score_key) for votes in (paired_new, paired_old)
        )
        scope = self.rows(new.key, score_key) & common
        n = round(float(min(paired_new.answered[scope].sum(), paired_old.answered[scope].sum())))
        if np.isnan(after - before):
            return Estimate(None, None, None, n, "no such question was answered in both")
        width = self.possible_range[1] - self.possible_range[0]
        moved = new_influence - old_influence
        return difference_by_cluster(after - before, moved, new.key.cluster, scope, n, width)

    def range_if_missing(self, votes: Votes, score_key: ScoreKey) -> ValueRange | None:
        """The value, with the lowest and highest that the lost answers allow."""
        value = self.term(votes, score_key).value
        if np.isnan(value):
            return None
        fixed = votes.without(LOST).votes
        missing = (votes.votes - fixed).sum(axis=1)
        ratios = [ratio.weighted(votes.asked) for ratio in self.ratios(votes.key, score_key)]
        low, high = (
            sum(
                sign * _extreme(ratio, fixed, missing, votes.key.offered, way * sign)
                for sign, ratio in zip((1, -1), ratios, strict=False)
            )
            for way in (-1, 1)
        )
        return ValueRange(value, low, high)


def _extreme(ratio: Ratio, fixed: FloatArray, missing: FloatArray, open_to: BoolArray, way: int) -> float:
    """The highest ratio (``way`` 1) or the lowest (-1) over all options that missing answers could choose.

    Dinkelbach's method: at the extreme, moving a missing answer to another option changes nothing.
    """
    value = ratio.of(fixed)
    value = 0.0 if np.isnan(value) else value
    for _ in range(ROUNDS):
        gain = np.where(open_to, way * (ratio.above - value * ratio.below), -np.inf)
        filled = fixed.copy()
        filled[np.arange(len(fixed)), gain.argmax(axis=1)] += missing
        updated = ratio.of(filled)
        if np.isnan(updated) or updated == value:
            break
        value = updated
    return value


class ItemsMeasurement(Measurement):
    """A score of one model over items of one condition.

    The context of its ``score_key`` is a category or, where it has an attribute, one of its groups.
    """

    narrowed_by_repeats = False

    def __init__(self, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()) -> None:
        self.model = votes.model
        self.words = words
        self.votes = votes.at(rows_of(votes.key, score_key))
        self._score_key = score_key

    @property
    def score_key(self) -> ScoreKey:
        return self._score_key

    @cached_property
    def rows(self) -> BoolArray:
        """The items that it rests on, (items,)."""
        return np.ones(len(self.votes.key.cases), np.bool_)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """One cell of all its questions."""
        return (self.votes.at(self.rows).cell(f"its {plural(int(self.rows.sum()), 'question')}"),)

    @property
    def matched_words(self) -> frozenset[str]:
        return frozenset[str]().union(*self.votes.at(self.rows).vocabulary.values())

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        return ceil(self.needed_at(alpha, compared=compared) / max(self._fewest, 1))

    @property
    def _fewest(self) -> int:
        """The number of questions of its smallest cell."""
        return int(self.rows.sum())

    @abstractmethod
    def of(self, votes: Votes) -> Self:
        """This score for other votes."""

    def beside(self, old: Votes) -> tuple[Self, Self]:
        """This score and that of other votes, over the items that both have, in the same order."""
        rows = {case.id: row for row, case in enumerate(old.key.cases)}
        common = np.array([case.id in rows for case in self.votes.key.cases], np.bool_)
        shared_votes = self.votes.at(common)
        order = np.array([rows[case.id] for case in shared_votes.key.cases], np.int64)
        arrays = {name: getattr(old, name)[order] for name in ("votes", "mass", "declined", "filtered")}
        old_votes = replace(old, key=shared_votes.key, **arrays)
        return self.of(shared_votes), self.of(old_votes)

    def change_from(self, baseline: BaselineCounts) -> ScoreChange | None:
        """The change since the baseline, over the items that both runs asked."""
        old = baseline.like(self.votes)
        if old is None:
            return None
        current, earlier = self.beside(old)
        return ScoreChange(current, earlier, current.minus(earlier)) if current.votes.key.cases else None

    def paired(self, other: ItemsMeasurement) -> float:
        return 1.0

    def churn(self, other: ItemsMeasurement) -> float:
        """The share of answers that changed; both scores are over the same items."""
        if not self.rows.any():
            return 0.0
        shares, other_shares = (
            score.votes.votes[self.rows] / np.maximum(score.votes.asked[self.rows, None], 1)
            for score in (self, other)
        )
        return float(np.abs(shares - other_shares).sum(axis=1).mean() / 2)

    @cached_property
    def _case_ids(self) -> frozenset[str]:
        return frozenset(case.id for case in self.votes.key.at(self.rows).cases)

    def sharing_cases(self, case: Case) -> int:
        return int(case.checklist == self.votes.checklist and case.id in self._case_ids)

    @property
    def plan_labels(self) -> tuple[str, ...]:
        _, part, group, attribute = self.score_key
        return part, attribute if attribute == ALL else f"{attribute} {group}"

    @property
    def covers(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.votes.checklist, self.score_key.part)})


class ItemsRate(RateScore, ItemsMeasurement):
    """A rate of lost answers; its bounds treat clusters of questions as a random sample."""

    def __init__(self, rate: Rate, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()) -> None:
        super().__init__(votes, score_key, words)
        self.metric: Rate = rate

    def needed_at(self, alpha: float, *, compared: bool = False) -> int:
        return NEEDED

    @cached_property
    def topics(self) -> Sequence[TopicShare]:
        """The share of each question."""
        return self.of_cases(self.votes.key.cases, self.votes.cells, self.votes.key.cluster)

    def of(self, votes: Votes) -> ItemsRate:
        return ItemsRate(self.metric, votes, self.score_key, self.words)


class ItemScore(ItemsMeasurement):
    """A metric of items."""

    def __init__(
        self, metric: ItemMetric, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()
    ) -> None:
        super().__init__(votes, score_key, words)
        self.metric: ItemMetric = metric

    @cached_property
    def rows(self) -> BoolArray:
        return self.metric.rows(self.votes.key, self.score_key)

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.votes, self.score_key)

    def if_missing(self, *, bounded: bool) -> ValueRange | None:
        return self.metric.range_if_missing(self.votes, self.score_key)

    @property
    def possible_range(self) -> tuple[float | None, float | None]:
        return (None, None) if self.metric.signed else (0.0, 1.0)

    @property
    def components(self) -> Sequence[Component]:
        """The score of each question."""
        ratio = self.metric.ratios(self.votes.key, self.score_key)[0]
        components = []
        for row in np.flatnonzero(self.rows & (self.votes.asked > 0)):
            votes, case = self.votes.votes[row], self.votes.key.cases[row]
            below = float(votes @ ratio.below[row])
            if below:
                names = (*(option.means for option in case.item.options),)
                commonest = (
                    names[int(votes[: len(names)].argmax())] if votes[: -len(LOST)].any() else "refused"
                )
                share = float(votes.max() / votes.sum())
                lost = float(votes[-len(LOST) :].sum() / votes.sum())
                value = float(votes @ ratio.above[row]) / below
                cases = CaseGroup.of(case)
                components.append(
                    Component(case.title, value, f"{commonest} {share:.0%}", cases, commonest, lost)
                )
        return components

    def of(self, votes: Votes) -> ItemScore:
        return ItemScore(self.metric, votes, self.score_key, self.words)

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        """At least so many that a model which answers everything right keeps an upper limit, if any do."""
        repeats = super().enough(alpha, limit=limit, compared=compared)
        if limit is None or compared:
            return repeats
        for more in range(repeats, MOST_REPEATS + 1):
            value, upper = self._if_right(more, alpha)
            if value is None or upper is None or value > limit:
                return repeats  # such a limit is not for right answers
            if upper <= limit:
                return more
        return repeats

    def _if_right(self, repeats: int, alpha: float) -> tuple[float | None, float | None]:
        """The value and the upper bound if everything is answered right, so many times."""
        key = self.votes.key
        answers = key.right.astype(np.float64) * repeats
        votes = Votes.of(self.model, key, answers)
        estimate = self.metric.estimate(votes, self.score_key)
        return estimate.plugin, estimate.upper(alpha)

    def minus(self, other: ItemScore) -> Estimate:
        score, other_score = self.beside(other.votes)
        return self.metric.difference(score.votes, other_score.votes, self.score_key)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The error if all questions of a cluster are answered alike; repeats do not make it smaller."""
        clusters = len(np.unique(self.votes.key.cluster[self.rows]))
        return error_of_mean(threshold, clusters, self.metric.declared_range) if clusters else None


def rows_of(key: AnswerKey, score_key: ScoreKey) -> BoolArray:
    """The items of the condition and the category of a score."""
    rows = key.part == score_key.part
    if score_key.attribute == ALL and score_key.context is not None:
        rows &= key.category == score_key.context
    return np.asarray(rows)
