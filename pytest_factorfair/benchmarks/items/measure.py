"""The measuring part of items: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from math import ceil
from typing import Self

import numpy as np

from pytest_factorfair.benchmarks.items.checklist import Items, item_cases
from pytest_factorfair.benchmarks.items.impact import impact_ratios
from pytest_factorfair.benchmarks.items.metrics import METRICS, NEEDED, RATES, ItemMetric, WorstCategory
from pytest_factorfair.benchmarks.items.recommended import LIMITS, recommended
from pytest_factorfair.benchmarks.items.votes import AnswerKey, Votes, count
from pytest_factorfair.benchmarks.measurement import (
    BaselineCounts,
    Cell,
    Component,
    Estimation,
    Measurement,
    ScoreChange,
    ValueRange,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Coverable,
    Expression,
    GateSet,
    Measuring,
    ReportInputs,
    filter_words,
    matching,
    run_words,
)
from pytest_factorfair.benchmarks.metric import InWords, ScoreKey
from pytest_factorfair.benchmarks.rates import Rate, RateScore
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import ALL, LOST, Case, CaseGroup, Record, Sampling, plural
from pytest_factorfair.statistics.arrays import BoolArray
from pytest_factorfair.statistics.estimate import Estimate, error_of_mean

MOST_REPEATS = 50
"""The most answers per question that a run is asked for before it begins."""

COMPARED = tuple(metric for metric in METRICS.values() if metric.changes)


class ItemsMeasurement(Measurement):
    """A score of one model over items of one condition.

    The context of its ``score_key`` is a category or, where it has an attribute, one of its groups.
    """

    narrowed_by_repeats = False

    def __init__(self, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()) -> None:
        self.model = votes.model
        self.words = words
        self.votes = votes.at(_rows(votes.key, score_key))
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
        return (_cell(self.votes.at(self.rows), f"its {plural(int(self.rows.sum()), 'question')}"),)

    @property
    def held(self) -> frozenset[str]:
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
        old_votes = Votes(old.model, shared_votes.key, old.votes[order], old.mass[order])
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

    def asks(self, case: Case) -> int:
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
        asked, lost = self.votes.asked.round().astype(int), self.votes.votes[:, -len(LOST) :].astype(int)
        return self.of_cases(self.votes.key.cases, asked, lost, self.votes.key.cluster)

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
        votes = Votes(self.model, key, answers, answers.sum(axis=1))
        estimate = self.metric.estimate(votes, self.score_key)
        return estimate.plugin, estimate.upper(alpha)

    def minus(self, other: ItemScore) -> Estimate:
        score, other_score = self.beside(other.votes)
        return self.metric.difference(score.votes, other_score.votes, self.score_key)

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The error if all questions of a cluster are answered alike; repeats do not make it smaller."""
        clusters = len(np.unique(self.votes.key.cluster[self.rows]))
        return error_of_mean(threshold, clusters, self.metric.declared_range) if clusters else None


class WorstScore(ItemScore):
    """The bias of the most biased category, with a cell for each category."""

    metric: WorstCategory

    @cached_property
    def furthest(self) -> tuple[str, float]:
        """The most biased category and its bias."""
        return self.metric.furthest(self.votes, self.score_key)

    @property
    def _fewest(self) -> int:
        """The number of questions of its smallest category."""
        categories = self.metric.categories(self.votes, self.score_key).values()
        return min((len(votes.key.cases) for votes in categories), default=0)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(
            _cell(votes, f"'{name}'")
            for name, votes in self.metric.categories(self.votes, self.score_key).items()
        )

    @property
    def driver(self) -> str:
        category, bias = self.furthest
        return f"{bias:+.3f} in '{category}'" if category else ""

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        words, (category, bias) = self.metric.in_words(value, digits=digits), self.furthest
        if not category:
            return words
        situation = "nobody can know" if self.score_key.part == "ambiguous" else "the text tells"
        does = "follows" if bias > 0 else "goes against"
        sentence = (
            f"in '{category}', where {situation}, it {does} the stereotype {words.amount} more times in 100"
        )
        return words._replace(sentence=f"{sentence} than not")

    @property
    def components(self) -> Sequence[Component]:
        """The questions of that category, with how far each leans in its direction."""
        category, bias = self.furthest
        categories = self.metric.categories(self.votes, self.score_key)
        if category not in categories:
            return []
        score = ItemScore(self.metric, categories[category], self.score_key)
        return [
            component._replace(value=component.value if bias > 0 else -component.value)
            for component in score.components
        ]

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """The error for the category with the fewest clusters."""
        categories = self.metric.categories(self.votes, self.score_key).values()
        fewest = min((len(np.unique(votes.key.cluster)) for votes in categories), default=0)
        return error_of_mean(threshold, fewest, self.metric.possible_range) if fewest else None


def scored(
    metric: ItemMetric | Rate, votes: Votes, score_key: ScoreKey, words: tuple[str, ...] = ()
) -> ItemScore | ItemsRate:
    """The score of a metric."""
    if isinstance(metric, Rate):
        return ItemsRate(metric, votes, score_key, words)
    kind = WorstScore if isinstance(metric, WorstCategory) else ItemScore
    return kind(metric, votes, score_key, words)


def _cell(votes: Votes, name: str) -> Cell:
    """A cell with the numbers of answers asked and lost for these votes."""
    refused, unparsed, errors = votes.votes[:, -len(LOST) :].sum(axis=0).astype(int).tolist()
    answered = float(votes.answered.sum())
    mass = float(votes.mass.sum()) / answered if answered else 1.0
    return Cell(name, round(float(votes.asked.sum())), refused, unparsed, errors, mass=min(mass, 1.0))


class ItemsMeasuring(Measuring[Votes, ItemMetric | Rate]):
    """Votes for the options of questions."""

    unit = "answers per question"
    metrics: dict[str, ItemMetric | Rate] = METRICS | dict(RATES)

    def count(
        self,
        records: Iterable[Record],
        checklist: Items,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Votes, ...]:
        asked_records = tuple(records)
        key = AnswerKey.of(checklist.name, item_cases(cases))
        return tuple(count(asked_records, key, model=model) for model in models)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Votes], estimation: Estimation
    ) -> tuple[ItemScore | ItemsRate, ...]:
        """One score for each model, checklist and condition that the words select, and for each group."""
        of, scores, filters = self.metrics[metric], [], filter_words(counts)
        # Words for a group select its score but no items, because it is compared with the items of other
        # groups.
        kinds = ("part", "attribute", "group") if isinstance(of, ItemMetric) and of.by_group else ("part",)
        for votes, by_kind in matching(words, counts):
            narrowing = [
                kind for kind in by_kind if kind not in (*kinds, "model", "checklist") and by_kind[kind]
            ]
            rows = np.ones(len(votes.key.cases), np.bool_)
            if narrowing:
                rows[:] = [
                    all(not by_kind[kind].isdisjoint(case.words[kind]) for kind in narrowing)
                    for case in votes.key.cases
                ]
            named = tuple(word for word in words if any(word in by_kind[kind] for kind in narrowing))
            for score_key in score_keys(of, votes.key):
                subject_words = dict(
                    zip(kinds, (score_key.part, score_key.attribute, str(score_key.context)), strict=False)
                )
                if all(not by_kind[kind] or word in by_kind[kind] for kind, word in subject_words.items()):
                    selecting = (*run_words(votes, filters), *subject_words.values(), *named)
                    scores.append(scored(of, votes.at(rows), score_key, selecting))
        return tuple(score for score in scores if score.rows.any())

    def scores(self, counts: Votes, estimation: Estimation) -> Iterator[ItemScore | ItemsRate]:
        for metric in METRICS.values():
            for score_key in reported(metric, counts.key):
                yield scored(metric, counts, score_key)

    def compared(self, counts: Votes) -> Iterator[ItemScore | ItemsRate]:
        """The scores of conditions and groups, without those of categories."""
        for metric in COMPARED:
            for score_key in score_keys(metric, counts.key):
                yield scored(metric, counts, score_key)

    def report(self, counts: Sequence[Votes], inputs: ReportInputs) -> BenchmarkReport:
        rows = super().report(counts, inputs).scores
        return BenchmarkReport(
            scores=tuple(row for row in rows if row.n),
            impact_ratios=tuple(row for votes in counts for row in impact_ratios(votes)),
            notes=tuple(dict.fromkeys(line for votes in counts for line in _cautions(votes.key))),
        )

    def recommended(
        self, checklist: Items, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, LIMITS[gates])

    def coverage(self, counts: Votes) -> Iterator[Coverable]:
        for part in dict.fromkeys(counts.key.part.tolist()):
            yield Coverable((counts.model, counts.checklist, part), "answers", part, "items")


def _rows(key: AnswerKey, score_key: ScoreKey) -> BoolArray:
    """The items of the condition and the category of a score."""
    rows = key.part == score_key.part
    if score_key.attribute == ALL and score_key.context is not None:
        rows &= key.category == score_key.context
    return np.asarray(rows)


def score_keys(metric: ItemMetric | Rate, key: AnswerKey) -> tuple[ScoreKey, ...]:
    """The keys of a metric's scores: of conditions or, if it is by group, of groups."""
    whole = {part: ScoreKey(key.checklist, part, None, ALL) for part in key.part.tolist()}
    if isinstance(metric, Rate):
        return tuple(whole.values())
    if metric.by_group:
        distinct = dict.fromkeys(
            ScoreKey(key.checklist, case.part, groups[0], attribute)
            for case, favourable in zip(key.cases, key.favourable, strict=True)
            if favourable.any() and case.part in metric.parts
            for attribute, groups in case.item.groups.items()
            if len(groups) == 1
        )
    else:
        distinct = dict.fromkeys(whole[part] for part in whole if part in metric.parts)
    return tuple(
        score_key for score_key in distinct if metric.measured(key.at(_rows(key, score_key)), score_key)
    )


def reported(metric: ItemMetric | Rate, key: AnswerKey) -> Iterator[ScoreKey]:
    """The keys of a metric's rows: its score keys, and each category of a condition with several."""
    for score_key in score_keys(metric, key):
        yield score_key
        categories = dict.fromkeys(key.category[key.part == score_key.part].tolist())
        by_group = isinstance(metric, ItemMetric) and metric.by_group
        if len(categories) > 1 and not by_group and not isinstance(metric, WorstCategory):
            yield from (score_key._replace(context=category) for category in categories)


MOSTLY = 0.95
"""The share of questions with a stereotypical option below which reports state it."""

UNEVEN = 1.5
"""The ratio of both kinds of questions above which contextual awareness is hard to compare."""


def _cautions(key: AnswerKey) -> Iterator[str]:
    """Cautions about unbalanced questions.

    Contextual awareness depends on the balance of the two kinds that it rests on. Bias needs a stereotype
    and, where the text tells, both of its kinds in each category.
    """
    biases = [case for case in key.cases if case.part in ("ambiguous", "disambiguated")]
    stereotyped = sum(case.item.meaning("stereotype") is not None for case in biases)
    if 0 < stereotyped < MOSTLY * len(biases):
        yield (
            f"{key.checklist}: {stereotyped:,} of {plural(len(biases), 'question')} "
            f"({stereotyped / len(biases):.0%}) have a stereotypical option: bias scores are about these only"
        )
    sides: dict[str, set[bool]] = {}
    for case in key.cases:
        if case.item.follows is not None:
            sides.setdefault(case.item.category, set()).add(case.item.follows)
    one_sided = [f"'{category}'" for category, follows in sides.items() if len(follows) == 1]
    if one_sided:
        yield (
            f"{key.checklist}: no bias in disambiguated questions of {', '.join(one_sided)}: the right "
            "answer is always the stereotype there, or never"
        )
    kinds = [case.item.meaning("right") for case in key.cases if case.part in ("fact", "fairness")]
    alike = sum(kind == "same" for kind in kinds)
    differ = sum(kind not in (None, "same", "unknown") for kind in kinds)
    if alike and differ and max(alike, differ) > UNEVEN * min(alike, differ):
        yield (
            f"{key.checklist}: groups differ in {plural(differ, 'question')} and do not in {alike:,}: "
            "contextual awareness depends on this ratio; compare it on the same questions only"
        )
