"""Verdicts as pytest reports: a line in the summary, a JUnit testcase, exit code 1 when one fails."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest

# pytest has no public names for the types of ``longrepr``, and other plug-ins rely on these.
from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback

from pytest_factorfair.domain import Judgement, Verdict

if TYPE_CHECKING:
    from pytest_factorfair.runs.conclusion import Result

PATH = "factorfair"
"""The file name in the reports of gates."""

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
"""The outcome of pytest's report of a gate."""

Phases = tuple[pytest.TestReport, ...]
"""The reports of a test's setup, call and teardown."""


def published(result: Result) -> Iterator[Phases]:
    """The reports of a run's gates.

    Only gates that failed are failures. Undecided ones are skipped, and a report on the release fails in
    their place if no gate does.
    """
    release, gates = result.summary.release, result.summary.gates
    for verdict in gates:
        yield gate_reports(verdict)
    if release is not None and release.fails and not any(gate.judgement == "failed" for gate in gates):
        properties: list[tuple[str, object]] = [("verdict", release.word), ("explanation", release.advice)]
        yield _phases("release", "failed", _failure(str(release), str(release)), properties)


def gate_reports(verdict: Verdict) -> Phases:
    """The reports of a verdict."""
    outcomes: Mapping[Judgement, Outcome] = {"passed": "passed", "failed": "failed"}
    outcome = outcomes.get(verdict.judgement, "skipped")
    properties: list[tuple[str, object]] = [
        ("verdict", verdict.judgement),
        ("value", verdict.value),
        ("low", verdict.low),
        ("high", verdict.high),
        ("threshold", verdict.threshold),
        ("n", verdict.n),
        ("explanation", verdict.explanation.sentence if verdict.explanation else ""),
    ]
    longrepr: ExceptionChainRepr | tuple[str, int, str] | None = None
    if outcome == "skipped":
        # pytest lists equal reasons in one line.
        of = "" if verdict.judgement == "not judged" else f"{verdict.gate}: "
        longrepr = (PATH, 1, f"Skipped: {of}{verdict.judgement}: {verdict.reason}")
    elif outcome == "failed":
        longrepr = _failure(f"{verdict.gate}: {verdict.reason}", verdict.reason)
    return _phases(f"gate[{verdict.name}]", outcome, longrepr, properties)


def _failure(text: str, reason: str) -> ExceptionChainRepr:
    """A failure of one line, in the types of pytest's own: other plug-ins read their attributes unchecked."""
    entry = ReprEntry(
        lines=[],
        reprfuncargs=None,
        reprlocals=None,
        reprfileloc=ReprFileLocation(PATH, 1, text),
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
