"""FACT-OR-FAIR as a benchmark: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_factorfair.benchmarks.asking import PublishedSetup
from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases, notices
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import citable, explained, queries
from pytest_factorfair.benchmarks.fact_or_fair.asking.situations import conditions, situation
from pytest_factorfair.benchmarks.fact_or_fair.cautions import cautions, fragile
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase, topic_cases
from pytest_factorfair.benchmarks.fact_or_fair.counting.tabulate import tabulate
from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally, saved, topic_counts
from pytest_factorfair.benchmarks.fact_or_fair.metrics import (
    METRICS,
    RATES,
    columns,
    compared,
)
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMeasurement
from pytest_factorfair.benchmarks.fact_or_fair.metrics.dependence import dependences
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import (
    INFLUENCE,
    OF_CONTEXTS,
    influence,
)
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scan_score import SCAN, FirstLookScan
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import SCORES
from pytest_factorfair.benchmarks.fact_or_fair.printing import reporting
from pytest_factorfair.benchmarks.fact_or_fair.printing.declines import declining
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import brief, quotations
from pytest_factorfair.benchmarks.fact_or_fair.recommended import recommended
from pytest_factorfair.benchmarks.fact_or_fair.rows import CORRECTIONS, DEPENDENCES, TOPICS, Correction
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
from pytest_factorfair.domain import Case, Record, Sampling

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.fact_or_fair.layout import Checklist
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.drawing.entries import Entry, Omission
    from pytest_factorfair.drawing.figures import Figure
    from pytest_factorfair.drawing.table import Table


class FactOrFairBenchmark(Benchmark[FactOrFair, TopicCase, Tally]):
    """The statistics of a checklist, asked as facts and as choices among people.

    Answers are counted by topic: each is a group of people, for one end of a statistic.
    """

    name = "fact_or_fair"
    checklist = FactOrFair
    counts_probabilities = True
    published = PublishedSetup({"size": "1024x1024"}, {"races": "published-code"})
    unit = "answers per topic and context"
    one_context = "subjective"
    metrics = METRICS
    rows = (TOPICS, DEPENDENCES, SCANS, CORRECTIONS)
    recomputable = frozenset({*(metric.name for metric in SCORES), *RATES})
    unsaved = ("s_e_within", "crossed", "name_preference", "influence", SCAN.name)

    diagnosed = (
        "Evenness: S_E within the most uneven scenario, group named, age, and person named first. "
        "Favourites: how much more often than expected one is chosen. Refusals, unparsed answers and errors: "
        "shares of the answers."
    )
    piece = ("statistic", "")
    assets = "pytest_factorfair.benchmarks.fact_or_fair.printing"

    cases = staticmethod(cases)
    queries = staticmethod(queries)
    notices = staticmethod(notices)
    situation = staticmethod(situation)
    conditions = staticmethod(conditions)
    explained = staticmethod(explained)
    citable = staticmethod(citable)
    size = staticmethod(reporting.size)
    headlines = staticmethod(reporting.headlines)
    brief = staticmethod(brief)
    tables = staticmethod(reporting.tables)
    quotations = staticmethod(quotations)
    charts = staticmethod(reporting.charts)
    page = staticmethod(reporting.page)
    reply_place = staticmethod(reporting.reply_place)
    reply_conditions = staticmethod(reporting.reply_conditions)
    on_card = staticmethod(reporting.on_card)
    over_time = staticmethod(reporting.over_time)
    right_answers = staticmethod(reporting.right_answers)
    true_groups = staticmethod(reporting.true_groups)
    declining = staticmethod(declining)
    warnings = staticmethod(reporting.warnings)
    limits = staticmethod(reporting.limits)
    reading = staticmethod(reporting.reading)

    @property
    def printed(self) -> Mapping[str, Metric]:
        return columns() | {INFLUENCE: OF_CONTEXTS}

    @property
    def diagnostics(self) -> Mapping[str, tuple[str, Metric]]:
        return reporting.diagnostics()

    def paper_tables(self, entries: Sequence[Entry]) -> Iterable[Table | Omission]:
        from pytest_factorfair.benchmarks.fact_or_fair.printing import paper_tables  # no run prints them

        return paper_tables.fact_or_fair(entries)

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterable[Figure | Omission]:
        from pytest_factorfair.benchmarks.fact_or_fair.printing import figures  # no run draws them

        return figures.fact_or_fair(checklist, entries)

    def files(self) -> Files[Checklist, FactOrFair]:
        from pytest_factorfair.benchmarks.fact_or_fair.rules import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.fact_or_fair.importing import IMPORTERS

        return IMPORTERS

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

    def scores(self, counts: Tally, estimation: Estimation) -> Iterator[TallyMeasurement]:
        """Every score of a tally: plug-in value, corrected value with its 95 % interval, and references.

        ``corrected`` centres S_fact on its mean over topics, S_E and S_KLD on their jackknife values, and
        S_fair and the signed distance on the values that follow from these; all values except the distance
        are clipped to 0 to 1. With interval ``instrument``, errors come from the delta method: answers are
        random, scenarios fixed. With ``scenarios``, scenarios are random, too, if the part has any. Rates
        have Wilson bounds; favourites and gaps have bounds of the largest of several shares. ``plugin`` and
        ``published-code`` give values without errors, except for rates.

        The value is None if a topic has no answers. A corrected S_fact needs an answer in every cell; scores
        that depend on S_E or S_KLD need 20. ``n`` is the number of answers behind a score; for a rate, the
        number of queries asked.
        """
        for metric in METRICS.values():
            yield from metric.scores(counts, (), estimation)

    def saved(self, report: Mapping[str, Any], records: Sequence[Record] = ()) -> tuple[Tally, ...]:
        return tuple(saved(report, records))

    def report(self, counts: Sequence[Tally], inputs: ReportInputs) -> BenchmarkReport:
        judged_scans = scans(self, counts, inputs)
        likeliest = (score.likeliest for score in judged_scans if isinstance(score, FirstLookScan))
        notes = [*fragile(counts), *cautions(counts), *filter(None, likeliest)]
        corrections: tuple[Correction, ...] = ()
        pictured = [checklist for checklist in inputs.checklists if checklist.modality == "image"]
        if pictured or inputs.tables:
            from pytest_factorfair.benchmarks.fact_or_fair import pictures  # no run of text needs it

            for checklist in pictured:
                if isinstance(checklist, FactOrFair):
                    notes += pictures.people_seen(inputs.records, checklist, models=inputs.models)
                    notes += [pictures.NOT_SCANNED] if inputs.gates else []
            corrections = pictures.corrections(counts, inputs.tables, read_otherwise=inputs.read_otherwise)
        return BenchmarkReport(
            scores=(
                *super().report(counts, inputs).scores,
                *influence(counts, estimator=inputs.estimation.estimator),
            ),
            rows={
                TOPICS.name: tuple(row for tally in counts for row in topic_counts(tally)),
                DEPENDENCES.name: tuple(row for tally in counts for row in dependences(tally)),
                SCANS.name: tuple(score.outcome_row(inputs.baseline) for score in judged_scans),
                CORRECTIONS.name: corrections,
            },
            notes=tuple(notes),
        )

    def compared(self, counts: Tally) -> Iterator[TallyMeasurement]:
        for metric in compared(counts.part):
            yield from metric.scores(counts)

    def common(self, counts: Mapping[str, Tally]) -> Mapping[str, Tally]:
        """The tallies restricted to the statistics that all have."""
        statistics = frozenset.intersection(*(frozenset(tally.statistics) for tally in counts.values()))
        return {model: tally.restrict(statistics) for model, tally in counts.items() if statistics}

    def recommended(
        self, checklist: FactOrFair, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, sampling, baseline=baseline, gates=gates)

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        if isinstance(case, TopicCase):
            for attribute in case.attributes:
                yield case.part, case.context, attribute, (case.statistic, case.direction)

    def label(self, metric: str, part: str, context: str | None) -> str:
        return f"{self.heading(metric)}, {context or part}"

    def coverage(self, counts: Tally) -> Iterator[Coverable]:
        key = (counts.model, *counts.score_key)
        yield Coverable(key, counts.kind, counts.context or "", counts.attribute)


BENCHMARK = FactOrFairBenchmark()
