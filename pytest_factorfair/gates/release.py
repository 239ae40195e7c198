"""All verdicts in one: whether the model may be released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_factorfair.domain import Verdict, plural


def release(verdicts: Sequence[Verdict]) -> str:
    """``PASS: all 7 gates passed``, ``FAIL: 2 of 7 gates failed``, ``OPEN: ...``, or nothing without gates.

    A release passes when every gate does (an intersection-union test, which needs no correction),
    and fails when one does, which is why claims to have failed are corrected for their number.
    """
    found = Counter(verdict.judgement for verdict in verdicts)
    total = len(verdicts)
    gates = plural(total, "gate")
    if not verdicts:
        return ""
    if found["failed"]:
        return f"FAIL: {found['failed']} of {gates} failed"
    if found["passed"] == total:
        return f"PASS: {'all ' * (total > 1)}{gates} passed"
    rest = ", ".join(f"{found[one]} {one}" for one in ("inconclusive", "not judged", "waived") if found[one])
    undecided = found["inconclusive"] + found["not judged"]
    return f"{'OPEN' if undecided else 'PASS'}: {found['passed']} of {gates} passed, {rest}"
