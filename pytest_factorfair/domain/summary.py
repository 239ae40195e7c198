"""The summary of a finished run: everything that reports show."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, Protocol, TypeVar

from pytest_factorfair.domain.answer import ReasonShare, Record
from pytest_factorfair.domain.exchange import Usage
from pytest_factorfair.domain.score import Change, ReleaseVerdict, Score, Verdict, Waiver


@dataclass(frozen=True, slots=True)
class SavedCounts:
    """What one model answered, as the plain ``values`` of the class of counts of a user's ``benchmark``."""

    model: str
    benchmark: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """A contact sheet: the pictures of a case with the groups read in them.

    ``file`` is relative to the report's folder; ``shown`` is how many of the ``pictures`` are on the sheet.
    """

    model: str
    checklist: str
    case: str
    file: str
    pictures: int
    shown: int


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The fingerprint of a run: everything in which comparable runs must agree, except versions and times.

    ``models`` maps each spec to the model's identity, ``checklists`` each name to its content hash;
    ``answers`` is the answer mode of language models; ``detector`` is the identity of the detector, empty for
    language models. ``versions`` and ``times`` are for information only, and so is ``requested``: it maps the
    names of checklists to the shipped names or paths that they were loaded by, where these differ. ``plan``
    is the digest of the plan that was fixed before the run, empty without one.
    """

    models: Mapping[str, Mapping[str, object]]
    checklists: Mapping[str, str]
    preset: str
    design: str
    truth: str
    samples: int
    objective: int
    seed: int
    answers: str
    estimator: str
    interval: str
    detector: Mapping[str, object]
    versions: Mapping[str, str]
    times: Mapping[str, str]
    requested: Mapping[str, str] = field(default_factory=dict)
    plan: str = ""
    declines: str = "missing"


PLAN_SCHEMA = "factorfair.plan/1"


@dataclass(frozen=True, slots=True)
class PlanTerms:
    """What decides the verdicts of a run besides its fingerprint; together they are its plan.

    ``gates`` are all gates as written, ``waivers`` those that need not pass. ``undecided`` is what an
    undecided release does to the run, ``samples`` are the sizes by name, and ``baseline`` is the digest of
    the report that changes are measured from. ``planned`` is the number of answers, or pictures, of the first
    look, and ``most`` their number if gates stay undecided to the last.
    """

    gates: tuple[str, ...]
    waivers: tuple[Waiver, ...]
    undecided: str
    samples: Mapping[str, int]
    looks: int
    looks_after_fail: bool
    baseline: str | None
    planned: int
    most: int

    def canonical(self, run: Fingerprint) -> bytes:
        """The plan of a run: sorted keys, no spaces, ASCII; two runs with the same bytes judge alike.

        Thresholds are as written, and other fractions are text: there are several ways to write a float.
        """
        names = ("models", "checklists", "preset", "design", "truth", "seed", "answers", "estimator")
        plan = {
            "schema": PLAN_SCHEMA,
            "version": run.versions["pytest-factorfair"],
            **{name: getattr(run, name) for name in (*names, "declines", "interval", "detector")},
            **{name: getattr(self, name) for name in self.__slots__},
        }
        return json.dumps(_exact(plan), sort_keys=True, separators=(",", ":")).encode()


def plan_digest(plan: bytes) -> str:
    """The SHA-256 of a plan, as ``sha256sum`` prints it for the file."""
    return hashlib.sha256(plan).hexdigest()


def _exact(value: Any) -> Any:
    """A value with floats as text, and lists for tuples."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(name): _exact(member) for name, member in value.items()}
    return [*map(_exact, value)] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a finished run.

    ``incomplete`` is the reason why its gates could not be judged, None if they were. ``release`` is the
    verdict on the release, None if no gate is declared. ``notes`` are deviations and cautions that readers
    must see (rounded sizes, fragile labels, parameters that a model did not accept). ``changes`` are the
    changes since the baseline, if there is one, and ``former`` are the baseline's scores. ``reasons`` are the
    shares of citations in the model's reasons, if it was asked for them. ``rows`` are those that only its
    benchmarks know, by name (see ``ReportRows``). ``unjudged`` lists the parts and contexts that no gate
    judged. ``contact_sheets`` show the pictures of an image checklist. ``counts`` are those of users'
    benchmarks, from which models are compared. Every report has the terms of its ``plan``.
    """

    fingerprint: Fingerprint
    incomplete: str | None
    gates: tuple[Verdict, ...]
    scores: tuple[Score, ...]
    cases: tuple[Record, ...]
    usage: Usage
    seconds: float
    notes: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    former: tuple[Score, ...] = ()
    reasons: tuple[ReasonShare, ...] = ()
    rows: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    contact_sheets: tuple[ContactSheet, ...] = ()
    counts: tuple[SavedCounts, ...] = ()
    unjudged: tuple[str, ...] = ()
    release: ReleaseVerdict | None = None
    plan: PlanTerms | None = None


MEMBERS = frozenset({"schema", "answers_in", *(member.name for member in fields(Summary))})
"""The names in report.json that rows of benchmarks cannot have."""


class Reported(Protocol):
    """Scores with the rows that benchmarks add to them: a summary, or what it is made of."""

    @property
    def scores(self) -> tuple[Score, ...]: ...
    @property
    def rows(self) -> Mapping[str, tuple[Any, ...]]: ...


RowT = TypeVar("RowT")


@dataclass(frozen=True)
class ReportRows(Generic[RowT]):
    """Rows that a benchmark adds to reports: the member of report.json that holds them, and their class.

    The class is a dataclass of plain values with a field ``model``, from which the schema follows; the fields
    in ``key`` identify a row. ``flat`` makes the lines of a data frame from a row, which else is one line.
    """

    name: str
    row: type[RowT]
    key: tuple[str, ...]
    flat: Callable[[RowT], Iterable[Mapping[str, Any]]] | None = None

    def of(self, reported: Reported) -> tuple[RowT, ...]:
        """These rows of a summary."""
        return reported.rows.get(self.name, ())


def differences(
    left: Mapping[str, Any], right: Mapping[str, Any], under: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The fields in which two fingerprints or identities differ: the path, and both values as JSON.

    The value of a missing field is "not given".
    """
    for name in dict.fromkeys((*left, *right)):
        left_value, right_value = left.get(name), right.get(name)
        if isinstance(left_value, Mapping) and isinstance(right_value, Mapping):
            yield from differences(left_value, right_value, (*under, name))
            continue
        left_text, right_text = (
            json.dumps(side[name]) if name in side else "not given" for side in (left, right)
        )
        if left_text != right_text:
            yield (*under, name), left_text, right_text
