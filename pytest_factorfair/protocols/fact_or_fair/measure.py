"""FACT-OR-FAIR measured: the scores that words select, what each rests on, and what reports say of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, product
from math import hypot
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Case, Change, Record, Sampling, Score, TopicCounts
from pytest_factorfair.errors import nearest
from pytest_factorfair.protocols.fact_or_fair import change
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    FactOrFair,
    TopicCase,
    fact_or_fair,
    topic_cases,
)
from pytest_factorfair.protocols.fact_or_fair.influence import influence, influence_ends, influence_estimate
from pytest_factorfair.protocols.fact_or_fair.metrics import (
    METRICS,
    Scored,
    TallyMetric,
    compared,
    score,
    tally_metric,
)
from pytest_factorfair.protocols.fact_or_fair.power import Design, detected, of_influence
from pytest_factorfair.protocols.fact_or_fair.recommended import recommended
from pytest_factorfair.protocols.fact_or_fair.report import cautions, corrections, headline, people_seen
from pytest_factorfair.protocols.fact_or_fair.tabulate import tabulate
from pytest_factorfair.protocols.fact_or_fair.tally import Tally
from pytest_factorfair.protocols.measurement import (
    CORRECTED,
    UNMET,
    Cell,
    Contender,
    Contest,
    Ends,
    Entrant,
    Estimation,
    Expression,
    Former,
    Gap,
    Measurement,
    Measuring,
    Metric,
    Moved,
    Moves,
    Place,
    Reported,
    Told,
)
from pytest_factorfair.statistics.arrays import IntArray
from pytest_factorfair.statistics.bounds import BEYOND, quantile
from pytest_factorfair.statistics.estimate import Estimate
from pytest_factorfair.statistics.holm import ALPHA

INFLUENCE = "influence"


Selected: TypeAlias = tuple[Tally, tuple[str, ...]]


class OfTally(Measurement):
    """A metric of one tally."""

    def __init__(
        self, metric: TallyMetric, tally: Tally, words: tuple[str, ...], estimation: Estimation = CORRECTED
    ) -> None:
        self.metric: TallyMetric = metric
        self.tally = tally
        self.model = tally.model
        self.words = words
        self._estimation = estimation

    @cached_property
    def estimate(self) -> Estimate:
        return self.metric.estimate(self.tally, self._estimation)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(cells(self.tally))

    @property
    def needed(self) -> int:
        return self.metric.needed

    def if_missing(self, *, bounded: bool) -> Ends | None:
        del bounded
        value = self.estimate.plugin
        return None if value is None else Ends(value, *self.metric.ends(self.tally))

    @property
    def reach(self) -> tuple[float | None, float | None]:
        return self.metric.reach(self.tally)

    @property
    def places(self) -> frozenset[Place]:
        return frozenset(places([self.tally]))

    def undecided(self, threshold: float, alpha: float) -> frozenset[Place]:
        """Of the largest of several topics only those that may be it."""
        among = self.estimate.among
        if among is None or not among.parts:
            return self.places
        parts = among.undecided(threshold, alpha)
        return frozenset(place for place in self.places if place.topic[-1] in parts)

    def change_from(self, former: Former) -> Measurement | None:
        old = match(self.tally, former)
        if old is None or old.statistics != self.tally.statistics:
            return None
        joint = change.pairs(self.tally, old, former.records, former.former)
        return Changed(self, old, self.metric.change(self.tally, old, joint))

    def asks(self, case: Case) -> int:
        return asks(self.tally, case)

    def detectable(self, threshold: float, *, regression: bool, n: int, bound: float) -> float | None:
        design = Design(self.tally.k, len(self.tally.statistics), n)
        return detected(
            self.metric.error(threshold, design, regression=regression), bound, regression=regression
        )

    @property
    def place(self) -> tuple[str, ...]:
        return self.tally.context or self.tally.part, self.tally.attribute

    @property
    def about(self) -> frozenset[Hashable]:
        return frozenset({subject(self.tally)})


class Changed(Measurement):
    """The change of a tally's score since a former run."""

    def __init__(self, new: OfTally, old: Tally, estimate: Estimate) -> None:
        self.metric = new.metric
        self.words = new.words
        self._new = new
        self.model = new.model
        self._old = old
        self._estimate = estimate

    @property
    def estimate(self) -> Estimate:
        return self._estimate

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return (*self._new.cells, *cells(self._old, "the baseline's "))

    @property
    def needed(self) -> int:
        return self.metric.needed

    @property
    def places(self) -> frozenset[Place]:
        return frozenset(places([self._new.tally, self._old]))

    def change_from(self, former: Former) -> Measurement | None:
        del former
        return None

    @property
    def about(self) -> frozenset[Hashable]:
        return self._new.about


class Influence(Measurement):
    """The influence of several contexts on one attribute; ``plain`` is the one that precedes nothing."""

    def __init__(
        self, named: Sequence[Tally], plain: Sequence[Tally], words: tuple[str, ...], estimation: Estimation
    ) -> None:
        self.metric = METRICS[INFLUENCE]
        self.words = words
        self._named = tuple(named)
        self.model = named[0].model
        self._tallies = (*named, *plain)
        self._estimation = estimation

    @cached_property
    def estimate(self) -> Estimate:
        return influence_estimate(self._tallies, estimator=self._estimation.estimator)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        several = len({tally.context for tally in self._tallies}) > 1
        return tuple(
            cell for tally in self._tallies for cell in cells(tally, f"{tally.context} " if several else "")
        )

    @property
    def needed(self) -> int:
        return self.metric.needed

    def if_missing(self, *, bounded: bool) -> Ends | None:
        value = self.estimate.corrected if bounded else self.estimate.plugin
        ends = influence_ends(self._tallies, estimator="corrected" if bounded else "plugin")
        return None if value is None else Ends(value, *ends)

    @property
    def places(self) -> frozenset[Place]:
        return frozenset(places(self._tallies))

    def change_from(self, former: Former) -> Measurement | None:
        del former
        return None

    def asks(self, case: Case) -> int:
        return asks(self._named[0], case)

    def detectable(self, threshold: float, *, regression: bool, n: int, bound: float) -> float | None:
        first = self._named[0]
        contexts = [(str(tally.context), tally.background) for tally in self._tallies]
        design = Design(first.k, len(first.statistics), n, contexts)
        return detected(of_influence(threshold, design), bound, regression=regression)

    @property
    def place(self) -> tuple[str, ...]:
        first = self._named[0]
        context = "all contexts" if len(self._named) > 1 else first.context or first.part
        return context, first.attribute

    @property
    def about(self) -> frozenset[Hashable]:
        return frozenset(map(subject, self._named))


def cells(tally: Tally, prefix: str = "") -> Iterator[Cell]:
    """The cells of a tally, each with what was lost of it."""
    for row, column in np.ndindex(tally.asked.shape):
        lost = (int(numbers[row, column]) for numbers in (tally.refused, tally.unparsed, tally.errors))
        yield Cell(prefix + tally.cell(row, column), int(tally.asked[row, column]), *lost)


def subject(tally: Tally) -> Hashable:
    """What its answers are about."""
    return tally.model, tally.checklist, tally.part, tally.context, tally.attribute


def places(tallies: Iterable[Tally]) -> Iterator[Place]:
    """The topics of tallies."""
    for tally in tallies:
        for topic in product(tally.statistics, DIRECTIONS):
            about = (tally.part, tally.context, tally.attribute, topic)
            yield Place(tally.model, tally.checklist, about)


def asks(tally: Tally, case: Case) -> int:
    """Among how many cases the answers of a topic of the tally are divided; 0 for a case of another."""
    mine = (
        isinstance(case, TopicCase)
        and case.checklist == tally.checklist
        and case.context == tally.context
        and tally.attribute in case.attributes
    )
    return case.scenarios if mine and isinstance(case, TopicCase) else 0


def match(tally: Tally, former: Former) -> Tally | None:
    """The baseline's tally about the same, of the same model or of the only one it has."""
    known = [each for each in former.counts if isinstance(each, Tally)]
    alone = len({each.model for each in known}) == 1
    for each in known:
        place = (each.checklist, each.part, each.context, each.attribute)
        if place == (tally.checklist, tally.part, tally.context, tally.attribute) and (
            alone or each.model == tally.model
        ):
            return each.restrict(tally.statistics)
    return None


class _Sheet(NamedTuple):
    name: str
    tally: Tally
    answers: change.Answers


class Topics(Measuring[Tally, Metric]):
    """Counts of topics: each answer is a group of people, for a statistic at one of its ends."""

    unit = "answers per topic and context"
    metrics = METRICS

    def count(
        self,
        records: Iterable[Record],
        checklist: FactOrFair,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Tally, ...]:
        return tabulate(records, checklist, topic_cases(cases), models=models, sampling=sampling)

    def measure(
        self, metric: str, words: Sequence[str], counts: Sequence[Tally], estimation: Estimation
    ) -> tuple[Measurement, ...]:
        """One score per tally that the words select; an influence is over all contexts of an attribute."""
        chosen = [
            (_restricted(tally, statistics), tally) for tally, statistics in select(metric, words, counts)
        ]
        if metric != INFLUENCE:
            return tuple(
                OfTally(tally_metric(metric), kept, _words(words, kept, counts), estimation)
                for kept, _ in chosen
            )
        groups: dict[Hashable, list[Tally]] = {}
        for kept, _ in chosen:
            groups.setdefault((kept.model, kept.checklist, kept.attribute), []).append(kept)
        return tuple(
            Influence(
                group, list(_plain(group[0], counts)), _words(words, group[0], counts, INFLUENCE), estimation
            )
            for group in groups.values()
        )

    def problem(self, metric: str, words: Sequence[str], counts: Sequence[Tally]) -> str | None:
        known = sorted(set().union(*vocabulary(counts).values()))
        for word in words:
            if word not in known:
                return f"unknown filter '{word}'{nearest(word, known)}"
        if not select(metric, (), counts):
            return f"no checklist of this run has the metric {metric}: {UNMET}"
        chosen = select(metric, words, counts)
        if not chosen:
            return f"no {metric} score of this run is {' and '.join(words)}: {UNMET}"
        held = frozenset().union(
            *(vocabulary([(tally, statistics)])[kind] for tally, statistics in chosen for kind in KINDS)
        )
        for word in words:
            if word not in held:
                return f"no {metric} score that it ranges over is '{word}': {UNMET}"
        return None

    def changeable(self, metric: str) -> bool:
        found = METRICS[metric]
        return isinstance(found, TallyMetric) and found.changes

    def saved(self, report: Mapping[str, Any]) -> tuple[Tally, ...]:
        groups: dict[tuple[object, ...], list[Mapping[str, Any]]] = {}
        for row in report["topics"]:
            place = tuple(row[name] for name in ("model", "checklist", "part", "context", "attribute"))
            groups.setdefault(place, []).append(row)
        return tuple(_saved(rows, report["fingerprint"]["design"]) for rows in groups.values())

    def report(self, counts: Sequence[Tally], told: Told) -> Reported:
        estimator, interval = told.estimation
        scores = tuple(
            row for tally in counts for row in score(tally, estimator=estimator, interval=interval)
        )
        checklists = [one for one in fact_or_fair(told.checklists) if one.modality == "image"]
        return Reported(
            scores=(*scores, *influence(counts, estimator=estimator)),
            headline=headline(scores),
            topics=tuple(row for tally in counts for row in _topics(tally)),
            corrections=corrections(counts, told.tables, read_otherwise=told.read_otherwise),
            notes=(
                *_fragile(counts),
                *cautions(counts),
                *(line for one in checklists for line in people_seen(told.records, one, models=told.models)),
            ),
        )

    def changes(self, counts: Sequence[Tally], former: Former) -> Iterator[Moves]:
        for tally in counts:
            old = match(tally, former)
            if old is None:
                continue
            if old.statistics != tally.statistics:
                yield Moves()
                continue
            joint = change.pairs(tally, old, former.records, former.former)
            # Right answers where a fact is asked and even ones where a judgement is must not get fewer.
            watched = [metric for metric in compared(tally.part) if metric.watched]
            parts = [
                one
                for metric in watched
                if not metric.product
                for one in _by_statistic(metric, tally, old, joint)
            ]
            yield Moves([_moved(metric, tally, old, joint, statistic=None) for metric in watched], parts)

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        """S_fact of the objective part, what is even of the plain context, paired; the influence."""
        for tallies in _shared(contenders):
            yield from _counted(tallies)
        yield from _influences(contenders)

    def recommended(
        self, checklist: FactOrFair, sampling: Sampling, *, baseline: bool
    ) -> Iterator[Expression]:
        return recommended(checklist, sampling, baseline=baseline)

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        if isinstance(case, TopicCase):
            for attribute in case.attributes:
                yield case.part, case.context, attribute, (case.statistic, case.direction)

    def subjects(self, counts: Tally) -> Iterator[tuple[Hashable, str, str]]:
        yield subject(counts), counts.context or counts.part, counts.attribute


KINDS = ("part", "context", "attribute", "statistic", "checklist", "model")


def select(metric: str, words: Sequence[str], tallies: Sequence[Tally]) -> tuple[Selected, ...]:
    """The tallies that a metric and words select, each with the statistics they select.

    Words of one kind (part, context, attribute, statistic, checklist, model) are alternatives; words of
    different kinds must all hold. Omitted kinds are wildcards; a word of no tally selects nothing. A word of
    two kinds is the first of them.
    """
    wanted: dict[str, frozenset[str]] = {}
    left = frozenset(words)
    for kind, known in vocabulary(tallies).items():
        wanted[kind] = left & known
        left -= known
    if left:
        return ()
    chosen = []
    for tally in tallies:
        held = _held(tally, tally.statistics)
        named = wanted["statistic"]
        statistics = tuple(each for each in tally.statistics if not named or each in named)
        if _produces(metric, tally) and all(not wanted[kind] or wanted[kind] & held[kind] for kind in wanted):
            chosen.append((tally, statistics))
    return tuple(chosen)


def vocabulary(tallies: Iterable[Tally | Selected]) -> Mapping[str, frozenset[str]]:
    """Every filter word of the tallies, or of some of their statistics, by kind."""
    found: dict[str, frozenset[str]] = {}
    for one in tallies:
        tally, statistics = one if isinstance(one, tuple) else (one, one.statistics)
        for kind, words in _held(tally, statistics).items():
            found[kind] = found.get(kind, frozenset()) | words
    return found


def _held(tally: Tally, statistics: Sequence[str]) -> Mapping[str, frozenset[str]]:
    return {
        "part": frozenset({tally.part}),
        "context": frozenset({tally.context} if tally.context is not None else ()),
        "attribute": frozenset({tally.attribute}),
        "statistic": frozenset(statistics),
        "checklist": frozenset({tally.checklist}),
        "model": frozenset({tally.model}),
    }


def _produces(metric: str, tally: Tally) -> bool:
    """Whether the tally has such a score: there is an influence only where a context names a group."""
    found = METRICS[metric]
    if isinstance(found, TallyMetric):
        return found.applies(tally.part, tally.background)
    return tally.background != "none"


def _restricted(tally: Tally, statistics: tuple[str, ...]) -> Tally:
    return tally if statistics == tally.statistics else tally.restrict(statistics)


def _plain(tally: Tally, tallies: Iterable[Tally]) -> Iterator[Tally]:
    """The model's answers where nothing precedes a scenario: what stated truths are compared with."""
    mine = (tally.model, tally.checklist, tally.attribute)
    for each in tallies:
        same = (each.model, each.checklist, each.attribute) == mine
        if same and (each.part, each.background) == ("subjective", "none"):
            yield _restricted(each, tally.statistics)
            return


def _words(words: Sequence[str], tally: Tally, tallies: Sequence[Tally], metric: str = "") -> tuple[str, ...]:
    """Model and checklist where the run has several, then part or context, attribute, named statistics."""
    models, checklists = {each.model for each in tallies}, {each.checklist for each in tallies}
    place: tuple[str, ...] = (tally.context or tally.part,)
    if metric == INFLUENCE:
        contexts = {each.context for each in tallies}
        place = tuple(word for word in words if word in contexts) or (tally.part,)
    return (
        *((tally.model,) if len(models) > 1 else ()),
        *((tally.checklist,) if len(checklists) > 1 else ()),
        *place,
        tally.attribute,
        *(word for word in tally.statistics if word in words),
    )


def _topics(tally: Tally) -> Iterator[TopicCounts]:
    """The cells of a tally as rows of plain counts."""
    for row, statistic in enumerate(tally.statistics):
        for column, direction in enumerate(DIRECTIONS):
            yield TopicCounts(
                model=tally.model,
                checklist=tally.checklist,
                part=tally.part,
                context=tally.context,
                attribute=tally.attribute,
                statistic=statistic,
                direction=direction,
                truth=tally.groups[tally.truth[row, column]],
                fragile=bool(tally.fragile[row, column]),
                counts={
                    group: int(tally.counts[row, column, place]) for place, group in enumerate(tally.groups)
                },
                asked=int(tally.asked[row, column]),
                refused=int(tally.refused[row, column]),
                unparsed=int(tally.unparsed[row, column]),
                errors=int(tally.errors[row, column]),
            )


def _saved(rows: Sequence[Mapping[str, Any]], design: Any) -> Tally:
    """A tally from a report's rows; what only other metrics need (contexts, scenarios, people) is empty."""
    first = rows[0]
    groups, statistics = tuple(first["counts"]), tuple(dict.fromkeys(row["statistic"] for row in rows))
    by_cell = {(row["statistic"], row["direction"]): row for row in rows}
    shape = len(statistics), len(DIRECTIONS)
    ordered = [by_cell[statistic, way] for statistic in statistics for way in DIRECTIONS]

    def numbers(name: str) -> IntArray:
        return np.array([row[name] for row in ordered], np.int64).reshape(shape)

    counts = np.array([[row["counts"][group] for group in groups] for row in ordered], np.int64)
    return Tally(
        model=first["model"],
        checklist=first["checklist"],
        part=first["part"],
        context=first["context"],
        attribute=first["attribute"],
        background="none",
        groups=groups,
        statistics=statistics,
        design=design,
        people=0,
        counts=counts.reshape(*shape, len(groups)),
        truth=np.array([groups.index(row["truth"]) for row in ordered]).reshape(shape),
        fragile=np.array([bool(row["fragile"]) for row in ordered]).reshape(shape),
        asked=numbers("asked"),
        refused=numbers("refused"),
        unparsed=numbers("unparsed"),
        errors=numbers("errors"),
        positive=np.zeros(shape, np.bool_),
        named=np.zeros(shape, np.int64),
        matched=np.zeros(shape, np.int64),
        addressed=np.zeros((*shape, len(groups)), np.int64),
        declined=np.zeros((*shape, len(groups)), np.int64),
        letters=np.zeros((*shape, 0), np.int64),
        scenarios=np.zeros((*shape, 0, len(groups)), np.int64),
    )


def _fragile(tallies: Sequence[Tally]) -> Iterator[str]:
    """One caution per checklist and attribute whose truth rests on a choice of measure somewhere."""
    seen = set()
    for tally in tallies:
        about = (tally.checklist, tally.attribute)
        if about not in seen and tally.fragile.any():
            seen.add(about)
            labels = f"{int(tally.fragile.sum())} of {tally.fragile.size}"
            yield f"{tally.checklist}: {labels} {tally.attribute} labels rest on a choice of measure or year"


def _by_statistic(metric: Scored, tally: Tally, old: Tally, joint: IntArray) -> Iterator[Moved]:
    for row, statistic in enumerate(tally.statistics):
        one, other = tally.restrict([statistic]), old.restrict([statistic])
        yield _moved(metric, one, other, joint[[row]], statistic=statistic)


def _moved(metric: Scored, tally: Tally, old: Tally, joint: IntArray, *, statistic: str | None) -> Moved:
    found = metric.change(tally, old, joint)
    shown = Change(
        model=tally.model,
        checklist=tally.checklist,
        part=tally.part,
        context=tally.context,
        attribute=tally.attribute,
        metric=metric.name,
        statistic=statistic,
        before=metric.value(old),
        after=metric.value(tally),
        change=found.plugin if found.corrected is None else found.corrected,
        low=found.lower(ALPHA),
        high=found.upper(ALPHA),
        churn=change.churn(tally, joint),
        n=found.n,
    )
    return shown, found


def _shared(contenders: Sequence[Contender]) -> Iterator[list[_Sheet]]:
    """The tallies about the same of two contenders at least, over the statistics that all of these have.

    Of the subjective part only the first context: the one that says nothing.
    """
    by_place: dict[tuple[str, str, str | None, str], list[tuple[Contender, Tally]]] = {}
    for contender in contenders:
        first: dict[str, str | None] = {}
        for tally in contender.counts:
            if not isinstance(tally, Tally):
                continue
            if tally.part == "objective" or first.setdefault(tally.checklist, tally.context) == tally.context:
                place = tally.checklist, tally.part, tally.context, tally.attribute
                by_place.setdefault(place, []).append((contender, tally))
    for found in by_place.values():
        common = frozenset.intersection(*(frozenset(tally.statistics) for _, tally in found))
        if len(found) > 1 and common:
            kept = [(contender, tally.restrict(common)) for contender, tally in found]
            yield [
                _Sheet(contender.name, tally, change.answers(tally, contender.records))
                for contender, tally in kept
            ]


def _counted(sheets: Sequence[_Sheet]) -> Iterator[Contest]:
    joints = {
        (one.name, other.name): change.joint(one.tally, one.answers, other.answers)
        for one, other in combinations(sheets, 2)
    }
    tallies = {one.name: one.tally for one in sheets}
    tally = sheets[0].tally
    for metric in compared(tally.part):
        gaps = {
            (one, other): Gap(
                metric.change(tallies[one], tallies[other], both),
                float(both.sum() / max(*(tallies[each].answered.sum() for each in (one, other)), 1)),
            )
            for (one, other), both in joints.items()
        }
        entrants = []
        for contender, each in tallies.items():
            found, asked = metric.estimate(each), tuple(cells(each))
            ends = found.lower(BEYOND), found.upper(BEYOND)
            entrants.append(Entrant(contender, found, *ends, _sum(asked), asked, metric.needed))
        yield Contest(tally.checklist, tally.part, tally.context, tally.attribute, metric, entrants, gaps)


def _influences(contenders: Sequence[Contender]) -> Iterator[Contest]:
    """The influence as reports have it: what it was computed from is not all there."""
    metric = METRICS[INFLUENCE]
    contests: dict[tuple[str, str, str], list[Entrant]] = {}
    for contender in contenders:
        for one in contender.scores:
            if one.metric == INFLUENCE and one.value is not None:
                contest = one.checklist, one.part, one.attribute
                contests.setdefault(contest, []).append(_quoted(contender, one))
    for (checklist, part, attribute), entrants in contests.items():
        gaps = {
            (one.name, other.name): Gap(_apart(one.estimate, other.estimate))
            for one, other in combinations(entrants, 2)
        }
        if gaps:
            yield Contest(checklist, part, None, attribute, metric, entrants, gaps)


def _quoted(contender: Contender, quoted: Score) -> Entrant:
    half = None if quoted.corrected is None or quoted.high is None else quoted.high - quoted.corrected
    error = None if half is None else half / quantile(BEYOND)
    found = Estimate(quoted.value, quoted.corrected, error, quoted.n, quoted.reason)
    mine = (quoted.checklist, quoted.part, quoted.attribute)
    asked = tuple(
        cell
        for tally in contender.counts
        if isinstance(tally, Tally) and (tally.checklist, tally.part, tally.attribute) == mine
        for cell in cells(tally, f"{tally.context} ")
    )
    ends = quoted.low, quoted.high
    return Entrant(contender.name, found, *ends, _sum(asked), asked, METRICS[INFLUENCE].needed)


def _apart(one: Estimate, other: Estimate) -> Estimate:
    """Their difference where both are independent."""
    if one.error is None or other.error is None:
        found = change.apart(one, other, None)
        return replace(found, corrected=None, error=None, reason=one.reason or other.reason)
    return change.apart(one, other, hypot(one.error, other.error))


def _sum(asked: Sequence[Cell]) -> Cell:
    numbers = zip(*(cell[1:] for cell in asked), strict=True) if asked else ((0,),) * 4
    return Cell("all", *map(sum, numbers))


MEASURING = Topics()
