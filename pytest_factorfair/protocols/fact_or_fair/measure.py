"""FACT-OR-FAIR measured: the scores that the words of a gate select, and the rows of reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pytest_factorfair.domain import Case, Gate, Record, Sampling, Score
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    FactOrFair,
    TopicCase,
    topic_cases,
)
from pytest_factorfair.protocols.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.protocols.fact_or_fair.counting.tally import Tally, rows, saved
from pytest_factorfair.protocols.fact_or_fair.metrics import METRICS, compared, score
from pytest_factorfair.protocols.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.protocols.fact_or_fair.metrics.dependence import dependences
from pytest_factorfair.protocols.fact_or_fair.metrics.influence import (
    INFLUENCE,
    influence,
    influences,
)
from pytest_factorfair.protocols.fact_or_fair.metrics.measurements import (
    Influence,
    OfCondition,
    OfContexts,
    OfTally,
    before,
    cells,
)
from pytest_factorfair.protocols.fact_or_fair.metrics.scores import Scored
from pytest_factorfair.protocols.fact_or_fair.metrics.within import CROSSED, Within
from pytest_factorfair.protocols.fact_or_fair.recommended import recommended
from pytest_factorfair.protocols.fact_or_fair.report import (
    cautions,
    corrections,
    fragile,
    headline,
    people_seen,
)
from pytest_factorfair.protocols.fact_or_fair.scoring import change
from pytest_factorfair.protocols.measurement import Changed, Estimation, Former, Measurement, Moved, total
from pytest_factorfair.protocols.measuring import (
    Contender,
    Contest,
    Entrant,
    Expression,
    Gap,
    GateSet,
    Measuring,
    Moves,
    Reported,
    ReportInputs,
    Scope,
)
from pytest_factorfair.protocols.metric import About, Metric
from pytest_factorfair.statistics.bounds import BEYOND, quantile
from pytest_factorfair.statistics.estimate import Estimate


class FactOrFairMeasuring(Measuring[Tally, Metric]):
    """Counts by topic: each answer is a group of people, for one end of a statistic."""

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
        of, selected, filters = METRICS[metric], self.select(metric, words, counts), self.filters(counts)

        def selecting(tally: Tally, *own: str) -> tuple[str, ...]:
            statistics = (word for word in tally.statistics if word in words)
            return (*self.run_words(tally, filters), *own, tally.attribute, *statistics)

        if of is CROSSED:
            groups: dict[Hashable, list[Tally]] = {}
            for tally in selected:
                groups.setdefault((tally.model, tally.checklist, tally.attribute), []).append(tally)
            contexts = [word for word in words if word in filters["context"]]
            return tuple(
                OfContexts(CROSSED, group, selecting(group[0], *(contexts or [group[0].part])), estimation)
                for group in groups.values()
            )
        if isinstance(of, Within):
            return tuple(
                OfCondition(
                    of,
                    tally.within(condition),
                    (*selecting(tally, tally.context or tally.part), condition),
                    estimation,
                )
                for tally in selected
                for condition in tally.conditions
                if filters["condition"].isdisjoint(words) or condition in words
            )
        if isinstance(of, TallyMetric):
            return tuple(
                OfTally(of, tally, selecting(tally, tally.context or tally.part), estimation)
                for tally in selected
            )
        return tuple(
            Influence(
                tally,
                usual,
                column,
                (*selecting(tally, tally.context or tally.part), *filter(None, [column.word])),
            )
            for tally in selected
            for usual in [plain(tally, counts)]
            for column in influences(tally, usual, estimator=estimation.estimator)
            if filters["column"].isdisjoint(words) or column.word in words
        )

    def select(self, metric: str, words: Sequence[str], counts: Sequence[Tally]) -> tuple[Tally, ...]:
        """The tallies that a metric and words select, each over the statistics they select."""
        of, chosen = METRICS[metric], []
        for tally, wanted in self.matching(words, counts):
            # There is an influence only where a context names a group.
            produced = (
                of.applies(tally.part, tally.background) and of.modality in ("", tally.modality)
                if isinstance(of, TallyMetric)
                else tally.background != "none"
            )
            produced &= of is not CROSSED or any(
                len(beside.groups) >= tally.k for beside in tally.crossed.values()
            )
            produced &= isinstance(of, Within) or not wanted["condition"]
            produced &= of is METRICS[INFLUENCE] or not wanted["column"]
            if produced:
                chosen.append(tally.restrict(wanted["statistic"] or tally.statistics))
        return tuple(chosen)

    def scope(self, gate: Gate, counts: Sequence[Tally]) -> Scope:
        sense, known = METRICS[gate.metric].sense(gate.comparison), self.filters(counts)
        if sense is None:
            return Scope(gate.filters)
        named = not known["part"].union(known["context"]).isdisjoint(gate.filters)
        if not named and sense.part in known["part"]:
            return Scope((*gate.filters, sense.part), narrowed=True)
        selected = self.select(gate.metric, gate.filters, counts)
        beside = dict.fromkeys(one.context or one.part for one in selected if one.part != sense.part)
        return Scope(gate.filters, beside=tuple(beside), named=named)

    def changeable(self, metric: str) -> bool:
        found = METRICS[metric]
        return isinstance(found, TallyMetric) and found.changes

    def saved(self, report: Mapping[str, Any]) -> tuple[Tally, ...]:
        return tuple(saved(report))

    def report(self, counts: Sequence[Tally], inputs: ReportInputs) -> Reported:
        estimator, interval = inputs.estimation
        scores = tuple(
            row for tally in counts for row in score(tally, estimator=estimator, interval=interval)
        )
        notes = [*fragile(counts), *cautions(counts)]
        for one in inputs.checklists:
            if isinstance(one, FactOrFair) and one.modality == "image":
                notes += people_seen(inputs.records, one, models=inputs.models)
        return Reported(
            scores=(*scores, *influence(counts, estimator=estimator)),
            headline=headline(scores),
            topics=tuple(row for tally in counts for row in rows(tally)),
            dependences=tuple(row for tally in counts for row in dependences(tally)),
            corrections=corrections(counts, inputs.tables, read_otherwise=inputs.read_otherwise),
            notes=tuple(notes),
        )

    def changes(self, counts: Sequence[Tally], former: Former) -> Iterator[Moves]:
        """What changed since a former run, as a whole and statistic by statistic.

        It covers right answers to facts and even answers to judgements.
        """
        for tally in counts:
            old = before(tally, former)
            if old is None:
                continue
            pairs = change.paired(tally, old, former.records, former.former)
            watched = [metric for metric in compared(tally.part) if metric.watched]
            alone = [  # the same objects for every metric: estimates of a tally are kept with it
                (tally.restrict([statistic]), old.restrict([statistic]), pairs.restrict(row), statistic)
                for row, statistic in enumerate(tally.statistics)
            ]
            yield Moves(
                scores=[_moved(metric, tally, old, pairs) for metric in watched],
                parts=[
                    _moved(metric, new, earlier, both, statistic=statistic)
                    for metric in watched
                    if not metric.product
                    for new, earlier, both, statistic in alone
                ],
            )

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        """S_fact of facts and evenness of the first context, paired by query; then the influence."""
        for models in _shared(contenders):
            about, tallies = models[0][1].about, {one.name: tally for one, tally in models}
            answers = {one.name: change.answers(tally, one.records) for one, tally in models}
            gaps: dict[str, dict[tuple[str, str], Gap]] = {metric.name: {} for metric in compared(about.part)}
            for one, other in combinations(tallies, 2):
                both = change.Pairs.of(answers[one], answers[other])
                most = max(tallies[one].answered.sum(), tallies[other].answered.sum(), 1)
                for metric in compared(about.part):
                    moved = metric.change(tallies[one], tallies[other], both)
                    gaps[metric.name][one, other] = Gap(moved, float(len(both.new) / most))
            for metric in compared(about.part):
                scores = {name: OfTally(metric, tally, ()) for name, tally in tallies.items()}
                yield Contest.of(about, metric, scores, gaps[metric.name])
        yield from _influences(contenders)

    def recommended(
        self, checklist: FactOrFair, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, sampling, baseline=baseline, gates=gates)

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        if isinstance(case, TopicCase):
            for attribute in case.attributes:
                yield case.part, case.context, attribute, (case.statistic, case.direction)

    def subjects(self, counts: Tally) -> Iterator[tuple[Hashable, str, str]]:
        yield (counts.model, *counts.about), counts.context or counts.part, counts.attribute


def plain(tally: Tally, tallies: Iterable[Tally]) -> Tally | None:
    """The model's answers where nothing precedes a scenario, with which stated truths are compared."""
    mine = (tally.model, tally.checklist, "subjective", "none", tally.attribute)
    found = (
        each
        for each in tallies
        if (each.model, each.checklist, each.part, each.background, each.attribute) == mine
    )
    return next((each.restrict(tally.statistics) for each in found), None)


def _moved(
    metric: Scored, tally: Tally, old: Tally, pairs: change.Pairs, *, statistic: str | None = None
) -> Moved:
    after, before = (OfTally(metric, one, ()) for one in (tally, old))
    moved = Changed(after, before, metric.change(tally, old, pairs))
    return moved.row(tally.about, churn=change.churn(tally, pairs), statistic=statistic)


def _shared(contenders: Sequence[Contender]) -> Iterator[list[tuple[Contender, Tally]]]:
    """Tallies of at least two contenders about the same, restricted to the statistics they share.

    For the subjective part only the first context, which says nothing.
    """
    by_subject: dict[About, list[tuple[Contender, Tally]]] = {}
    for contender in contenders:
        first: dict[str, str | None] = {}
        for tally in contender.counts:
            if not isinstance(tally, Tally):
                continue
            if tally.part == "objective" or first.setdefault(tally.checklist, tally.context) == tally.context:
                by_subject.setdefault(tally.about, []).append((contender, tally))
    for found in by_subject.values():
        common = frozenset.intersection(*(frozenset(tally.statistics) for _, tally in found))
        if len(found) > 1 and common:
            yield [(contender, tally.restrict(common)) for contender, tally in found]


def _influences(contenders: Sequence[Contender]) -> Iterator[Contest]:
    """The influence as quoted in reports, which do not hold all the data behind it."""
    metric = METRICS[INFLUENCE]
    by_subject: dict[About, list[Entrant]] = {}
    for contender in contenders:
        for quoted in contender.scores:
            if quoted.metric != INFLUENCE or quoted.value is None:
                continue
            about = About(quoted.checklist, quoted.part, None, quoted.attribute)
            asked = tuple(
                cell
                for tally in contender.counts
                if isinstance(tally, Tally) and tally.about._replace(context=None) == about
                for cell in cells(tally, f"{tally.context} ")
            )
            entrant = Entrant(contender.name, _quoted(quoted), total(asked), asked, lambda _: metric.needed)
            by_subject.setdefault(about, []).append(entrant)
    for about, entrants in by_subject.items():
        gaps = {
            (one.name, other.name): Gap(one.estimate.less(other.estimate))
            for one, other in combinations(entrants, 2)
        }
        if gaps:
            yield Contest(about, metric, entrants, gaps)


def _quoted(score: Score) -> Estimate:
    """The estimate behind a report's score; its error follows from the interval."""
    if score.corrected is None or score.high is None:
        return Estimate(score.value, score.corrected, None, score.n, score.reason)
    error = (score.high - score.corrected) / quantile(BEYOND)
    return Estimate(score.value, score.corrected, error, score.n, score.reason)


MEASURING = FactOrFairMeasuring()
