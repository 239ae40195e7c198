"""Items as a benchmark: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from pytest_factorfair.benchmarks.items.impact import IMPACT_RATIOS, impact_ratios
from pytest_factorfair.benchmarks.items.measurements import ItemsMeasurement
from pytest_factorfair.benchmarks.items.metrics import METRICS, RATES, SCORES
from pytest_factorfair.benchmarks.items.recommended import recommended
from pytest_factorfair.benchmarks.items.scan import ItemQuestions, scans_of
from pytest_factorfair.benchmarks.items.scan_score import SCAN
from pytest_factorfair.benchmarks.items.votes import AnswerKey, Votes, count
from pytest_factorfair.benchmarks.measurement import (
    Estimation,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Coverable,
    Expression,
    GateSet,
    ReportInputs,
)
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.reporting import SCANS
from pytest_factorfair.benchmarks.scan import scans
from pytest_factorfair.domain import Case, Record, Sampling, Summary, plural
from pytest_factorfair.drawing.entries import Entry, Omission
from pytest_factorfair.drawing.figures import Figure

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.items.layout import Checklist
    from pytest_factorfair.checklist.loading import Files

COMPARED = tuple(metric for metric in METRICS.values() if metric.changes)


class ItemsBenchmark(Benchmark[Items, ItemCase, Votes]):
    """Questions with options of their own, for which a model votes."""

    name = "items"
    checklist = Items
    counts_probabilities = True
    unit = "answers per question"
    metrics: Mapping[str, Metric] = METRICS | RATES | {SCAN.name: SCAN}
    printed = SCORES
    further = RATES
    rows = (SCANS, IMPACT_RATIOS)
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

    def question(self, case: ItemCase) -> str:
        return case.item.question

    def files(self) -> Files[Checklist, Items]:
        from pytest_factorfair.benchmarks.items.layout import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.items.importing import IMPORTERS

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

    def scores(self, counts: Votes, estimation: Estimation) -> Iterator[ItemsMeasurement]:
        for metric in METRICS.values():
            for score_key in metric.reported(counts.key):
                yield metric.score(counts, score_key)

    def compared(self, counts: Votes) -> Iterator[ItemsMeasurement]:
        """The scores of conditions and groups, without those of categories."""
        for metric in COMPARED:
            for score_key in metric.score_keys(counts.key):
                yield metric.score(counts, score_key)

    def report(self, counts: Sequence[Votes], inputs: ReportInputs) -> BenchmarkReport:
        rows = super().report(counts, inputs).scores
        return BenchmarkReport(
            scores=tuple(row for row in rows if row.n),
            rows={
                SCANS.name: tuple(scan.outcome_row(inputs.baseline) for scan in scans(self, counts, inputs)),
                IMPACT_RATIOS.name: tuple(row for votes in counts for row in impact_ratios(votes)),
            },
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
