"""The base class of a user's own benchmark."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Generic

from pytest_factorfair.benchmarks.asking import Asking, CaseT, ChecklistT
from pytest_factorfair.benchmarks.measurement import CountsT, Estimation, Measurement
from pytest_factorfair.benchmarks.measuring import Measuring
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.benchmarks.reporting import Reporting
from pytest_factorfair.domain import Case, Summary
from pytest_factorfair.drawing.table import Row, Table, number, span


class Benchmark(
    Asking[ChecklistT, CaseT], Measuring[CountsT, Metric], Reporting, Generic[ChecklistT, CaseT, CountsT]
):
    """A benchmark in one class: what it asks, how answers are measured, and what it prints.

    It must say how its files are read, its cases and their queries, how answers are counted, and its scores.
    What gates judge, changes since a baseline, comparisons, plans and reports follow from the scores. The
    shipped benchmarks have a class for each part, because a worker, which only asks, then imports less.
    """

    unit = "answers"
    counts_probabilities = False

    @abstractmethod
    def scores(self, counts: CountsT, estimation: Estimation) -> Iterator[Measurement]:
        """A model's scores, in the order of reports: what gates judge, and on which models are compared."""

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """The case is its only topic: with more samples, its queries must begin with those for fewer."""
        yield (case.id,)

    def label(self, metric: str, part: str, context: str | None) -> str:
        """The label of a metric, with the context if there is one."""
        return f"{self.heading(metric)}, {context}" if context else self.heading(metric)

    def tables(self, summary: Summary) -> Iterator[Table]:
        """The scores of each of its checklists, a row for each model and score."""
        scores = [score for score in summary.scores if score.metric in self.printed]
        for checklist in dict.fromkeys(score.checklist for score in scores):
            rows = tuple(
                Row(
                    f"{score.model} {self.label(score.metric, score.part, score.context)}",
                    (number(score.shown), span(score.low, score.high), f"{score.n:,}"),
                )
                for score in scores
                if score.checklist == checklist
            )
            yield Table(checklist, ("score", "95 % interval", "answers"), rows)

    @property
    def measuring(self) -> Measuring[Any, Any]:
        return self

    @property
    def reporting(self) -> Reporting:
        return self

    @property
    def printed(self) -> Mapping[str, Metric]:
        """All metrics but rates of lost answers."""
        return {name: metric for name, metric in self.metrics.items() if not metric.counts_losses}
