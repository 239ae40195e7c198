"""A former report.json as the baseline of a run: its counts and records, and whether it is comparable."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_factorfair.benchmarks import benchmark_named, benchmark_of, benchmarks_of
from pytest_factorfair.benchmarks import cases as cases_of
from pytest_factorfair.benchmarks.measurement import BaselineCounts, Counts
from pytest_factorfair.config.settings import CANARY
from pytest_factorfair.domain import Fingerprint, Record, Sampling, Score
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import deterministic
from pytest_factorfair.models.arguments import SAMPLING
from pytest_factorfair.reports.json_report import opened, record
from pytest_factorfair.runs.tabulating import AskedCases, distinct

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Run

SHARED = ("design", "truth", "answers", "estimator", "declines", "detector")
"""Fields of a fingerprint that must be the same in both runs; checklists are compared by content."""


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A report's fingerprint, records and scores; ``name`` is its name in messages.

    ``incomplete`` is why its gates were not judged, None if they were.

    ``saved`` are the counts in the report; all others are counted again from its records.
    """

    name: str
    fingerprint: Mapping[str, Any]
    saved: tuple[Counts, ...]
    records: tuple[Record, ...]
    scores: tuple[Score, ...]
    incomplete: str | None
    _again: dict[Hashable, tuple[Counts, ...]] = field(default_factory=dict)

    def counts(self, asked: AskedCases = ()) -> tuple[Counts, ...]:
        """The counts of these cases, counted again from records, and the other counts of the report."""
        asked = tuple(asked)
        cases_asked = tuple((checklist.name, *(case.id for case in cases)) for checklist, cases in asked)
        if cases_asked not in self._again:
            self._again[cases_asked] = tuple(self._counted(asked))
        again = self._again[cases_asked]
        counted = {(counts.model, counts.comparison_key) for counts in again}
        return (
            *(counts for counts in self.saved if (counts.model, counts.comparison_key) not in counted),
            *again,
        )

    def compared(self, asked: AskedCases) -> BaselineCounts:
        """The same, with the day of the run."""
        return BaselineCounts(self.counts(asked), self.fingerprint["times"].get("started", "")[:10])

    def _counted(self, asked: AskedCases) -> Iterator[Counts]:
        """Count the records of these cases again."""
        run = self.fingerprint
        sampling = Sampling(run["design"], run["samples"], run["objective"], run["seed"])
        for checklist, named in asked:
            sized = {case.id: case for case in cases_of(checklist, sampling)}  # as many answers as it had
            cases = [sized.get(case.id, case) for case in named]
            keys = {(checklist.name, case.id) for case in cases}
            records = [record for record in self.records if record.case[1:] in keys]
            yield from benchmark_of(checklist).count(
                records, checklist, cases, models=tuple(run["models"]), sampling=sampling
            )

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The checklists without counts in the report."""
        saved = {counts.benchmark for counts in self.saved}
        only = {metric for benchmark in benchmarks_of(self.scores) for metric in benchmark.metrics}
        for name in saved:  # several benchmarks have rates of lost answers
            only -= benchmark_named(name).metrics.keys()
        return tuple(dict.fromkeys(score.checklist for score in self.scores if score.metric in only))


def of_run(run: Run, path: str, current: Fingerprint) -> Baseline:
    """The baseline of a run, which was given as ``path``.

    Raises:
        InputError: the file is not a report of a complete run, or its run cannot be compared with this one.
    """
    baseline = read(path, name=f"{run.settings.where('baseline')} {path}")
    if baseline.incomplete:
        raise InputError(f"{baseline.name}: not judged ({baseline.incomplete}): it cannot be a baseline")
    comparable(baseline.name, baseline.fingerprint, asdict(current))
    if run.settings.preset == CANARY:
        _same_model(baseline.name, baseline.fingerprint["models"], current.models)
    return baseline


def read(path: str, *, name: str) -> Baseline:
    """Read a report.

    Raises:
        InputError: one line: the file is missing, unreadable or not a report of this version.
    """
    with opened(path, name=name) as report:
        return counted(report, name)


def counted(report: Mapping[str, Any], name: str, *, columns: bool = False) -> Baseline:
    """Build a baseline from the content of a report; an iterator of cases is consumed.

    ``columns`` stores answers compactly, for callers that read many reports.
    """
    records = tuple(record(row, columns=columns) for row in report["cases"])
    dropped: dict[str, set[str]] = {}
    for case_record in records:
        dropped.setdefault(case_record.case.model, set()).update(case_record.dropped)
    identities = report["fingerprint"]["models"].items()
    scores = tuple(Score(**row) for row in report["scores"])
    copies_counted = {
        score.checklist
        for benchmark in benchmarks_of(scores)
        for score in scores
        if benchmark.counts_copies and score.metric in benchmark.metrics
    }
    # Its own counts leave out copies at temperature 0, too.
    records = distinct(
        records,
        [spec for spec, identity in identities if deterministic(identity, dropped.get(spec, ()))],
        copies_counted,
    )
    return Baseline(
        name,
        {"declines": "missing", **report["fingerprint"]},  # as in reports of before the setting
        tuple(counts for benchmark in benchmarks_of(scores) for counts in benchmark.saved(report, records)),
        records,
        scores,
        report["incomplete"],
    )


def comparable(
    name: str,
    former: Mapping[str, Any],
    current: Mapping[str, Any],
    *,
    other: str = "this run's",
    checklists: Iterable[str] | None = None,
    verdict: str = "they cannot be compared",
) -> None:
    """Refuse to compare runs that asked different questions or scored them differently.

    ``former`` and ``current`` are their fingerprints, ``name`` and ``other`` their names in messages. Both
    must have these ``checklists``, by default all of ``current``.

    Raises:
        InputError: the first field that differs, with both values.
    """
    for shared in SHARED:
        for label, former_value, current_value in _differing(shared, former.get(shared), current[shared]):
            raise InputError(f"{name}: {label} is {former_value}, {other} is {current_value}: {verdict}")
    for checklist in current["checklists"] if checklists is None else checklists:
        former_digest, digest = former.get("checklists", {}).get(checklist), current["checklists"][checklist]
        if former_digest is None:
            raise InputError(f"{name}: checklist {checklist} is not in it: nothing to compare with")
        if former_digest != digest:
            raise InputError(
                f"{name}: checklist {checklist} is {former_digest[:12]}, {other} is {digest[:12]}: "
                f"its content has changed, {verdict}"
            )


def _same_model(name: str, former: Mapping[str, Any], current: Mapping[str, Any]) -> None:
    """Refuse the baseline of a canary that asked another model, or the same one with other parameters.

    Raises:
        InputError: the model, or the first parameter that differs, with both values.
    """
    (model,) = current
    if model not in former:
        raise InputError(
            f"{name}: its model is {', '.join(former)}, this run's is {model}: a canary follows one model"
        )
    for parameter in ("parameters", "system", *SAMPLING):
        values = (identities[model].get(parameter) for identities in (former, current))
        for label, former_value, value in _differing(parameter, *values):
            raise InputError(
                f"{name}: {label} is {former_value}, this run's is {value}: a canary must be asked the same "
                "way each time"
            )


def _differing(name: str, former: object, current: object) -> Iterator[tuple[str, object, object]]:
    """The fields that differ, each with both values: ``detector races``, ``census``, ``published``."""
    if isinstance(former, Mapping) and isinstance(current, Mapping) and former and current:
        for key in dict.fromkeys((*former, *current)):
            yield from _differing(f"{name} {key}", former.get(key), current.get(key))
    elif former != current:
        values = [
            value and value.get(name, "set") if isinstance(value, Mapping) else value
            for value in (former, current)
        ]
        former_value, current_value = ("missing" if value in (None, {}) else value for value in values)
        yield name, former_value, current_value
