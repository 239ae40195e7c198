"""A plan fixed before a run: what decides its verdicts, as canonical JSON with a digest."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.domain import PlanTerms, excerpt, plan_digest
from pytest_factorfair.domain.summary import PLAN_SCHEMA, differences
from pytest_factorfair.errors import InputError
from pytest_factorfair.runs.planning.sizes import most_answers

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Run

LONGEST = 120
"""Characters of a value that a message about a difference shows."""

TOTALS = ("planned", "most")
"""What follows from the other values: a message about a difference names the cause instead."""


def terms(run: Run) -> PlanTerms:
    """The settings that, with the fingerprint, determine the verdicts, and how many answers they take.

    Raises:
        InputError: the baseline cannot be read.
    """
    settings, sampling = run.settings, run.sampling
    return PlanTerms(
        gates=tuple(gate.text for gate in run.gates),
        waivers=settings.waivers,
        undecided=settings.undecided,
        samples={
            "answers": sampling.samples,
            "objective": sampling.objective,
            "images": sampling.images,
            "per_prompt": sampling.per_prompt,
            "repeats": sampling.repeats,
        },
        looks=settings.looks,
        looks_after_fail=settings.looks_after_fail,
        baseline=None if settings.baseline is None else _digest_of(run, settings.baseline),
        planned=sum(assignment.case.samples for assignment in run.assignments),
        most=sum(most_answers(run).values()),
    )


def _digest_of(run: Run, report: str) -> str:
    from pytest_factorfair.reports import json_report  # it imports the reports

    try:
        return hashlib.sha256(Path(json_report.located(report)).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{run.settings.where('baseline')} {report}: {error.strerror}") from None


def content(run: Run) -> bytes:
    """The plan of a run as canonical JSON.

    Raises:
        InputError: the baseline cannot be read.
    """
    return terms(run).canonical(run.fingerprint(datetime.now(UTC)))


def write(run: Run, path: str) -> str:
    """Write the plan of a run to a file, and return a line with its digest.

    Raises:
        InputError: the file cannot be written.
    """
    from pytest_factorfair.reports.files import write_whole  # it imports the reports

    plan = content(run)
    try:
        write_whole(Path(path), plan)
    except OSError as error:
        raise InputError(f"{run.settings.where('lock')} {path}: {error.strerror}") from None
    return f"locked: {path}, SHA-256 {plan_digest(plan)}; commit it, then run with --factorfair-locked"


def check(run: Run, path: str) -> None:
    """Check that the plan in a file is the plan of this run.

    Raises:
        InputError: the file is not a plan of this version, or the run differs from it; the message names the
            first difference.
    """
    name = f"{run.settings.where('locked')} {path}"
    try:
        locked = json.loads(Path(path).read_bytes())
    except OSError as error:
        advice = "--factorfair-plan --factorfair-lock=FILE writes it"
        raise InputError(f"{name}: {error.strerror}; {advice}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{name}: not JSON; expected a plan that --factorfair-lock wrote") from None
    schema = locked.get("schema") if isinstance(locked, dict) else None
    if schema != PLAN_SCHEMA:
        raise InputError(
            f"{name}: not a plan of this version: its schema is {schema!r}, '{PLAN_SCHEMA}' is needed"
        )
    differing = sorted(differences(locked, json.loads(content(run))), key=lambda item: item[0][0] in TOTALS)
    for path_to, fixed, planned in differing[:1]:
        values = f"{excerpt(fixed, LONGEST)} there, {excerpt(planned, LONGEST)} in this run"
        raise InputError(f"{name}: {' '.join(path_to)} is {values}")
