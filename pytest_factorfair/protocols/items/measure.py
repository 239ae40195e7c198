"""Items measured: which scores the words of a gate select, and what reports say of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import ceil, sqrt

import numpy as np

from pytest_factorfair.domain import ALL, LOST, Case, Record, Sampling, plural
from pytest_factorfair.protocols.items.checklist import Items, item_cases
from pytest_factorfair.protocols.items.metrics import METRICS, RATES, ItemMetric, WorstCategory
from pytest_factorfair.protocols.items.recommended import LIMITS, recommended
from pytest_factorfair.protocols.items.votes import AnswerKey, Votes, count
from pytest_factorfair.protocols.measurement import (
    Cell,
    Changed,
    Component,
    Estimation,
    Extremes,
    Former,
    Measurement,
)
from pytest_factorfair.protocols.measuring import (
    Contender,
    Contest,
    Expression,
    Gap,
    GateSet,
    Measuring,
    Moves,
    Reported,
    ReportInputs,
    shared,
)
from pytest_factorfair.protocols.metric import About, InWords
from pytest_factorfair.statistics.arrays import BoolArray
from pytest_factorfair.statistics.estimate import Estimate

COMPARED = tuple(metric for metric in METRICS.values() if metric.changes)


class ItemScore(Measurement):
    """A metric of one model over items of one condition.

    The context of its ``subject`` is a category or, where the subject has an attribute, one of its groups.
    """

    def __init__(self, metric: ItemMetric, votes: Votes, subject: About, words: tuple[str, ...] = ()) -> None:
        self.metric: ItemMetric = metric
        self.model = votes.model
        self.words = words
        self.votes = votes.at(_rows(votes.key, subject))
        self.subject = subject

    @cached_property
    def rows(self) -> BoolArray:
        """The items that it rests on, (items,)."""
        return self.metric.rows(self.votes.key, self.subject)

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.votes, self.subject)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All its questions."""
        return (_cell(self.votes.at(self.rows), f"its {plural(int(self.rows.sum()), 'question')}"),)

    @property
    def held(self) -> frozenset[str]:
        return frozenset[str]().union(*self.votes.at(self.rows).vocabulary.values())

    def enough(self, alpha: float, *, limit: float | None = None, compared: bool = False) -> int:
        needed = self.needed_compared(alpha) if compared else self.needed_at(alpha)
        return ceil(needed / max(int(self.rows.sum()), 1))

    def if_missing(self, *, bounded: bool) -> Extremes | None:
        return self.metric.extremes(self.votes, self.subject)

    @property
    def reach(self) -> tuple[float | None, float | None]:
        return (None, None) if self.metric.signed else (0.0, 1.0)

    @property
    def components(self) -> Sequence[Component]:
        """The score of each question."""
        first = self.metric.ratios(self.votes.key, self.subject)[0]
        found = []
        for place in np.flatnonzero(self.rows & (self.votes.asked > 0)):
            votes, case = self.votes.votes[place], self.votes.key.cases[place]
            below = float(votes @ first.below[place])
            if below:
                names = (*(one.means for one in case.item.options),)
                most = names[int(votes[: len(names)].argmax())] if votes[: -len(LOST)].any() else "refused"
                share = float(votes.max() / votes.sum())
                lost = float(votes[-len(LOST) :].sum() / votes.sum())
                value = float(votes @ first.above[place]) / below
                found.append(Component(case.title, value, f"{most} {share:.0%}", case.id, most, lost))
        return found

    def beside(self, old: Votes) -> tuple[ItemScore, ItemScore]:
        """This score and that of other votes, over the items that both have, in the same order."""
        places = {case.id: place for place, case in enumerate(old.key.cases)}
        both = np.array([case.id in places for case in self.votes.key.cases], np.bool_)
        mine = self.votes.at(both)
        order = np.array([places[case.id] for case in mine.key.cases], np.int64)
        its = Votes(old.model, mine.key, old.votes[order], old.mass[order])
        first, second = (ItemScore(self.metric, one, self.subject, self.words) for one in (mine, its))
        return first, second

    def less(self, other: ItemScore) -> Estimate:
        """Its difference from a score of the same items."""
        return self.metric.difference(self.votes, other.votes, self.subject)

    def change_from(self, former: Former) -> Measurement | None:
        old = former.like(self.votes)
        if old is None:
            return None
        mine, its = self.beside(old)
        return Changed(self, its, mine.less(its)) if mine.votes.key.cases else None

    def asks(self, case: Case) -> int:
        asked = (one for one, holds in zip(self.votes.key.cases, self.rows, strict=True) if holds)
        return int(case.checklist == self.votes.checklist and any(one.id == case.id for one in asked))

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """As if all questions of a cluster were answered alike: no number of repeats makes it smaller."""
        clusters = len(np.unique(self.votes.key.cluster[self.rows]))
        if not clusters:
            return None
        variance = 1 - threshold**2 if self.metric.signed else threshold * (1 - threshold)
        return sqrt(max(variance, 0.0) / clusters)

    @property
    def place(self) -> tuple[str, ...]:
        _, part, group, attribute = self.subject
        return part, attribute if attribute == ALL else f"{attribute} {group}"

    @property
    def about(self) -> frozenset[Hashable]:
        return frozenset({(self.model, self.votes.checklist, self.subject.part)})


class WorstScore(ItemScore):
    """The bias of the most biased category: explained by that category, with a cell for each of them."""

    metric: WorstCategory

    @cached_property
    def furthest(self) -> tuple[str, float]:
        """The most biased category and its bias."""
        return self.metric.furthest(self.votes, self.subject)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(
            _cell(votes, f"'{name}'")
            for name, votes in self.metric.categories(self.votes, self.subject).items()
        )

    @property
    def driver(self) -> str:
        category, bias = self.furthest
        return f"{bias:+.3f} in '{category}'" if category else ""

    def in_words(self, value: float, *, digits: int = 0) -> InWords:
        words, (category, bias) = self.metric.in_words(value, digits=digits), self.furthest
        if not category:
            return words
        told = "nobody can know" if self.subject.part == "ambiguous" else "the text tells"
        does = "follows" if bias > 0 else "goes against"
        sentence = f"in '{category}', where {told}, it {does} the stereotype {words.amount} more times in 100"
        return words._replace(sentence=f"{sentence} than not")

    @property
    def components(self) -> Sequence[Component]:
        """The questions of that category, as far as each leans like it."""
        category, bias = self.furthest
        categories = self.metric.categories(self.votes, self.subject)
        if category not in categories:
            return []
        score = ItemScore(self.metric, categories[category], self.subject)
        return [one._replace(value=one.value if bias > 0 else -one.value) for one in score.components]

    def error_at(self, threshold: float, n: int, *, regression: bool) -> float | None:
        """That of the category with the fewest clusters."""
        categories = self.metric.categories(self.votes, self.subject).values()
        fewest = min((len(np.unique(votes.key.cluster)) for votes in categories), default=0)
        return sqrt(max(1 - threshold**2, 0.0) / fewest) if fewest else None


def scored(metric: ItemMetric, votes: Votes, subject: About, words: tuple[str, ...] = ()) -> ItemScore:
    """The score of a metric."""
    kind = WorstScore if isinstance(metric, WorstCategory) else ItemScore
    return kind(metric, votes, subject, words)


def _cell(votes: Votes, name: str) -> Cell:
    """What was asked and lost of some items."""
    refused, unparsed, errors = votes.votes[:, -len(LOST) :].sum(axis=0).astype(int).tolist()
    answered = float(votes.answered.sum())
    mass = float(votes.mass.sum()) / answered if answered else 1.0
    return Cell(name, round(float(votes.asked.sum())), refused, unparsed, errors, mass=min(mass, 1.0))


class ItemsMeasuring(Measuring[Votes, ItemMetric]):
    """Votes for the options of questions."""

    unit = "answers per question"
    metrics = METRICS | RATES

    def recount(
        self, records: Sequence[Record], checklist: Items, cases: Sequence[Case], *, models: Sequence[str]
    ) -> tuple[Votes, ...]:
        key = AnswerKey.of(checklist.name, item_cases(cases))
        return tuple(count(records, key, model=model) for model in models)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Votes], estimation: Estimation
    ) -> tuple[ItemScore, ...]:
        """One score for each model, checklist and condition that the words select, and for each group."""
        of, scores, filters = self.metrics[metric], [], self.filters(counts)
        # Words for a group select its score but no items, because it is compared with the items of other
        # groups.
        own = ("part", "attribute", "group") if of.by_group else ("part",)
        for one, wanted in self.matching(words, counts):
            narrowing = [kind for kind in wanted if kind not in (*own, "model", "checklist") and wanted[kind]]
            rows = [
                all(not wanted[kind].isdisjoint(case.words[kind]) for kind in narrowing)
                for case in one.key.cases
            ]
            named = tuple(word for word in words if any(word in wanted[kind] for kind in narrowing))
            for subject in subjects(of, one.key):
                place = dict(zip(own, (subject.part, subject.attribute, str(subject.context)), strict=False))
                if all(not wanted[kind] or word in wanted[kind] for kind, word in place.items()):
                    selecting = (*self.run_words(one, filters), *place.values(), *named)
                    scores.append(scored(of, one.at(np.array(rows, np.bool_)), subject, selecting))
        return tuple(score for score in scores if score.rows.any())

    def report(self, counts: Sequence[Votes], inputs: ReportInputs) -> Reported:
        rows = [
            metric.score(one.model, subject, score.estimate, score.reach)
            for one in counts
            for metric in METRICS.values()
            for subject in reported(metric, one.key)
            for score in [scored(metric, one, subject)]
        ]
        return Reported(
            scores=tuple(row for row in rows if row.n or row.metric == "refusals"),
            notes=tuple(dict.fromkeys(line for one in counts for line in _cautions(one.key))),
        )

    def changes(self, counts: Sequence[Votes], former: Former) -> Iterator[Moves]:
        for one in counts:
            old = former.like(one)
            if old is None:
                continue
            moved = []
            for metric in COMPARED:
                for subject in subjects(metric, one.key):
                    mine, its = ItemScore(metric, one, subject).beside(old)
                    if mine.votes.key.cases:
                        churn = metric.churn(mine.votes, its.votes, subject)
                        moved.append(Changed(mine, its, mine.less(its)).row(subject, churn=churn))
            yield Moves(moved)

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        """Models that were asked the same items."""
        for votes in shared(contenders, Votes):
            for metric in COMPARED:
                for subject in subjects(metric, next(iter(votes.values())).key):
                    scores = {name: ItemScore(metric, one, subject) for name, one in votes.items()}
                    gaps = {}
                    for one, other in combinations(scores, 2):
                        mine, its = scores[one].beside(scores[other].votes)
                        gaps[one, other] = Gap(mine.less(its), 1.0)
                    if any(one.estimate.plugin is not None for one in scores.values()):
                        yield Contest.of(subject, metric, scores, gaps)

    def changeable(self, metric: str) -> bool:
        return self.metrics[metric].changes

    def recommended(
        self, checklist: Items, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, LIMITS[gates])

    def subjects(self, counts: Votes) -> Iterator[tuple[Hashable, str, str]]:
        for part in dict.fromkeys(counts.key.part):
            yield (counts.model, counts.checklist, part), part, "items"


def _rows(key: AnswerKey, subject: About) -> BoolArray:
    """The items of a subject's condition and category."""
    category = subject.context if subject.attribute == ALL else None
    return np.array(
        [case.part == subject.part and category in (None, case.item.category) for case in key.cases],
        np.bool_,
    )


def subjects(metric: ItemMetric, key: AnswerKey) -> tuple[About, ...]:
    """What a metric has scores for: conditions, or groups if it is by group."""
    found: dict[About, None] = {}
    for case in key.cases:
        if case.part in metric.parts and not metric.by_group:
            found[About(key.checklist, case.part, None, ALL)] = None
        elif case.part in metric.parts and any(one.favourable for one in case.item.options):
            for attribute, groups in case.item.groups.items():
                if len(groups) == 1:
                    found[About(key.checklist, case.part, groups[0], attribute)] = None
    return tuple(one for one in found if metric.measured(key.at(_rows(key, one)), one))


def reported(metric: ItemMetric, key: AnswerKey) -> Iterator[About]:
    """The same, and each category of a condition that has several."""
    for subject in subjects(metric, key):
        yield subject
        found = dict.fromkeys(case.item.category for case in key.cases if case.part == subject.part)
        if len(found) > 1 and not metric.by_group and not isinstance(metric, WorstCategory):
            yield from (subject._replace(context=one) for one in found)


UNEVEN = 1.5
"""The ratio of the two kinds of questions above which contextual awareness is hard to compare."""


def _cautions(key: AnswerKey) -> Iterator[str]:
    """A caution where the two kinds of questions that contextual awareness rests on are far from balanced."""
    kinds = [case.item.meaning("right") for case in key.cases if case.part in ("fact", "fairness")]
    alike = sum(one == "same" for one in kinds)
    differ = sum(one not in (None, "same", "unknown") for one in kinds)
    if alike and differ and max(alike, differ) > UNEVEN * min(alike, differ):
        yield (
            f"{key.checklist}: groups differ in {plural(differ, 'question')} and do not in {alike:,}: "
            "contextual awareness depends on this ratio; compare it on the same questions only"
        )


MEASURING = ItemsMeasuring()
