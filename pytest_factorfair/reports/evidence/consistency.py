"""Checks that a report agrees with itself: its scores with its counts, its verdicts with its bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose
from typing import Any

from pytest_factorfair.domain import Score, Summary, Verdict
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import parse
from pytest_factorfair.gates.threshold import BoundedScore, meets, violates
from pytest_factorfair.protocols import benchmarks
from pytest_factorfair.protocols.measurement import Estimation
from pytest_factorfair.protocols.measuring import ReportInputs

NUMBERS = ("value", "n", "corrected", "low", "high")
"""The numbers of a score that its counts determine."""


def check(summary: Summary, report: Mapping[str, Any], *, name: str) -> int:
    """The number of scores that were computed again from the counts in the report, and are the same.

    ``report`` is the content of the report, ``name`` its name in messages.

    Raises:
        InputError: a score or a verdict is not what the report's own numbers give.
    """
    for problem in (*_wrong_rows(summary), *_wrong_verdicts(summary)):
        raise InputError(f"{name}: an edited report: {problem}")
    printed = {_key(score): score for score in summary.scores}
    again = tuple(_recomputed(summary, report))
    for score in again:
        subject = ", ".join(filter(None, _key(score)))
        former = printed.get(_key(score))
        if former is None:
            raise InputError(f"{name}: an edited report: it lacks {subject}")
        for number in NUMBERS:
            is_now, was = getattr(score, number), getattr(former, number)
            if is_now != was and (is_now is None or was is None or not isclose(is_now, was, abs_tol=1e-9)):
                raise InputError(
                    f"{name}: an edited report: {number} of {subject} is {was}, and its counts give {is_now}"
                )
    return len(again)


def _key(score: Score) -> tuple[str | None, ...]:
    return (score.model, score.checklist, score.part, score.context, score.attribute, score.metric)


def _recomputed(summary: Summary, report: Mapping[str, Any]) -> Iterator[Score]:
    """The scores of the counts in a report, as far as these determine them."""
    run = summary.fingerprint
    if run.estimator not in ("corrected", "plugin"):
        return  # the published code also counts statistics without a label, which are in no report
    inputs = ReportInputs(estimation=Estimation(run.estimator, run.interval))  # type: ignore[arg-type]
    for benchmark in benchmarks().values():
        measuring = benchmark.measuring
        if measuring.recomputable:
            for score in measuring.report(measuring.saved(report), inputs).scores:
                if score.metric in measuring.recomputable:
                    yield score


def _wrong_rows(summary: Summary) -> Iterator[str]:
    """Rows about a model or checklist that the run did not ask."""
    run = summary.fingerprint
    for score in summary.scores:
        if score.model not in run.models or score.checklist not in run.checklists:
            yield f"a score is of '{score.model}' on '{score.checklist}', which the run did not ask"
    for record in summary.cases:
        if record.case.model not in run.models or record.case.checklist not in run.checklists:
            yield f"case '{record.case.case}' is of a model or checklist that the run did not ask"


def _wrong_verdicts(summary: Summary) -> Iterator[str]:
    """Verdicts on the wrong side of their thresholds, and a release that is not the sum of its verdicts."""
    for verdict in summary.gates:
        if verdict.judgement in ("passed", "failed") and verdict.value is not None and contradicts(verdict):
            yield f"gate '{verdict.name}' is {verdict.judgement}, and its bounds say otherwise"
    if summary.release is not None:
        failed = any(verdict.judgement == "failed" for verdict in summary.gates)
        if failed != (summary.release.word == "FAIL"):
            yield f"the release is {summary.release.word}, and its gates say otherwise"


def contradicts(verdict: Verdict) -> bool:
    """Whether a verdict does not follow from its bounds, or its threshold is not that of its gate."""
    gate, value = parse(verdict.gate), verdict.value
    assert value is not None  # noqa: S101  # the caller asked
    low, high = (value if bound is None else bound for bound in (verdict.low, verdict.high))
    follows = meets if verdict.judgement == "passed" else violates
    return verdict.threshold != gate.threshold or not follows(gate, BoundedScore(value, low, high))
