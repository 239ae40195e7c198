"""All verdicts in one: whether the model may be released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from pytest_factorfair.domain import Verdict, plural

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]

OUTCOMES: Mapping[str, Outcome] = {"warn": "skipped", "fail": "failed", "pass": "passed"}
"""Outcome of inconclusive gates, by policy."""

SETTLED: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed", "waived": "skipped"}


def release(verdicts: Sequence[Verdict], unjudged: Sequence[str]) -> str:
    """``PASS: all 7 gates passed``, ``FAIL: 2 of 7 gates failed``, ``OPEN: ...``, or nothing without gates.

    A release passes when every gate does (an intersection-union test, which needs no correction),
    and fails when one does, which is why claims to have failed are corrected for their number. A PASS
    names what no gate judged.
    """
    found = Counter(verdict.judgement for verdict in verdicts)
    total = len(verdicts)
    gates = plural(total, "gate")
    if not verdicts:
        return ""
    if found["failed"]:
        return f"FAIL: {found['failed']} of {gates} failed"
    rest = [f"{found[one]} {one}" for one in ("inconclusive", "not judged", "waived") if found[one]]
    passed = f"{found['passed']} of {gates}" if rest else f"{'all ' * (total > 1)}{gates}"
    told = ", ".join([f"{passed} passed", *rest])
    if found["inconclusive"] or found["not judged"]:
        return f"OPEN: {told}"
    return f"PASS: {told}; no gate judges {', '.join(unjudged)}" if unjudged else f"PASS: {told}"


def outcome(verdict: Verdict, *, strict: bool, on_inconclusive: str) -> Outcome:
    """The outcome of the report of a verdict."""
    if verdict.judgement in SETTLED:
        return SETTLED[verdict.judgement]
    if strict:
        return "failed"
    return OUTCOMES[on_inconclusive] if verdict.judgement == "inconclusive" else "skipped"
