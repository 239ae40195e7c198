"""FACT-OR-FAIR measured: the scores that the words of a gate select, and the rows of reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.domain import Case, Gate, Record, Sampling
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    FactOrFair,
    TopicCase,
    fact_or_fair,
    topic_cases,
)
from pytest_factorfair.protocols.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.protocols.fact_or_fair.counting.tally import Tally, rows, saved
from pytest_factorfair.protocols.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.protocols.fact_or_fair.metrics.by_name import METRICS, score
from pytest_factorfair.protocols.fact_or_fair.metrics.comparison import changes, contests
from pytest_factorfair.protocols.fact_or_fair.metrics.influence import influence
from pytest_factorfair.protocols.fact_or_fair.metrics.measurements import Influence, OfTally, vocabulary
from pytest_factorfair.protocols.fact_or_fair.recommended import recommended
from pytest_factorfair.protocols.fact_or_fair.report import (
    cautions,
    corrections,
    fragile,
    headline,
    people_seen,
)
from pytest_factorfair.protocols.measurement import (
    Contender,
    Contest,
    Estimation,
    Expression,
    Former,
    Measurement,
    Measuring,
    Metric,
    Moves,
    Reported,
    ReportInputs,
    Scope,
)


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

        def selecting(tally: Tally, *contexts: str) -> tuple[str, ...]:
            named = (word for word in tally.statistics if word in words)
            return (*self.run_words(tally, filters), *contexts, tally.attribute, *named)

        if isinstance(of, TallyMetric):
            return tuple(
                OfTally(of, tally, selecting(tally, tally.context or tally.part), estimation)
                for tally in selected
            )
        groups: dict[Hashable, list[Tally]] = {}
        for tally in selected:
            groups.setdefault((tally.model, tally.checklist, tally.attribute), []).append(tally)
        contexts = {tally.context for tally in counts}
        named = [word for word in words if word in contexts]
        return tuple(
            Influence(
                group,
                plain(group[0], counts),
                selecting(group[0], *(named or [group[0].part])),
                estimation,
            )
            for group in groups.values()
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
            if produced:
                chosen.append(tally.restrict(wanted["statistic"] or tally.statistics))
        return tuple(chosen)

    def vocabulary(self, counts: Tally) -> Mapping[str, frozenset[str]]:
        return vocabulary(counts)

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
        checklists = [one for one in fact_or_fair(inputs.checklists) if one.modality == "image"]
        return Reported(
            scores=(*scores, *influence(counts, estimator=estimator)),
            headline=headline(scores),
            topics=tuple(row for tally in counts for row in rows(tally)),
            corrections=corrections(counts, inputs.tables, read_otherwise=inputs.read_otherwise),
            notes=(
                *fragile(counts),
                *cautions(counts),
                *(
                    line
                    for one in checklists
                    for line in people_seen(inputs.records, one, models=inputs.models)
                ),
            ),
        )

    def changes(self, counts: Sequence[Tally], former: Former) -> Iterator[Moves]:
        return changes(counts, former)

    def contests(self, contenders: Sequence[Contender]) -> Iterator[Contest]:
        return contests(contenders)

    def recommended(
        self, checklist: FactOrFair, sampling: Sampling, *, baseline: bool
    ) -> Iterator[Expression]:
        return recommended(checklist, sampling, baseline=baseline)

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        if isinstance(case, TopicCase):
            for attribute in case.attributes:
                yield case.part, case.context, attribute, (case.statistic, case.direction)

    def subjects(self, counts: Tally) -> Iterator[tuple[Hashable, str, str]]:
        yield (counts.model, *counts.about), counts.context or counts.part, counts.attribute


def plain(tally: Tally, tallies: Iterable[Tally]) -> list[Tally]:
    """The model's answers where nothing precedes a scenario, with which stated truths are compared."""
    mine = (tally.model, tally.checklist, "subjective", "none", tally.attribute)
    found = (
        each
        for each in tallies
        if (each.model, each.checklist, each.part, each.background, each.attribute) == mine
    )
    return [each.restrict(tally.statistics) for each in found][:1]


MEASURING = FactOrFairMeasuring()
