"""Checks that a report agrees with itself: its scores with its counts, its gates with its plan and scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from math import isclose
from typing import Any, NamedTuple, get_args

from pytest_factorfair.benchmarks import AnyBenchmark, benchmarks, benchmarks_of, rows_named
from pytest_factorfair.benchmarks.measurement import Counts, Estimation
from pytest_factorfair.benchmarks.measuring import ReportInputs
from pytest_factorfair.domain import Estimator, Interval, Score, Summary, Verdict, plan_digest
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import Terms, parse, possible, release_of
from pytest_factorfair.gates.judge import on_first
from pytest_factorfair.gates.threshold import UNLIMITED, BoundedScore, meets, valued, violates

NUMBERS = ("value", "n", "corrected", "low", "high")
"""The numbers of a score that its counts determine."""

JUDGED = ("gate", "subject", "model", "value", "threshold", "n", "low", "high", "judgement", "reason")
"""The fields of a verdict that its score determines."""


class Recomputed(NamedTuple):
    """How many scores and gates of a report were computed again."""

    scores: int
    gates: int


def check(summary: Summary, report: Mapping[str, Any], *, name: str) -> Recomputed:
    """How many scores and gates were computed again from the counts in the report, with the same result.

    ``report`` is the content of the report, ``name`` its name in messages.

    Raises:
        InputError: a score or a verdict is not what the report's own numbers and plan give.
    """
    run = summary.fingerprint
    if run.estimator not in get_args(Estimator) or run.interval not in get_args(Interval):
        raise InputError(f"{name}: unknown estimator '{run.estimator}' or interval '{run.interval}'")
    try:
        for gate in (
            *(verdict.gate for verdict in summary.gates),
            *(summary.plan.gates if summary.plan else ()),
        ):
            parse(gate)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    recomputable = tuple(_recomputable(summary, report))
    judged = _judged_again(summary, recomputable)
    gates = chain(_wrong_plan(summary), _misjudged(summary, judged), _wrong_verdicts(summary))
    for problem in chain(_wrong_rows(summary), gates):  # before scores, which take longer
        raise InputError(f"{name}: an edited report: {problem}")
    scores = tuple(_recomputed(summary, recomputable))
    for problem in chain(_wrong_scores(summary, scores), _wrong_values(summary)):
        raise InputError(f"{name}: an edited report: {problem}")
    return Recomputed(len(scores), len(judged))


def _recomputable(
    summary: Summary, report: Mapping[str, Any]
) -> Iterator[tuple[AnyBenchmark, Sequence[Counts]]]:
    """The benchmarks with scores that the counts in a report determine, and these counts."""
    if summary.fingerprint.estimator not in ("corrected", "plugin"):
        return  # the published code also counts statistics without a label, which are in no report
    for benchmark in benchmarks_of(summary.scores):
        if benchmark.recomputable and (counts := benchmark.saved(report)):
            yield benchmark, counts


def _recomputed(
    summary: Summary, recomputable: Sequence[tuple[AnyBenchmark, Sequence[Counts]]]
) -> Iterator[Score]:
    """The scores of the counts in a report."""
    run = summary.fingerprint
    inputs = ReportInputs(estimation=Estimation(run.estimator, run.interval))  # type: ignore[arg-type]
    for benchmark, counts in recomputable:
        for score in benchmark.report(counts, inputs).scores:
            if score.metric in benchmark.recomputable:
                yield score


def _key(score: Score) -> tuple[str | None, ...]:
    return score.model, score.checklist, score.part, score.context, score.attribute, score.metric


def _keys(summary: Summary) -> Iterator[tuple[object, ...]]:
    """What identifies each row of a report."""
    yield from map(_key, summary.scores)
    for name, rows in summary.rows.items():
        if rows and (declared := rows_named(name)):
            yield from ((*(getattr(row, field) for field in declared.key),) for row in rows)
    yield from (record.case for record in summary.cases)


def _wrong_rows(summary: Summary) -> Iterator[str]:
    """Rows that are there twice, or about a model or checklist that the run did not ask."""
    run = summary.fingerprint
    for key, count in Counter(_keys(summary)).items():
        if count > 1:
            yield f"{', '.join(str(part) for part in key if part not in (None, ''))} appears {count} times"
    for score in summary.scores:
        if score.model not in run.models or score.checklist not in run.checklists:
            yield f"a score is of '{score.model}' on '{score.checklist}', which the run did not ask"
    for record in summary.cases:
        if record.case.model not in run.models or record.case.checklist not in run.checklists:
            yield f"case '{record.case.case}' is of a model or checklist that the run did not ask"


def _wrong_scores(summary: Summary, again: Sequence[Score]) -> Iterator[str]:
    """Scores that are not those of the counts."""
    printed = {_key(score): score for score in summary.scores}
    for score in again:
        subject = ", ".join(filter(None, _key(score)))
        former = printed.get(_key(score))
        if former is None:
            yield f"it lacks {subject}"
            continue
        for field, was, is_now in _differing(former, score, NUMBERS):
            yield f"{field} of {subject} is {was}, and its counts give {is_now}"


def _differing(printed: object, again: object, fields: Sequence[str]) -> Iterator[tuple[str, object, object]]:
    """The fields with other values, which may differ by rounding."""
    for field in fields:
        was, is_now = getattr(printed, field), getattr(again, field)
        numbers = isinstance(was, int | float) and isinstance(is_now, int | float)
        if was != is_now and not (numbers and isclose(was, is_now, abs_tol=1e-9)):
            yield field, was, is_now


def _wrong_plan(summary: Summary) -> Iterator[str]:
    """Differences between the gates that were judged and those of the plan, or the plan and its digest."""
    run, plan = summary.fingerprint, summary.plan
    if plan is None:
        yield "it lacks its plan"
        return
    if run.plan and (digest := plan_digest(plan.canonical(run))) != run.plan:
        yield f"its plan has the digest {digest}, and the run was locked to {run.plan}"
    judged = dict.fromkeys(verdict.gate for verdict in summary.gates)
    for gate in dict.fromkeys(plan.gates):
        if gate not in judged:
            yield f"gate '{gate}' of its plan has no verdict"
    for gate in judged:
        if gate not in plan.gates:
            yield f"gate '{gate}' is not in its plan"


def _wrong_verdicts(summary: Summary) -> Iterator[str]:
    """Verdicts on the wrong side of their thresholds, and a release that is not the sum of its verdicts."""
    for verdict in summary.gates:
        decided = verdict.judgement in ("passed", "failed", "waived")
        if verdict.value is None or not (decided or verdict.low is not None):
            continue
        if decided and contradicts(verdict):
            yield f"gate '{verdict.name}' is {verdict.judgement}, and its bounds say otherwise"
        if (numbers := valued(parse(verdict.gate), _bounds(verdict), extent=UNLIMITED)) not in verdict.reason:
            yield f"gate '{verdict.name}' has the value {numbers}, and its reason says otherwise"
    printed = summary.release
    if printed is None or printed.word == "NOT JUDGED":
        if any(verdict.judgement != "not judged" for verdict in summary.gates):
            yield "it has verdicts but no release"
        return
    again = release_of(summary)
    fields = ("word", "counts") if printed.word == "UNDECIDED" else ("word", "counts", "advice", "next_step")
    if again is None or any(_differing(printed, again, fields)):
        yield f"the release is {printed.word}: {printed.counts}, and its gates say otherwise"


def _wrong_values(summary: Summary) -> Iterator[str]:
    """Verdicts with another value than their score, where this has a row of its own."""
    for verdict in summary.gates:
        gate, words = parse(verdict.gate), set(verdict.words)
        scores = [
            score
            for score in summary.scores
            if (score.model, score.metric, score.n) == (verdict.model, gate.metric, verdict.n)
            and words.issuperset((score.context or score.part, score.attribute))
        ]
        if len(scores) != 1 or gate.regression or verdict.value is None:
            continue
        if not any(
            isclose(verdict.value, value, abs_tol=1e-9)
            for value in (scores[0].shown, scores[0].value)
            if value is not None
        ):
            yield f"gate '{verdict.name}' has the value {verdict.value}, and its score {scores[0].shown}"


def contradicts(verdict: Verdict) -> bool:
    """Whether a verdict does not follow from its bounds, or its threshold is not that of its gate.

    Bounds on either side of the threshold can be waived.
    """
    gate, follows = parse(verdict.gate), {"passed": meets, "failed": violates}.get(verdict.judgement)
    return verdict.threshold != gate.threshold or not (follows is None or follows(gate, _bounds(verdict)))


def _bounds(verdict: Verdict) -> BoundedScore:
    """The value and the bounds of a verdict that has a value."""
    value = verdict.value
    assert value is not None  # noqa: S101  # the caller asked
    return BoundedScore(value, *(value if bound is None else bound for bound in (verdict.low, verdict.high)))


def _judged_again(
    summary: Summary, recomputable: Sequence[tuple[AnyBenchmark, Sequence[Counts]]]
) -> Mapping[str, Sequence[Verdict]]:
    """The verdicts that gates may have, by name, where counts in the report determine all their scores."""
    run, plan = summary.fingerprint, summary.plan
    if plan is None:
        return {}
    terms = Terms(
        run.estimator,  # type: ignore[arg-type]
        run.interval,  # type: ignore[arg-type]
        waivers=plan.waivers,
        today=datetime.fromisoformat(run.times["started"]).date(),
    )
    judged: dict[str, Sequence[Verdict]] = {}
    for recomputed, counts in recomputable:
        asked = frozenset[str]().union(*(of_model.vocabulary["checklist"] for of_model in counts))
        elsewhere = {
            metric
            for benchmark in benchmarks().values()
            if benchmark is not recomputed and not asked.issuperset(run.checklists)
            for metric in benchmark.metrics
        }
        gates = [
            gate
            for gate in map(parse, dict.fromkeys(plan.gates))
            if gate.metric in recomputed.recomputable - elsewhere and not gate.regression
        ]
        judged |= possible(
            gates,
            counts,
            incomplete=summary.gates[0].reason if summary.incomplete and summary.gates else None,
            terms=terms,
            looks=plan.looks,
            family=len(summary.gates),
        )
    return judged


def _misjudged(summary: Summary, judged: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    """Verdicts that the scores do not allow, at any look."""
    printed = {verdict.name: verdict for verdict in summary.gates}
    gates = {verdict.gate for verdicts in judged.values() for verdict in verdicts}
    for name, verdict in printed.items():
        if verdict.gate in gates and name not in judged:
            yield f"gate '{name}' judges a score that its counts lack"
    for name, verdicts in judged.items():
        former = printed.get(name)
        if former is None:
            yield f"it lacks gate '{name}'"
            continue
        if former.n < verdicts[0].n and former.reason.endswith(on_first(former.n)):
            continue
        differing = min((list(_differing(former, allowed, JUDGED)) for allowed in verdicts), key=len)
        for field, was, is_now in differing:
            yield f"{field} of gate '{name}' is {was}, and its counts give {is_now}"
