"""Verdicts as reports tell them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_factorfair.domain import Judgement, Verdict

SIGNS: Mapping[Judgement, str] = {
    "failed": "FAILED",
    "waived": "waived",
    "inconclusive": "inconclusive",
    "not judged": "not judged",
    "passed": "passed",
}
"""What a verdict is called, in the order they are shown."""


NO_GATES = "No gates were declared: this run reports, it does not judge."
"""Stands where the verdict would."""


class VerdictLine(NamedTuple):
    """A verdict, or several of one gate that say the same."""

    judgement: Judgement
    gate: str
    subject: str
    reason: str


MERGED = 3
"""So many scores that kept the same promise are told in one line."""


def verdict_lines(verdicts: Iterable[Verdict]) -> tuple[VerdictLine, ...]:
    """Verdicts, those that need attention first; a gate kept on many scores has one line."""
    order = list(SIGNS)
    told = sorted(verdicts, key=lambda verdict: order.index(verdict.judgement))
    kept = Counter(verdict.gate for verdict in told if verdict.judgement == "passed")
    lines = [
        VerdictLine("passed", one.gate, one.gate, f"on {kept[one.gate]} scores")
        if one.judgement == "passed" and kept[one.gate] >= MERGED
        else VerdictLine(one.judgement, one.gate, one.subject, one.reason)
        for one in told
    ]
    return tuple(dict.fromkeys(lines))
