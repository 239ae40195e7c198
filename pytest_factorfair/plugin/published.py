"""Verdicts as pytest reports: a line in the summary, a JUnit testcase, exit code 1 when one fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pytest

# pytest has no public names for the types of ``longrepr``, and other plug-ins rely on these.
from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback

from pytest_factorfair.domain import ReleaseVerdict, Verdict

if TYPE_CHECKING:
    from pytest_factorfair.session.conclusion import Outcome, Result

PATH = "factorfair"
"""The file name in the reports of gates."""

Phases = tuple[pytest.TestReport, ...]
"""The reports of a test's setup, call and teardown."""


def published(result: Result) -> Iterator[Phases]:
    """The reports of a run's gates.

    If nothing could be judged, the reason is the same for all gates: they are skipped, and a report on the
    release fails in their place.
    """
    summary = result.summary
    for verdict in summary.gates:
        yield gate_reports(verdict, result.outcome(verdict))
    if summary.release is not None and summary.incomplete and summary.release.fails:
        yield _release_reports(summary.release)


def gate_reports(verdict: Verdict, outcome: Outcome) -> Phases:
    """The reports of a verdict."""
    reason = verdict.reason if verdict.judgement == "failed" else f"{verdict.judgement}: {verdict.reason}"
    plain = [verdict.explanation.sentence] if verdict.explanation else []
    properties: list[tuple[str, object]] = [
        ("verdict", verdict.judgement),
        ("value", verdict.value),
        ("low", verdict.low),
        ("high", verdict.high),
        ("threshold", verdict.threshold),
        ("n", verdict.n),
    ]
    longrepr: ExceptionChainRepr | tuple[str, int, str] | None = None
    if outcome == "skipped":
        # pytest lists equal reasons in one line.
        of = "" if verdict.judgement == "not judged" else f"{verdict.gate}: "
        longrepr = (PATH, 1, f"Skipped: {of}{verdict.judgement}: {verdict.reason}")
    elif outcome == "failed":
        longrepr = _failure([f"{verdict.gate}: {verdict.reason}", *plain], verdict.judgement, reason)
    return _phases(f"gate[{verdict.name}]", outcome, longrepr, properties)


def _release_reports(release: ReleaseVerdict) -> Phases:
    failure = _failure([str(release), release.advice], release.word, str(release))
    return _phases("release", "failed", failure, [("verdict", release.word)])


def _failure(lines: list[str], where: str, reason: str) -> ExceptionChainRepr:
    """A failure in the types of pytest's own reports: other plug-ins read their attributes unchecked."""
    entry = ReprEntry(
        lines=[f"E   {line}" for line in lines],
        reprfuncargs=None,
        reprlocals=None,
        reprfileloc=ReprFileLocation(PATH, 1, where),
        style="short",
    )
    traceback = ReprTraceback([entry], extraline=None, style="short")
    return ExceptionChainRepr([(traceback, ReprFileLocation(PATH, 1, reason), None)])


def _phases(
    name: str,
    outcome: Outcome,
    longrepr: ExceptionChainRepr | tuple[str, int, str] | None,
    properties: list[tuple[str, object]],
) -> Phases:
    timestamp = time.time()
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    return tuple(
        pytest.TestReport(
            nodeid=f"{PATH}::{name}",
            location=(PATH, 0, name),
            keywords={PATH: 1, name: 1},
            outcome=outcome if when == "call" else "passed",
            longrepr=longrepr if when == "call" else None,
            when=when,
            start=timestamp,
            stop=timestamp,
            user_properties=properties,
        )
        for when in phases
    )
