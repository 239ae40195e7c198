"""The canary as a benchmark: one gate, on its answers since a former run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks.benchmark import Benchmark
from pytest_factorfair.benchmarks.canary import REPEATS
from pytest_factorfair.benchmarks.canary.answers import (
    ANSWERS,
    ERROR,
    FEWEST,
    CanaryAnswers,
    Steadiness,
    reply,
)
from pytest_factorfair.benchmarks.canary.checklist import (
    PART,
    Canary,
    CanaryCase,
    canary_cases,
    cases,
    queries,
    situation,
)
from pytest_factorfair.benchmarks.measuring import (
    BenchmarkReport,
    Coverable,
    Expression,
    GateSet,
    ReportInputs,
)
from pytest_factorfair.domain import ALL, Case, Record, Sampling
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.canary.layout import File
    from pytest_factorfair.benchmarks.measurement import BaselineCounts, Estimation
    from pytest_factorfair.benchmarks.metric import Metric
    from pytest_factorfair.checklist.loading import Files


class CanaryBenchmark(Benchmark[Canary, CanaryCase, CanaryAnswers]):
    """Fixed questions, whose answers are compared with those of a former run."""

    name = "canary"
    checklist = Canary
    counts = CanaryAnswers
    counts_copies = True
    metrics: Mapping[str, Metric] = {ANSWERS.name: ANSWERS}
    unit = "answers per question"
    comparison = "a canary is compared by factorfair judge NEW --gate=default --baseline OLD"

    cases = staticmethod(cases)
    queries = staticmethod(queries)
    situation = staticmethod(situation)

    def files(self) -> Files[File, Canary]:
        from pytest_factorfair.benchmarks.canary.layout import FILES

        return FILES

    def count(
        self,
        records: Iterable[Record],
        checklist: Canary,
        cases: Sequence[Case],
        *,
        models: Sequence[str],
        sampling: Sampling,
    ) -> tuple[CanaryAnswers, ...]:
        """List the words and outcomes of the replies to each question."""
        del sampling
        ids = [case.id for case in canary_cases(cases)]
        replies: dict[str, dict[str, tuple[str, ...]]] = {model: {} for model in models}
        for record in records:
            if record.case.checklist == checklist.name and record.case.model in replies:
                replies[record.case.model][record.case.case] = tuple(map(reply, record.answers))
        return tuple(
            CanaryAnswers(model, checklist.name, {id_: of_model.get(id_, (ERROR,)) for id_ in ids})
            for model, of_model in replies.items()
        )

    def scores(self, counts: CanaryAnswers, estimation: Estimation) -> Iterator[Steadiness]:
        del estimation
        yield Steadiness(counts)

    def report(self, counts: Sequence[CanaryAnswers], inputs: ReportInputs) -> BenchmarkReport:
        return super().report(counts, inputs)._replace(notes=tuple(self._notes(counts, inputs.baseline)))

    def _notes(self, counts: Sequence[CanaryAnswers], baseline: BaselineCounts | None) -> Iterator[str]:
        """What will keep a change from being noticed; with a baseline, the verdict says it."""
        for of_model in () if baseline else counts:
            if why := of_model.one_sided or of_model.unsteady(REPEATS):
                yield f"{of_model.model}: {why}"

    def compared(self, counts: CanaryAnswers) -> Iterator[Steadiness]:
        """Nothing: the test says how two runs differ."""
        del counts
        return iter(())

    def recommended(
        self, checklist: Canary, sampling: Sampling, *, baseline: bool, gates: GateSet = "default"
    ) -> Iterator[Expression]:
        del gates
        if sampling.repeats < FEWEST:
            raise InputError(
                f"checklist '{checklist.name}' asks each question at least twice: --factorfair-preset=canary"
            )
        if baseline:
            yield Expression(f"regression({ANSWERS.name})", (), "<= 0")

    def topics(self, case: Case) -> Iterator[tuple[Hashable, ...]]:
        """None: there are no further looks."""
        del case
        return iter(())

    def coverage(self, counts: CanaryAnswers) -> Iterator[Coverable]:
        yield Coverable((counts.model, counts.comparison_key), "answers", PART, ALL)


BENCHMARK = CanaryBenchmark()
