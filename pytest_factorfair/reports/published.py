"""Verdicts as pytest reports: a line in the summary, a JUnit testcase, exit code 1 when one fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest

from pytest_factorfair.domain import Verdict

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter  # pytest has no public name for its writer

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]

PHASES: tuple[Literal["call", "teardown"], ...] = ("call", "teardown")
"""JUnit writes a testcase's properties at teardown; nothing needs a setup."""


OUTCOMES: Mapping[str, Outcome] = {"warn": "skipped", "fail": "failed", "pass": "passed"}
"""Of a gate that the answers do not decide, by policy."""

SETTLED: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed", "waived": "skipped"}


def gate_reports(
    verdict: Verdict, *, strict: bool, on_inconclusive: str = "warn"
) -> tuple[pytest.TestReport, ...]:
    """The reports that make a verdict count.

    ``strict`` fails what could not be judged or decided; ``on_inconclusive`` says what becomes of a
    gate that the answers do not decide: warn, fail or pass.
    """
    found = outcome(verdict, strict=strict, on_inconclusive=on_inconclusive)
    name = f"gate[{verdict.name}]"
    properties: list[tuple[str, object]] = [
        ("verdict", verdict.judgement),
        ("value", verdict.value),
        ("low", verdict.low),
        ("high", verdict.high),
        ("threshold", verdict.threshold),
        ("n", verdict.n),
    ]
    return tuple(
        pytest.TestReport(
            nodeid=f"factorfair::{name}",
            location=("factorfair", None, name),
            keywords={"factorfair": 1},
            outcome=found if when == "call" else "passed",
            longrepr=_longrepr(verdict, found) if when == "call" else None,
            when=when,
            user_properties=properties,
        )
        for when in PHASES
    )


def outcome(verdict: Verdict, *, strict: bool, on_inconclusive: str) -> Outcome:
    """What a verdict does to the run."""
    if verdict.judgement in SETTLED:
        return SETTLED[verdict.judgement]
    if strict:
        return "failed"
    return OUTCOMES[on_inconclusive] if verdict.judgement == "inconclusive" else "skipped"


def _longrepr(verdict: Verdict, outcome: Outcome) -> Any:
    """Any: what pytest accepts here goes by its methods, beyond the types it names."""
    if outcome == "passed":
        return None
    if outcome == "skipped":
        return ("factorfair", 0, f"Skipped: {verdict.gate}: {verdict.judgement}: {verdict.reason}")
    told = verdict.reason if verdict.judgement == "failed" else f"{verdict.judgement}: {verdict.reason}"
    return Failure(verdict.gate, Crash(told))


@dataclass(frozen=True, slots=True)
class Crash:
    """What pytest prints behind the dash of its short summary, and JUnit as a failure's message."""

    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed gate as pytest prints it: its promise and why it was not kept; there is no traceback."""

    gate: str
    reprcrash: Crash

    def __str__(self) -> str:
        return f"{self.gate}: {self.reprcrash.message}"

    def toterminal(self, writer: TerminalWriter) -> None:
        writer.line(str(self), red=True)
