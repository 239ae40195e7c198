"""Sum up all verdicts: whether the model may be released, and what no gate judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from pytest_factorfair.domain import Gate, ReleaseVerdict, Score, Verdict, listed, plural
from pytest_factorfair.gates.expression import parse
from pytest_factorfair.protocols.combined import by_benchmark, metrics, selected
from pytest_factorfair.protocols.measurement import Counts, Estimation


def release(
    verdicts: Sequence[Verdict],
    unjudged: Sequence[str],
    *,
    obstacles: Sequence[str] = (),
    tolerated: bool = False,
    deferred: str = "",
) -> ReleaseVerdict | None:
    """The verdict on the release; None if no gate is declared.

    A release passes when all gates pass (an intersection-union test, which needs no correction) and fails
    when one fails, so failures are corrected for the number of gates. A PASS names what no gate judged.

    Args:
        verdicts: of all declared gates.
        unjudged: parts, contexts and metrics that no gate judges.
        obstacles: why gates are undecided, each with what to do about it.
        tolerated: whether an undecided release lets the run pass.
        deferred: why this run judges nothing on purpose; empty if it judges.
    """
    if deferred:
        return ReleaseVerdict("NOT JUDGED", deferred, "", fails=False)
    if not verdicts:
        return None
    judged = Counter(verdict.judgement for verdict in verdicts)
    gates = plural(len(verdicts), "gate")
    if judged["failed"]:
        advice = "Do not ship it: each failure is explained below."
        return ReleaseVerdict("FAIL", f"{judged['failed']} of {gates} failed", advice, fails=True)
    not_passed = [
        f"{judged[name]} {name}" for name in ("inconclusive", "not judged", "waived") if judged[name]
    ]
    passed = f"{judged['passed']} of {gates}" if not_passed else f"{'all ' * (len(verdicts) > 1)}{gates}"
    counts = ", ".join([f"{passed} passed", *not_passed])
    if judged["inconclusive"] or judged["not judged"]:
        start = 'Not decided, which undecided = "warn" accepts' if tolerated else "Do not ship it yet"
        why = "; ".join(obstacles) or "the gates that are not decided are explained below"
        return ReleaseVerdict("UNDECIDED", counts, f"{start}: {why}.", fails=not tolerated)
    if unjudged:
        counts += f"; no gate judges {', '.join(unjudged)}"
    return ReleaseVerdict(
        "PASS WITH WAIVERS" if judged["waived"] else "PASS", counts, _praise(verdicts), fails=False
    )


def _praise(verdicts: Sequence[Verdict]) -> str:
    """The virtues of the model that its gates show, and the failures that were waived."""
    declared = metrics()
    passed = [parse(verdict.gate) for verdict in verdicts if verdict.judgement == "passed"]
    good = {"higher": ">=", "lower": "<="}
    virtues = dict.fromkeys(
        declared[gate.metric].virtue
        for gate in passed
        if not gate.regression and gate.comparison == good.get(declared[gate.metric].better)
    )
    did = [virtue for virtue in virtues if virtue]
    if any(gate.regression for gate in passed):
        did.append("got no worse since the former run")
    why = f": it {listed(did)}" if did else ""
    waived = [verdict.subject for verdict in verdicts if verdict.judgement == "waived"]
    but = f"; {listed(waived)} failed and {'is' if len(waived) == 1 else 'are'} waived" if waived else ""
    return f"Ship it, as far as these gates go{why}{but}."


def unjudged(gates: Iterable[Gate], counts: Sequence[Counts], scores: Iterable[Score]) -> tuple[str, ...]:
    """Parts and contexts with answers that no gate judges, then metrics that no gate judges.

    Gates on missing answers do not judge answers. Only metrics with a value in this run are named.
    """
    declared, all_metrics = tuple(gates), metrics()
    judged: frozenset[Hashable] = frozenset().union(
        *(
            measurement.covers
            for gate in declared
            if not all_metrics[gate.metric].counts_losses
            for measurement in selected(gate, counts, Estimation())
        )
    )
    contexts: dict[str, dict[str, bool]] = {}
    for measuring, benchmark_counts in by_benchmark(counts):
        for checklist_counts in benchmark_counts:
            for key, context, attribute in measuring.coverage(checklist_counts):
                attributes = contexts.setdefault(context, {})
                attributes[attribute] = attributes.get(attribute, True) and key in judged
    whole = [context for context, covered in contexts.items() if not any(covered.values())]
    parts = [
        f"answers about {attribute} in {context}"
        for context, covered in contexts.items()
        for attribute in covered
        if context not in whole and not covered[attribute]
    ]
    measured = {score.metric for score in scores if score.value is not None}
    uncovered = measured - {gate.metric for gate in declared}
    answers = [f"answers in {', '.join(whole)}"] if whole else []
    return (*answers, *parts, *(metric for metric in all_metrics if metric in uncovered))
