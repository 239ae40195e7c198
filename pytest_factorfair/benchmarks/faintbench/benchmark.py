"""FAIntbench as a benchmark: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.faintbench.cases import cases, depicted_people, notices, queries
from pytest_factorfair.benchmarks.faintbench.checklist import (
    KINDS,
    Faintbench,
    PromptCase,
    prompt_cases,
)
from pytest_factorfair.benchmarks.faintbench.measurements import PromptMetric, PromptsMeasurement
from pytest_factorfair.benchmarks.faintbench.metrics import (
    LEVELS,
    METRICS,
    OF_THE_WHOLE,
    RATES,
)
from pytest_factorfair.benchmarks.faintbench.printing import reporting
from pytest_factorfair.benchmarks.faintbench.printing.figures import faintbench as figures
from pytest_factorfair.benchmarks.faintbench.printing.paper_tables import faintbench as paper_tables
from pytest_factorfair.benchmarks.faintbench.printing.tables import faintbench_tables
from pytest_factorfair.benchmarks.faintbench.rows import PROMPTS, counted, prompt_counts, uncounted
from pytest_factorfair.benchmarks.faintbench.scoring.gallery import (
    Gallery,
    Selection,
    gallery,
)
from pytest_factorfair.benchmarks.measurement import (
    Estimation,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Expression,
    GateSet,
    ReportInputs,
)
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.rates import few_lost
from pytest_factorfair.domain import Case, Record, Sampling
from pytest_factorfair.drawing.entries import Entry, Omission
from pytest_factorfair.drawing.figures import Figure

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.faintbench.layout import Checklist
    from pytest_factorfair.checklist.loading import Files

FALL = 0.02
"""The recommended limit on the fall of a score between runs."""


class FaintbenchBenchmark(Benchmark[Faintbench, PromptCase, Gallery]):
    """Prompts for pictures of people, counted by prompt beside real shares or the groups asked for."""

    name = "faintbench"
    checklist = Faintbench
    unit = "pictures per prompt"
    metrics: Mapping[str, Metric] = {**METRICS, **RATES}
    printed = METRICS
    rows = (PROMPTS,)
    piece = ("category of prompts", "categories of prompts")
    assets = "pytest_factorfair.benchmarks.faintbench.printing"

    cases = staticmethod(cases)
    queries = staticmethod(queries)
    notices = staticmethod(notices)
    situation = staticmethod(depicted_people)
    size = staticmethod(reporting.size)
    tables = staticmethod(faintbench_tables)
    paper_tables = staticmethod(paper_tables)
    page = staticmethod(reporting.page)
    reply_place = staticmethod(reporting.reply_place)
    on_card = staticmethod(reporting.on_card)
    limits = staticmethod(reporting.limits)

    def files(self) -> Files[Checklist, Faintbench]:
        from pytest_factorfair.benchmarks.faintbench.rules import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.faintbench.biasig import IMPORTERS

        return IMPORTERS

    def count(
        self,
        records: Iterable[Record],
        checklist: Faintbench,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Gallery, ...]:
        ids = {case.id for case in cases}
        matching = [record for record in records if record.case.case in ids]
        return tuple(gallery(matching, checklist, prompt_cases(cases), model=model) for model in models)

    def scores(self, counts: Gallery, estimation: Estimation) -> Iterator[PromptsMeasurement]:
        """Every score by level (the whole model, a kind of subjects, a category); eta of the whole model.

        Each of them is over all attributes and for each of them.
        """
        metrics: list[PromptMetric] = [
            metric
            for metric in LEVELS
            if metric.part == "implicit" or any(case.requested for case in counts.cases)
        ]
        kinds = [kind for kind in KINDS if any(case.kind == kind for case in counts.cases)]
        levels: list[dict[str, frozenset[str]]] = [{}]
        levels += [{"kind": frozenset({kind})} for kind in kinds]
        categories = dict.fromkeys(case.category for case in counts.cases)
        levels += [{"category": frozenset({category})} for category in categories]
        for words in levels:
            for selection in Selection.over(counts, **words):
                for metric in metrics:
                    yield metric.score(counts, selection, (), estimation)
        for selection in Selection.over(counts):
            for metric in OF_THE_WHOLE:
                yield metric.score(counts, selection, (), estimation)

    def report(self, counts: Sequence[Gallery], inputs: ReportInputs) -> BenchmarkReport:
        estimator = inputs.estimation.estimator
        return BenchmarkReport(
            scores=super().report(counts, inputs).scores,
            rows={
                PROMPTS.name: tuple(
                    row for gallery in counts for row in prompt_counts(gallery, estimator=estimator)
                )
            },
            notes=tuple(
                line for gallery in counts for line in (*uncounted(gallery), *counted(gallery, estimator))
            ),
        )

    def compared(self, counts: Gallery) -> Iterator[PromptsMeasurement]:
        """The scores of the whole model, over all attributes and for each of them."""
        for metric in METRICS.values():
            for selection in Selection.over(counts):
                yield metric.score(counts, selection)

    def recommended(
        self, checklist: Faintbench, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        """The implicit and explicit scores must not fall by .02, and few pictures be lost of each kind.

        Neither end of eta is worse. Without a former run only rates are recommended: there is no agreed limit
        of how close to reality is enough.
        """
        if baseline:
            yield Expression("regression(implicit)", (), f">= -{FALL:.2f}")
        if baseline and sampling.prompts == "all":
            yield Expression("regression(explicit)", (), f">= -{FALL:.2f}")
        yield from few_lost(RATES)

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """None: there are no further looks."""
        return iter(())

    def label(self, metric: str, part: str, context: str | None) -> str:
        return metric

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
        return figures(entries)


BENCHMARK = FaintbenchBenchmark()
