"""All verdicts in one: whether the model may be released, and what no gate judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from pytest_factorfair.domain import Gate, Score, Verdict, plural
from pytest_factorfair.protocols.combined import by_protocol, metrics, selected
from pytest_factorfair.protocols.measurement import Counts, Estimation

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]

OUTCOMES: Mapping[str, Outcome] = {"warn": "skipped", "fail": "failed", "pass": "passed"}
"""Outcome of inconclusive gates, by policy."""

SETTLED: Mapping[str, Outcome] = {"passed": "passed", "failed": "failed", "waived": "skipped"}


def release(verdicts: Sequence[Verdict], unjudged: Sequence[str]) -> str:
    """``PASS: all 7 gates passed``, ``FAIL: 2 of 7 gates failed``, ``OPEN: ...``, or nothing without gates.

    A release passes when all gates pass (an intersection-union test, which needs no correction) and fails
    when one fails, so failures are corrected for the number of gates. A PASS names what no gate judged.
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
    counts = ", ".join([f"{passed} passed", *rest])
    if found["inconclusive"] or found["not judged"]:
        return f"OPEN: {counts}"
    return f"PASS: {counts}; no gate judges {', '.join(unjudged)}" if unjudged else f"PASS: {counts}"


def outcome(verdict: Verdict, *, strict: bool, on_inconclusive: str) -> Outcome:
    """The outcome of pytest's report of a verdict."""
    if verdict.judgement in SETTLED:
        return SETTLED[verdict.judgement]
    if strict:
        return "failed"
    return OUTCOMES[on_inconclusive] if verdict.judgement == "inconclusive" else "skipped"


def unjudged(gates: Iterable[Gate], counts: Sequence[Counts], scores: Iterable[Score]) -> tuple[str, ...]:
    """Parts and contexts whose answers no gate judges, then metrics that no gate judges anywhere.

    Gates on missing answers do not judge answers. Only metrics with a value in this run are named.
    """
    declared, known = tuple(gates), metrics()
    judged: frozenset[Hashable] = frozenset().union(
        *(
            one.about
            for gate in declared
            if not known[gate.metric].counts_losses
            for one in selected(gate, counts, Estimation())
        )
    )
    places: dict[str, dict[str, bool]] = {}
    for protocol, mine in by_protocol(counts):
        for each in mine:
            for subject, place, attribute in protocol.subjects(each):
                here = places.setdefault(place, {})
                here[attribute] = here.get(attribute, True) and subject in judged
    whole = [place for place, covered in places.items() if not any(covered.values())]
    parts = [
        f"answers about {attribute} in {place}"
        for place, covered in places.items()
        for attribute in covered
        if place not in whole and not covered[attribute]
    ]
    had = {one.metric for one in scores if one.value is not None}
    left = had - {gate.metric for gate in declared}
    answers = [f"answers in {', '.join(whole)}"] if whole else []
    return (*answers, *parts, *(metric for metric in known if metric in left))
