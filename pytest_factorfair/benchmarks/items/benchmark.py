"""Items as a benchmark: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.items import reporting
from pytest_factorfair.benchmarks.items.checklist import (
    ItemCase,
    Items,
    cases,
    item_cases,
    queries,
    situation,
)
from pytest_factorfair.benchmarks.items.impact import impact_ratios
from pytest_factorfair.benchmarks.items.metrics import (
    METRICS,
    NEEDED,
    RATES,
    SCORES,
    ItemMetric,
    WorstCategory,
)
from pytest_factorfair.benchmarks.items.recommended import recommended
from pytest_factorfair.benchmarks.items.scan import SCAN, ItemQuestions, scans_of
from pytest_factorfair.benchmarks.items.scan_score import ItemScan
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
    ReportInputs,
    filter_words,
    matching,
    run_words,
)
from pytest_factorfair.benchmarks.metric import InWords, ScoreKey
from pytest_factorfair.benchmarks.rates import Rate, RateScore
from pytest_factorfair.benchmarks.scan import ScanMetric
from pytest_factorfair.benchmarks.share import TopicShare
from pytest_factorfair.domain import ALL, LOST, Case, CaseGroup, Record, Sampling, Summary, plural
from pytest_factorfair.drawing.entries import Entry, Omission
from pytest_factorfair.drawing.figures import Figure
from pytest_factorfair.statistics.arrays import BoolArray
from pytest_factorfair.statistics.estimate import Estimate, error_of_mean

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.items.layout import Checklist
    from pytest_factorfair.checklist.loading import Files

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
        return (self.votes.at(self.rows).cell(f"its {plural(int(self.rows.sum()), 'question')}"),)

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
            votes.cell(f"'{name}'")
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


class ItemsBenchmark(Benchmark[Items, ItemCase, Votes]):
    """Questions with options of their own, for which a model votes."""

    name = "items"
    checklist = Items
    counts_probabilities = True
    unit = "answers per question"
    metrics: Mapping[str, ItemMetric | Rate | ScanMetric] = METRICS | dict(RATES) | {SCAN.name: SCAN}
    printed = SCORES
    further = RATES
    assets = "pytest_factorfair.benchmarks.items"

    cases = staticmethod(cases)
    queries = staticmethod(queries)
    situation = staticmethod(situation)
    size = staticmethod(reporting.size)
    tables = staticmethod(reporting.tables)
    supplements = staticmethod(reporting.supplements)
    on_card = staticmethod(reporting.on_card)
    over_time = staticmethod(reporting.of_items)
    limits = staticmethod(reporting.limits)

    def files(self) -> Files[Checklist, Items]:
        from pytest_factorfair.benchmarks.items.layout import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.items.importers import IMPORTERS

        return IMPORTERS

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
        questions = ItemQuestions(checklist, key.cases, sampling)
        return tuple(count(asked_records, key, model=model, questions=questions) for model in models)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Votes], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        """One score for each model, checklist and condition that the words select, and for each group."""
        of, filters = self.metrics[metric], filter_words(counts)
        if isinstance(of, ScanMetric):
            return tuple(self._selected_scans(words, counts))
        scores: list[ItemScore | ItemsRate] = []
        # Words for a group select its score but no items, because it is compared with the items of other
        # groups.
        kinds = ("part", "attribute", "group") if isinstance(of, ItemMetric) and of.by_group else ("part",)
        for votes, by_kind in matching(words, counts):
            if by_kind["scan"] or by_kind["allowance"]:
                continue
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

    def _selected_scans(self, words: Sequence[str], counts: Sequence[Votes]) -> Iterator[ItemScan]:
        """The scans that the words select; none if they narrow the questions."""
        filters = filter_words(counts)
        for votes, by_kind in matching(words, counts):
            if votes.answers is None or any(by_kind[kind] for kind in votes.key.vocabulary):
                continue
            for word in votes.answers.questions.words:
                if not by_kind["scan"] or word in by_kind["scan"]:
                    selecting = (*run_words(votes, filters), word, *by_kind["allowance"])
                    yield ItemScan(word, votes, votes.answers, selecting)

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
            scans=tuple(scan.outcome_row(inputs.baseline) for scan in self.scans(counts, inputs)),
            impact_ratios=tuple(row for votes in counts for row in impact_ratios(votes)),
            notes=tuple(dict.fromkeys(line for votes in counts for line in _cautions(votes.key))),
        )

    def recommended(
        self, checklist: Items, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, sampling, gates)

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """None: there are no further looks."""
        return iter(())

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
        return reporting.figures(entries)

    def page(self, summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
        return reporting.page(summary)

    def label(self, metric: str, part: str, context: str | None) -> str:
        return f"{self.heading(metric)}, {part}{f', {context}' if context else ''}"

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
    """Cautions about unbalanced questions, and about questions without groups.

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
    about_people = [case for case in key.cases if scans_of([case])]
    grouped = sum(bool(case.item.groups) for case in about_people)
    if grouped < len(about_people):
        yield (
            f"{key.checklist}: {len(about_people) - grouped:,} of {plural(len(about_people), 'question')} "
            "about people name no groups: the scan tests only stereotypes, letters and common texts there"
        )
    kinds = [case.item.meaning("right") for case in key.cases if case.part in ("fact", "fairness")]
    alike = sum(kind == "same" for kind in kinds)
    differ = sum(kind not in (None, "same", "unknown") for kind in kinds)
    if alike and differ and max(alike, differ) > UNEVEN * min(alike, differ):
        yield (
            f"{key.checklist}: groups differ in {plural(differ, 'question')} and do not in {alike:,}: "
            "contextual awareness depends on this ratio; compare it on the same questions only"
        )


BENCHMARK = ItemsBenchmark()
