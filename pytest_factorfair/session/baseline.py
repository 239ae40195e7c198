"""A former report.json as the baseline of a run: its counts and records, and whether it is comparable."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_factorfair.domain import Case, Checklist, Fingerprint, Record, Sampling, Score
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import deterministic
from pytest_factorfair.protocols.combined import measurings, of_checklist
from pytest_factorfair.protocols.measurement import Counts, Former
from pytest_factorfair.reports.json_report import opened, record
from pytest_factorfair.session.tabulating import distinct

if TYPE_CHECKING:
    from pytest_factorfair.session.run import Run

Asked: TypeAlias = Iterable[tuple[Checklist, Sequence[Case]]]
"""Checklists, each with the cases of it that were asked."""

SHARED = ("design", "truth", "answers", "estimator", "detector")
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

    def former(self, records: Iterable[Record], asked: Asked = ()) -> Former:
        """This report in the form that a run with these records and cases is compared with."""
        return Former(self.counts(asked), self.records, tuple(records))

    def counts(self, asked: Asked = ()) -> tuple[Counts, ...]:
        """Its counts: those of these cases, counted again, and those in the report of all others."""
        asked = tuple(asked)
        cases_asked = tuple((checklist.name, *(case.id for case in cases)) for checklist, cases in asked)
        if cases_asked not in self._again:
            self._again[cases_asked] = tuple(self._counted(asked))
        again = self._again[cases_asked]
        counted = {(counts.model, counts.about) for counts in again}
        return (*(counts for counts in self.saved if (counts.model, counts.about) not in counted), *again)

    def _counted(self, asked: Asked) -> Iterator[Counts]:
        """Counts of its records of these cases."""
        run = self.fingerprint
        sampling = Sampling(run["design"], run["samples"], run["objective"], run["seed"])
        for checklist, cases in asked:
            known = {(checklist.name, case.id) for case in cases}
            records = [record for record in self.records if record.case[1:] in known]
            yield from of_checklist(checklist).count(
                records, checklist, cases, models=tuple(run["models"]), sampling=sampling
            )

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Its checklists whose counts are not in the report."""
        saved = {counts.protocol for counts in self.saved}
        metrics: dict[bool, set[str]] = {True: set(), False: set()}
        for name, protocol in measurings().items():
            metrics[name in saved].update(protocol.metrics)
        only = metrics[False] - metrics[True]  # several protocols have rates of lost answers
        return tuple(dict.fromkeys(one.checklist for one in self.scores if one.metric in only))


def of(run: Run, path: str, now: Fingerprint) -> Baseline:
    """The baseline of a run, which was given as ``path``.

    Raises:
        InputError: the file is not a report of a complete run, or its run cannot be compared with this one.
    """
    baseline = read(path, name=f"{run.settings.where('baseline')} {path}")
    if baseline.incomplete:
        raise InputError(f"{baseline.name}: not judged ({baseline.incomplete}): it cannot be a baseline")
    comparable(baseline.name, baseline.fingerprint, asdict(now))
    return baseline


def read(path: str, *, name: str) -> Baseline:
    """Read a report.

    Raises:
        InputError: one line: the file is missing, unreadable or not a report of this version.
    """
    with opened(path, name=name) as report:
        return counted(report, name)


def counted(report: Mapping[str, Any], name: str, *, columns: bool = False) -> Baseline:
    """The baseline in the content of a report, whose cases are read once.

    ``columns`` stores answers compactly, for callers that read many reports.
    """
    records = tuple(record(row, columns=columns) for row in report["cases"])
    dropped: dict[str, set[str]] = {}
    for one in records:
        dropped.setdefault(one.case.model, set()).update(one.dropped)
    identities = report["fingerprint"]["models"].items()
    return Baseline(
        name,
        dict(report["fingerprint"]),
        tuple(counts for protocol in measurings().values() for counts in protocol.saved(report)),
        # Its own counts leave out copies at temperature 0, too.
        distinct(records, [spec for spec, one in identities if deterministic(one, dropped.get(spec, ()))]),
        tuple(Score(**row) for row in report["scores"]),
        report["incomplete"],
    )


def comparable(
    name: str,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    *,
    other: str = "this run's",
    checklists: Iterable[str] | None = None,
    verdict: str = "they cannot be compared",
) -> None:
    """Refuse to compare runs that asked different questions or scored them differently.

    ``before`` and ``now`` are their fingerprints, ``name`` and ``other`` their names in messages. Both must
    have these ``checklists``, by default all of ``now``.

    Raises:
        InputError: the first field that differs, with both values.
    """
    for shared in SHARED:
        for what, value, its in _differing(shared, before.get(shared), now[shared]):
            raise InputError(f"{name}: {what} is {value}, {other} is {its}: {verdict}")
    for checklist in now["checklists"] if checklists is None else checklists:
        known, digest = before.get("checklists", {}).get(checklist), now["checklists"][checklist]
        if known is None:
            raise InputError(f"{name}: checklist {checklist} is not in it: nothing to compare with")
        if known != digest:
            raise InputError(
                f"{name}: checklist {checklist} is {known[:12]}, {other} is {digest[:12]}: "
                f"its content has changed, {verdict}"
            )


def _differing(name: str, value: object, other: object) -> Iterator[tuple[str, object, object]]:
    """The fields that differ, each with both values: ``detector races``, ``census``, ``published``."""
    if isinstance(value, Mapping) and isinstance(other, Mapping) and value and other:
        for key in dict.fromkeys((*value, *other)):
            yield from _differing(f"{name} {key}", value.get(key), other.get(key))
    elif value != other:
        ends = [one and one.get(name, "set") if isinstance(one, Mapping) else one for one in (value, other)]
        before, now = ("missing" if one in (None, {}) else one for one in ends)
        yield name, before, now
