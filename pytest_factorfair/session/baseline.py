"""A former report.json, read back into what scores are computed from, and held against this run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Fingerprint, Record, Score
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Former
from pytest_factorfair.models import deterministic
from pytest_factorfair.protocols.faintbench.checklist import Faintbench, PromptCase
from pytest_factorfair.reports.json_report import opened, record
from pytest_factorfair.scoring import Tally, distinct
from pytest_factorfair.scoring.faintbench import Gallery, gallery
from pytest_factorfair.statistics.arrays import IntArray

if TYPE_CHECKING:
    from pytest_factorfair.session.run import Run

OPTION = "--factorfair-baseline"
SHARED = ("design", "truth", "estimator", "detector")
"""Fields of a fingerprint that must be the same in both runs; checklists are compared by content."""


class Place(NamedTuple):
    """What one tally is about."""

    model: str
    checklist: str
    part: str
    context: str | None
    attribute: str


@dataclass(frozen=True, slots=True, eq=False)
class Baseline:
    """A report's fingerprint, tallies, records and scores; ``name`` is how messages call it.

    ``pictured`` is whether it has pictures of FAIntbench's prompts.
    """

    name: str
    fingerprint: Mapping[str, Any]
    tallies: tuple[Tally, ...]
    records: tuple[Record, ...]
    scores: tuple[Score, ...]
    pictured: bool = False

    def former(
        self, records: Iterable[Record], prompts: Iterable[tuple[Faintbench, tuple[PromptCase, ...]]] = ()
    ) -> Former:
        """This report as what a run with these records, of these prompts of FAIntbench, is compared with."""
        hung = tuple(one for checklist, cases in prompts for one in self.hang(checklist, cases))
        return Former(self.tallies, self.records, tuple(records), hung)

    def hang(self, checklist: Faintbench, cases: Sequence[PromptCase]) -> Iterator[Gallery]:
        """What its pictures of these prompts show, model by model; other prompts are left out."""
        known = {case.id for case in cases}
        records = [record for record in self.records if record.case.case in known]
        for model in self.fingerprint["models"]:
            yield gallery(records, checklist, cases, model=model)


def of(run: Run, now: Fingerprint) -> Baseline | None:
    """The baseline of a run, if one was given.

    Raises:
        InputError: a file that is no report, or the report of a run that cannot be compared with this one.
    """
    if run.settings.baseline is None:
        return None
    found = read(run.settings.baseline, name=f"{OPTION} {run.settings.baseline}")
    comparable(found, asdict(now))
    return found


def read(path: str, *, name: str) -> Baseline:
    """Read a report.

    Raises:
        InputError: one line: the file is missing, unreadable or not a report of this version.
    """
    with opened(path, name=name) as report:
        return Baseline(
            name,
            dict(report["fingerprint"]),
            tuple(_tallies(report)),
            _counted(report),
            tuple(Score(**row) for row in report["scores"]),
            pictured=bool(report["prompts"]),
        )


def comparable(baseline: Baseline, now: Mapping[str, Any]) -> None:
    """Refuse to compare runs that asked different things or scored them differently.

    Raises:
        InputError: the first field that differs, with both values.
    """
    before = baseline.fingerprint
    for field in SHARED:
        if before.get(field) != now[field]:
            raise InputError(
                f"{baseline.name}: {field} is {before.get(field)}, this run's is {now[field]}: "
                "they cannot be compared"
            )
    for checklist, digest in now["checklists"].items():
        known = before.get("checklists", {}).get(checklist)
        if known is None:
            raise InputError(f"{baseline.name}: checklist {checklist} is not in it: nothing to compare with")
        if known != digest:
            raise InputError(
                f"{baseline.name}: checklist {checklist} is {known[:12]}, this run's is {digest[:12]}: "
                "its content has changed, they cannot be compared"
            )


def _tallies(report: Mapping[str, Any]) -> Iterator[Tally]:
    places: dict[Place, list[Mapping[str, Any]]] = {}
    for row in report["topics"]:
        places.setdefault(Place(*(row[name] for name in Place._fields)), []).append(row)
    for place, rows in places.items():
        yield _tally(place, rows, report["fingerprint"]["design"])


def _tally(place: Place, rows: list[Mapping[str, Any]], design: Any) -> Tally:
    """Counts and labels; what only other metrics need (contexts, scenarios, people) is left empty."""
    groups, statistics = tuple(rows[0]["counts"]), tuple(dict.fromkeys(row["statistic"] for row in rows))
    cells = {(row["statistic"], row["direction"]): row for row in rows}
    shape = len(statistics), len(DIRECTIONS)
    ordered = [cells[statistic, way] for statistic in statistics for way in DIRECTIONS]

    def numbers(name: str) -> IntArray:
        return np.array([row[name] for row in ordered], np.int64).reshape(shape)

    counts = np.array([[row["counts"][group] for group in groups] for row in ordered], np.int64)
    return Tally(
        **place._asdict(),
        background="none",
        groups=groups,
        statistics=statistics,
        design=design,
        people=0,
        counts=counts.reshape(*shape, len(groups)),
        truth=np.array([groups.index(row["truth"]) for row in ordered]).reshape(shape),
        fragile=np.array([bool(row["fragile"]) for row in ordered]).reshape(shape),
        asked=numbers("asked"),
        refused=numbers("refused"),
        unparsed=numbers("unparsed"),
        errors=numbers("errors"),
        positive=np.zeros(shape, np.bool_),
        named=np.zeros(shape, np.int64),
        matched=np.zeros(shape, np.int64),
        addressed=np.zeros((*shape, len(groups)), np.int64),
        declined=np.zeros((*shape, len(groups)), np.int64),
        letters=np.zeros((*shape, 0), np.int64),
        scenarios=np.zeros((*shape, 0, len(groups)), np.int64),
    )


def _counted(report: Mapping[str, Any]) -> tuple[Record, ...]:
    """Its records as its tallies count them: without copies at temperature 0."""
    records = tuple(record(row) for row in report["cases"])
    notes: dict[str, set[str]] = {}
    for one in records:
        notes.setdefault(one.case.model, set()).update(one.notes)
    identities = report["fingerprint"]["models"].items()
    return distinct(records, [spec for spec, one in identities if deterministic(one, notes.get(spec, ()))])
