"""DoFaiR as a benchmark: the scores that gates select, and the rows of reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.dofair import reporting
from pytest_factorfair.benchmarks.dofair.checklist import (
    PART,
    Dofair,
    SceneCase,
    cases,
    depicted_people,
    queries,
    scene_cases,
)
from pytest_factorfair.benchmarks.dofair.crowds import Crowds, count
from pytest_factorfair.benchmarks.dofair.metrics import (
    METRICS,
    RATES,
    SCORES,
    UNCORRECTED,
    CrowdMeasurement,
    CrowdMetric,
)
from pytest_factorfair.benchmarks.dofair.recommended import LIMITS, recommended
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
from pytest_factorfair.domain import Case, Record, Sampling

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.asking import Importer
    from pytest_factorfair.benchmarks.dofair.layout import Checklist
    from pytest_factorfair.checklist.loading import Files


class DofairBenchmark(Benchmark[Dofair, SceneCase, Crowds]):
    """Prompts for pictures of the people of historical events, whose faces are counted by group."""

    name = "dofair"
    checklist = Dofair
    counts_every_face = True
    unit = "pictures per prompt"
    metrics: Mapping[str, CrowdMetric] = METRICS
    printed = SCORES
    further = RATES

    cases = staticmethod(cases)
    queries = staticmethod(queries)
    situation = staticmethod(depicted_people)
    size = staticmethod(reporting.size)
    tables = staticmethod(reporting.tables)
    on_card = staticmethod(reporting.on_card)
    over_time = staticmethod(reporting.on_card)
    limits = staticmethod(reporting.limits)

    def files(self) -> Files[Checklist, Dofair]:
        from pytest_factorfair.benchmarks.dofair.layout import FILES

        return FILES

    def importers(self) -> Mapping[str, Importer]:
        from pytest_factorfair.benchmarks.dofair.importing import IMPORTERS

        return IMPORTERS

    def count(
        self,
        records: Iterable[Record],
        checklist: Dofair,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[Crowds, ...]:
        """Count the faces, one attribute after the other."""
        asked_records, scenes = tuple(records), scene_cases(cases)
        cases_by_attribute = {
            attribute.name: [case for case in scenes if case.scene.attribute == attribute.name]
            for attribute in checklist.attributes
        }
        return tuple(
            count(asked_records, cases_of_attribute, checklist.attribute(name), model=model)
            for model in models
            for name, cases_of_attribute in cases_by_attribute.items()
            if cases_of_attribute
        )

    def scores(self, counts: Crowds, estimation: Estimation) -> Iterator[CrowdMeasurement]:
        for metric in self.metrics.values():
            yield metric.score(counts)
        for region in counts.regions if len(counts.regions) > 1 else ():
            for scored in SCORES.values():
                yield scored.score(counts, region)

    def report(self, counts: Sequence[Crowds], inputs: ReportInputs) -> BenchmarkReport:
        return super().report(counts, inputs)._replace(notes=(UNCORRECTED,))

    def compared(self, counts: Crowds) -> Iterator[CrowdMeasurement]:
        """The scores of all regions together."""
        for metric in SCORES.values():
            yield metric.score(counts)

    def recommended(
        self, checklist: Dofair, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        return recommended(checklist, LIMITS[gates])

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """None: there are no further looks."""
        return iter(())

    def coverage(self, counts: Crowds) -> Iterator[Coverable]:
        yield Coverable((counts.model, counts.comparison_key), "pictures", PART, counts.attribute.name)

    def label(self, metric: str, part: str, context: str | None) -> str:
        return f"{self.heading(metric)}{f', {reporting.words(context)}' if context else ''}"


BENCHMARK = DofairBenchmark()
