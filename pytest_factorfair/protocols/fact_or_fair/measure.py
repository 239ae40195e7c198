"""FACT-OR-FAIR measured: which scores the words of a gate select, and what reports say of them."""

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
from pytest_factorfair.protocols.fact_or_fair.metrics.measurements import Influence, OfTally
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
        of, selected = METRICS[metric], select(metric, words, counts)
        if isinstance(of, TallyMetric):
            return tuple(OfTally(of, tally, _words(words, tally, counts), estimation) for tally in selected)
        groups: dict[Hashable, list[Tally]] = {}
        for tally in selected:
            groups.setdefault((tally.model, tally.checklist, tally.attribute), []).append(tally)
        contexts = {tally.context for tally in counts}
        named = tuple(word for word in words if word in contexts)
        return tuple(
            Influence(group, plain(group[0], counts), _words(words, group[0], counts, named), estimation)
            for group in groups.values()
        )

    def filters(self, counts: Sequence[Tally]) -> Mapping[str, frozenset[str]]:
        return vocabulary(counts)

    def held(self, metric: str, words: Sequence[str], counts: Sequence[Tally]) -> frozenset[str]:
        return frozenset().union(*vocabulary(select(metric, words, counts)).values())

    def scope(self, gate: Gate, counts: Sequence[Tally]) -> Scope:
        sense, known = METRICS[gate.metric].sense(gate.comparison), vocabulary(counts)
        if sense is None:
            return Scope(gate.filters)
        named = not known["part"].union(known["context"]).isdisjoint(gate.filters)
        if not named and sense.part in known["part"]:
            return Scope((*gate.filters, sense.part), narrowed=True)
        selected = select(gate.metric, gate.filters, counts)
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


def select(metric: str, words: Sequence[str], tallies: Sequence[Tally]) -> tuple[Tally, ...]:
    """The tallies that a metric and words select, each over the statistics they select.

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
    of, chosen = METRICS[metric], []
    for tally in tallies:
        # There is an influence only where a context names a group.
        produced = (
            of.applies(tally.part, tally.background) and of.modality in ("", tally.modality)
            if isinstance(of, TallyMetric)
            else tally.background != "none"
        )
        held = vocabulary([tally])
        if produced and all(not some or some & held[kind] for kind, some in wanted.items()):
            chosen.append(tally.restrict(wanted["statistic"] or tally.statistics))
    return tuple(chosen)


def vocabulary(tallies: Iterable[Tally]) -> Mapping[str, frozenset[str]]:
    """Every filter word of the tallies, by kind."""
    found: dict[str, set[str]] = {
        kind: set() for kind in ("part", "context", "attribute", "statistic", "checklist", "model")
    }
    for tally in tallies:
        found["part"].add(tally.part)
        found["context"].update(() if tally.context is None else (tally.context,))
        found["attribute"].add(tally.attribute)
        found["statistic"].update(tally.statistics)
        found["checklist"].add(tally.checklist)
        found["model"].add(tally.model)
    return {kind: frozenset(some) for kind, some in found.items()}


def plain(tally: Tally, tallies: Iterable[Tally]) -> list[Tally]:
    """The model's answers where nothing precedes a scenario: what stated truths are compared with."""
    mine = (tally.model, tally.checklist, "subjective", "none", tally.attribute)
    found = (
        each
        for each in tallies
        if (each.model, each.checklist, each.part, each.background, each.attribute) == mine
    )
    return [each.restrict(tally.statistics) for each in found][:1]


def _words(
    words: Sequence[str], tally: Tally, tallies: Sequence[Tally], contexts: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Model and checklist where the run has several, then part or contexts, attribute, named statistics."""
    models, checklists = {each.model for each in tallies}, {each.checklist for each in tallies}
    place = (tally.context or tally.part,) if contexts is None else contexts or (tally.part,)
    return (
        *((tally.model,) if len(models) > 1 else ()),
        *((tally.checklist,) if len(checklists) > 1 else ()),
        *place,
        tally.attribute,
        *(word for word in tally.statistics if word in words),
    )


MEASURING = FactOrFairMeasuring()
