"""Sum up all verdicts: the release, what they have in common, and what no gate judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_factorfair.benchmarks import benchmarks_of, combined
from pytest_factorfair.benchmarks.combined import by_benchmark, metric_named, selected
from pytest_factorfair.benchmarks.measurement import Counts, Estimation
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.domain import (
    Declining,
    Gate,
    Judgement,
    ReleaseVerdict,
    ReleaseWord,
    Score,
    Summary,
    Verdict,
    listed,
    plural,
)
from pytest_factorfair.errors import attributed
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
    look: str = "",
    metrics: Mapping[str, Metric],
    scores: Sequence[Score] = (),
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
        look: how to look at what they do not say.
        metrics: those of the run's benchmarks, by name, with their words for what a model does well.
        scores: those of the run, which say whether a model that passes lax gates treats groups evenly.
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
        advice = " ".join((f"Do not ship {_whom(failed, verdicts)}: {_why(failed, 'failed')}", *declined))
        return ReleaseVerdict("FAIL", counts, advice, fails=True, next_step=_next_step(failed), look=look)
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
            case, lost = unreadable[0], "loses more than half of its answers, and no gate fails for it"
            several = f"each of {len(unreadable)} cases, such as {case},"
            why = f"{several if len(unreadable) > 1 else f'case {case}'} {lost}."
            next_step = f"factorfair show {case}"
        advice = " ".join((f"{start}: {why}", *declined))
        return ReleaseVerdict("UNDECIDED", counts, advice, not tolerated, next_step, look)
    if unjudged:
        counts += f"; no gate judges {', '.join(unjudged)}"
    advice = " ".join((_praise(verdicts, declining, metrics, scores), *declined))
    word: ReleaseWord = "PASS WITH WAIVERS" if judged["waived"] else "PASS"
    return ReleaseVerdict(word, counts, advice, fails=False, look=look)


def release_of(summary: Summary) -> ReleaseVerdict | None:
    """The release that the verdicts of a report add up to, without what kept its run from deciding."""
    return release(
        summary.gates,
        summary.unjudged,
        unreadable=[record.case.case for record in summary.cases if not record.readable],
        declining=combined.declining(summary),
        metrics=combined.metrics(benchmarks_of(summary.scores)),
        scores=summary.scores,
    )


def _whom(failed: Sequence[Verdict], verdicts: Sequence[Verdict]) -> str:
    """The models that failed, by name if the run has several; a gate that selects no score has none."""
    models = {verdict.model for verdict in verdicts if verdict.model}
    names = list(dict.fromkeys(verdict.model for verdict in failed if verdict.model))
    return listed(names) if names and len(models) > 1 else "it"


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
        clauses = verdict.explanation.clauses if verdict.explanation else ()
        why = f"{clauses[0]}{doubt}." if clauses else f"{verdict.subject}: {verdict.reason}."
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


FACTS = "objective"
"""A word of verdicts on facts."""


UNEVEN = 0.20
"""The strength of a stereotype from which judgements are not praised: what the recommended gates allow."""


def _unevenness(verdicts: Sequence[Verdict], scores: Sequence[Score]) -> str:
    """A passed gate on judgements that a stereotype shows in, in plain words; empty if all are even.

    It is the strongest of the first such metric, so that S_E comes before scores that follow from it.
    """
    strengths = {
        (score.model, score.metric, frozenset({score.context or score.part, score.attribute})): score.strength
        for score in scores
        if score.part != FACTS and score.strength is not None
    }
    checklists = {score.checklist for score in scores}
    uneven: dict[str, list[tuple[float, str, tuple[str, ...]]]] = {}
    for verdict in verdicts:
        gate, words = parse(verdict.gate), frozenset({*verdict.words} - checklists - {verdict.model})
        strength = strengths.get((verdict.model, gate.metric, words), 0.0)
        if (
            verdict.judgement == "passed"
            and verdict.explanation
            and strength > UNEVEN
            and not gate.regression
        ):
            uneven.setdefault(gate.metric, []).append((strength, verdict.model, verdict.explanation.clauses))
    if not uneven:
        return ""
    _, model, clauses = max(next(iter(uneven.values())))
    subject = f"{model}: " if len({verdict.model for verdict in verdicts}) > 1 else ""
    return f"{subject}{'; '.join(clauses)}"


def _praise(
    verdicts: Sequence[Verdict],
    declining: Sequence[Declining],
    metrics: Mapping[str, Metric],
    scores: Sequence[Score],
) -> str:
    """The virtues of the model that its gates show, and the gates that were waived.

    If a model declined most judgements, or they are uneven, only knowing facts is a virtue.
    """
    passed = [(verdict, parse(verdict.gate)) for verdict in verdicts if verdict.judgement == "passed"]
    good = {"higher": ">=", "lower": "<="}
    uneven = _unevenness(verdicts, scores)
    silent = bool(uneven) or any(of.mostly for of in declining)
    virtues = dict.fromkeys(
        metrics[gate.metric].virtue
        for verdict, gate in passed
        if not gate.regression
        and gate.comparison == good.get(metrics[gate.metric].better)
        and (not silent or (gate.comparison == ">=" and FACTS in verdict.words))
    )
    did = [virtue for virtue in virtues if virtue]
    did += dict.fromkeys(metrics[gate.metric].unchanged for _, gate in passed if gate.regression)
    total = [f"passes {plural(len(passed), 'gate')} in all"] if len(did) > MOST_VIRTUES else []
    why = f": it {listed([*did[:MOST_VIRTUES], *total])}" if did else ""
    if uneven:
        why += f"; but {uneven}"
    waived = [verdict.subject for verdict in verdicts if verdict.judgement == "waived"]
    but = (
        f"; {listed(waived)} did not pass and {'is' if len(waived) == 1 else 'are'} waived" if waived else ""
    )
    return f"Ship it, as far as these gates go{why}{but}."


SIGNS: Mapping[Judgement, str] = {
    "failed": "FAILED",
    "waived": "waived",
    "inconclusive": "inconclusive",
    "not judged": "not judged",
    "passed": "passed",
}
"""What verdicts are called, in the order of the attention they need."""

MERGED = 3
"""A gate that passes on at least this many scores is reported in one line."""


class VerdictLine(NamedTuple):
    """A verdict in a line: of which gate, on what, and why; the latter two cover all that a gate passed."""

    judgement: Judgement
    gate: str
    subject: str
    reason: str
    verdict: Verdict | None = None


class VerdictGroup(NamedTuple):
    """Verdicts that are reported together.

    Those that did not pass have a ``cause`` in common; if it is empty, they are on the same answers of a
    model. Those that passed are of the same gate.
    """

    judgement: Judgement
    cause: str
    verdicts: tuple[Verdict, ...]

    @property
    def lines(self) -> tuple[VerdictLine, ...]:
        """A line per verdict; only one if very many passed."""
        gate, count = self.verdicts[0].gate, len(self.verdicts)
        if self.judgement == "passed" and count >= MERGED:
            return (VerdictLine(self.judgement, gate, gate, f"on {count} scores"),)
        return tuple(
            VerdictLine(self.judgement, verdict.gate, verdict.subject, verdict.reason, verdict)
            for verdict in self.verdicts
        )


def grouped(verdicts: Sequence[Verdict]) -> tuple[VerdictGroup, ...]:
    """All verdicts in groups, in the order of the attention they need."""
    order, groups = list(SIGNS), dict[tuple[str, ...], list[Verdict]]()
    common = Counter((verdict.judgement, verdict.model, _cause(verdict)) for verdict in verdicts)
    for verdict in sorted(verdicts, key=lambda verdict: order.index(verdict.judgement)):
        cause, key = _cause(verdict), (verdict.model, verdict.about or verdict.name)
        if verdict.judgement == "passed":
            key = ("", verdict.gate)
        elif cause and common[verdict.judgement, verdict.model, cause] > 1:
            key = (verdict.model, "")
        else:
            cause = ""
        groups.setdefault((verdict.judgement, cause, *key), []).append(verdict)
    return tuple(
        VerdictGroup(members[0].judgement, cause, tuple(members))
        for (_, cause, *_), members in groups.items()
    )


def _cause(verdict: Verdict) -> str:
    """What several verdicts may have in common besides their answers."""
    if verdict.judgement == "passed":
        return ""
    return verdict.cause or (verdict.reason if verdict.judgement == "not judged" else "")


def unjudged(gates: Iterable[Gate], counts: Sequence[Counts]) -> tuple[str, ...]:
    """Parts and contexts whose answers no gate judges; gates on missing answers do not judge answers."""
    declared = tuple(gates)
    judged: frozenset[Hashable] = frozenset().union(
        *(
            measurement.covers
            for gate in declared
            if not metric_named(gate.metric).counts_losses
            for measurement in selected(gate, counts, Estimation())
        )
    )
    coverage: dict[tuple[str, str], dict[str, bool]] = {}
    for benchmark, benchmark_counts in by_benchmark(counts):
        for checklist_counts in benchmark_counts:
            with attributed(f"the coverage of benchmark '{benchmark.name}'"):
                coverable = tuple(benchmark.coverage(checklist_counts))
            for key, answers, context, attribute in coverable:
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
