"""Verdicts as pytest reports: a line in the summary, a JUnit testcase, exit code 1 when one fails."""

from __future__ import annotations

import time
from typing import Literal

import pytest

# pytest has no public names for the types of ``longrepr``, and other plug-ins rely on these.
from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback

from pytest_factorfair.domain import Verdict
from pytest_factorfair.gates.release import outcome

PATH = "factorfair"
"""The file name in the reports of gates."""


def gate_reports(
    verdict: Verdict, *, strict: bool, on_inconclusive: str = "warn"
) -> tuple[pytest.TestReport, ...]:
    """The reports of a verdict.

    ``strict`` fails inconclusive and unjudged gates; ``on_inconclusive`` is the policy for inconclusive
    gates: warn, fail or pass.
    """
    result = outcome(verdict, strict=strict, on_inconclusive=on_inconclusive)
    # The types of pytest's own reports: other plug-ins read their attributes unchecked.
    longrepr: ExceptionChainRepr | tuple[str, int, str] | None = None
    if result == "skipped":
        longrepr = (PATH, 1, f"Skipped: {verdict.gate}: {verdict.judgement}: {verdict.reason}")
    elif result == "failed":
        reason = verdict.reason if verdict.judgement == "failed" else f"{verdict.judgement}: {verdict.reason}"
        plain = [verdict.explanation.sentence] if verdict.explanation else []
        entry = ReprEntry(
            lines=[f"E   {verdict.gate}: {verdict.reason}", *(f"E   {line}" for line in plain)],
            reprfuncargs=None,
            reprlocals=None,
            reprfileloc=ReprFileLocation(PATH, 1, verdict.judgement),
            style="short",
        )
        traceback = ReprTraceback([entry], extraline=None, style="short")
        longrepr = ExceptionChainRepr([(traceback, ReprFileLocation(PATH, 1, reason), None)])
    name = f"gate[{verdict.name}]"
    properties: list[tuple[str, object]] = [
        ("verdict", verdict.judgement),
        ("value", verdict.value),
        ("low", verdict.low),
        ("high", verdict.high),
        ("threshold", verdict.threshold),
        ("n", verdict.n),
    ]
    now = time.time()
    phases: tuple[Literal["setup", "call", "teardown"], ...] = ("setup", "call", "teardown")
    return tuple(
        pytest.TestReport(
            nodeid=f"{PATH}::{name}",
            location=(PATH, 0, name),
            keywords={PATH: 1, name: 1},
            outcome=result if when == "call" else "passed",
            longrepr=longrepr if when == "call" else None,
            when=when,
            start=now,
            stop=now,
            user_properties=properties,
        )
        for when in phases
    )
