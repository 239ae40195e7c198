"""Sum up all verdicts: whether the model may be released, and what no gate judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from pytest_factorfair.benchmarks.combined import by_benchmark, metrics, selected
from pytest_factorfair.benchmarks.measurement import Counts, Estimation
from pytest_factorfair.domain import Declining, Gate, ReleaseVerdict, Verdict, listed, plural
from pytest_factorfair.gates.evidence import TOO_CLOSE, WRONG_SIDE
from pytest_factorfair.gates.expression import parse


def release(  # noqa: PLR0913 - a release is the sum of many things
    verdicts: Sequence[Verdict],
    unjudged: Sequence[str],
    *,
    unreadable: Sequence[str] = (),
    obstacle: Obstacle | None = None,
    tolerated: bool = False,
    deferred: str = "",
    declining: Sequence[Declining] = (),
) -> ReleaseVerdict | None:
    """The verdict on the release; None if no gate is declared.

    A release passes when all gates pass (an intersection-union test, which needs no correction) and fails
    when one fails, so failures are corrected for the number of gates. A PASS names what no gate judged.

    Args:
        verdicts: of all declared gates.
        unjudged: parts and contexts that no gate judges.
        unreadable: the ids of cases that lost most of their answers, which fails their tests.
        obstacle: why the run left gates undecided, and what to do about it.
        tolerated: whether an undecided release lets the run pass.
        deferred: why this run judges nothing on purpose; empty if it judges.
        declining: how much models declined to judge.
    """
    if deferred:
        next_step = obstacle.remedy if obstacle else ""
        return ReleaseVerdict("NOT JUDGED", deferred, "", fails=False, next_step=next_step)
    if not verdicts:
        return None
    judged = Counter(verdict.judgement for verdict in verdicts)
    declined = [of.sentence for of in declining]
    gates = plural(len(verdicts), "gate")
    if judged["failed"]:
        failed = [verdict for verdict in verdicts if verdict.judgement == "failed"]
        counts = f"{judged['failed']} of {gates} failed"
        advice = " ".join((f"Do not ship it: {_why(failed, 'failed')}", *declined))
        return ReleaseVerdict("FAIL", counts, advice, fails=True, next_step=_next_step(failed))
    not_passed = [
        f"{judged[name]} {name}" for name in ("inconclusive", "not judged", "waived") if judged[name]
    ]
    passed = f"{judged['passed']} of {gates}" if not_passed else f"{'all ' * (len(verdicts) > 1)}{gates}"
    if unreadable:
        not_passed.append(f"{plural(len(unreadable), 'case')} unreadable")
    counts = ", ".join([f"{passed} passed", *not_passed])
    if judged["inconclusive"] or judged["not judged"] or unreadable:
        start = 'Not decided, which undecided = "warn" accepts' if tolerated else "Do not ship it yet"
        undecided = [verdict for verdict in verdicts if verdict.judgement in ("inconclusive", "not judged")]
        if obstacle and undecided:
            why, next_step = f"{obstacle.why}.", obstacle.remedy
        elif undecided:
            why, next_step = _why(undecided, "undecided"), _next_step(undecided)
        else:
            lost = "loses more than half of its answers, and no gate fails for it"
            why, next_step = f"{_some(unreadable)} {lost}.", f"factorfair show {unreadable[0]}"
        advice = " ".join((f"{start}: {why}", *declined))
        return ReleaseVerdict("UNDECIDED", counts, advice, not tolerated, next_step)
    if unjudged:
        counts += f"; no gate judges {', '.join(unjudged)}"
    advice = " ".join((_praise(verdicts, declining), *declined))
    return ReleaseVerdict("PASS WITH WAIVERS" if judged["waived"] else "PASS", counts, advice, fails=False)


def _some(cases: Sequence[str]) -> str:
    """The first of these cases, and how many there are more."""
    return f"case {cases[0]}" if len(cases) == 1 else f"each of {len(cases)} cases, such as {cases[0]},"


class Obstacle(NamedTuple):
    """Why a run left gates undecided, and what to do about it, both without a full stop."""

    why: str
    remedy: str


KINDS = 3
"""Kinds of answers that the advice names."""


def _why(verdicts: Sequence[Verdict], judged: str) -> str:
    """The first of these verdicts in plain words without its limit, or its cause; what the others share."""
    verdict, doubt = verdicts[0], ""
    if verdict.cause.startswith((TOO_CLOSE, WRONG_SIDE)):
        doubt = f", which is {verdict.cause}"
    of_cause = 0 if doubt or not verdict.cause else [entry.cause for entry in verdicts].count(verdict.cause)
    if of_cause > 1 or (of_cause and verdict.judgement != "failed"):
        gates = f"{of_cause} gates" if of_cause > 1 else verdict.subject
        why = f"{verdict.cause}, so {gates} {_judged(judged, of_cause)}."
    else:
        of_cause = 1
        clause = verdict.explanation.sentence.rpartition(";")[0] if verdict.explanation else ""
        why = f"{verdict.subject}: {verdict.reason}."
        if clause:
            why = f"{clause[:1].lower()}{clause[1:]}{doubt}."
    others = verdicts[1:]
    if of_cause > 1:
        others = [entry for entry in verdicts if entry.cause != verdict.cause]
    elif others and verdict.about and {entry.about for entry in others} == {verdict.about}:
        every = "Both" if len(others) == 1 else f"All {len(verdicts)}"
        return f"{why} {every} {judged} gates are on {verdict.about}."
    return f"{why} {_further(others, judged)}".rstrip()


def _further(verdicts: Sequence[Verdict], judged: str) -> str:
    """How many gates are judged alike, and what they are on, as a sentence; empty without gates."""
    if not verdicts:
        return ""
    abouts = Counter(verdict.about for verdict in verdicts if verdict.about).most_common(KINDS)
    on = [f"{count} on {about}" if len(abouts) > 1 else f"on {about}" for about, count in abouts]
    if uncounted := len(verdicts) - sum(count for _, count in abouts):
        on = [*on, f"{uncounted} on other answers"] if len(abouts) > 1 else []
    gates = f"{plural(len(verdicts), 'more gate')} {_judged(judged, len(verdicts))}"
    return f"{gates}{': ' if len(on) > 1 else ', '}{listed(on)}." if on else f"{gates}."


def _judged(judged: str, gates: int) -> str:
    """The predicate of a sentence about gates."""
    return judged if judged == "failed" else f"{'is' if gates == 1 else 'are'} {judged}"


def _next_step(verdicts: Sequence[Verdict]) -> str:
    """What to do about the first of these verdicts that says it."""
    explained = (verdict.explanation.next_step for verdict in verdicts if verdict.explanation)
    return next(filter(None, explained), "")


MOST_VIRTUES = 4
"""Things that a model did well that the advice names."""


MOSTLY = 0.5
"""The share of declined judgements from which nothing is said about how a model judges."""


def _praise(verdicts: Sequence[Verdict], declining: Sequence[Declining]) -> str:
    """The virtues of the model that its gates show, and the failures that were waived.

    A model that declined most judgements shows no virtue in them.
    """
    declared = metrics()
    passed = [parse(verdict.gate) for verdict in verdicts if verdict.judgement == "passed"]
    good = {"higher": ">=", "lower": "<="}
    virtues = dict.fromkeys(
        declared[gate.metric].virtue
        for gate in passed
        if not gate.regression and gate.comparison == good.get(declared[gate.metric].better)
    )
    did = [virtue for virtue in virtues if virtue and not any(of.share >= MOSTLY for of in declining)]
    if any(gate.regression for gate in passed):
        did.append("got no worse since the former run")
    total = [f"passes {plural(len(passed), 'gate')} in all"] if len(did) > MOST_VIRTUES else []
    why = f": it {listed([*did[:MOST_VIRTUES], *total])}" if did else ""
    waived = [verdict.subject for verdict in verdicts if verdict.judgement == "waived"]
    but = f"; {listed(waived)} failed and {'is' if len(waived) == 1 else 'are'} waived" if waived else ""
    return f"Ship it, as far as these gates go{why}{but}."


def unjudged(gates: Iterable[Gate], counts: Sequence[Counts]) -> tuple[str, ...]:
    """Parts and contexts whose answers no gate judges; gates on missing answers do not judge answers."""
    declared, all_metrics = tuple(gates), metrics()
    judged: frozenset[Hashable] = frozenset().union(
        *(
            measurement.covers
            for gate in declared
            if not all_metrics[gate.metric].counts_losses
            for measurement in selected(gate, counts, Estimation())
        )
    )
    coverage: dict[tuple[str, str], dict[str, bool]] = {}
    for measuring, benchmark_counts in by_benchmark(counts):
        for checklist_counts in benchmark_counts:
            for key, answers, context, attribute in measuring.coverage(checklist_counts):
                attributes = coverage.setdefault((answers, context), {})
                attributes[attribute] = attributes.get(attribute, True) and key in judged
    uncovered: dict[str, list[str]] = {}
    attributes_left = []
    for (answers, context), covered in coverage.items():
        if not any(covered.values()):
            uncovered.setdefault(answers, []).append(context)
            continue
        where = f" in {context}" if context else ""
        attributes_left += [
            f"{answers} about {attribute}{where}" for attribute in covered if not covered[attribute]
        ]
    contexts_left = (
        f"{answers} in {', '.join(contexts)}" if all(contexts) else answers
        for answers, contexts in uncovered.items()
    )
    return (*contexts_left, *attributes_left)
