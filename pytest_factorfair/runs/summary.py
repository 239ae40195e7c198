"""Records to summary: tabulate, score, judge, and quote examples from the store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import gates as gating
from pytest_factorfair import reading
from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.combined import by_benchmark, declining, metrics, report
from pytest_factorfair.benchmarks.measuring import ReportInputs
from pytest_factorfair.benchmarks.rates import of_all
from pytest_factorfair.domain import (
    Answer,
    Case,
    CaseKey,
    Declining,
    Fingerprint,
    Illustration,
    InfluentialTopic,
    PlanTerms,
    ReasonCitations,
    Record,
    ReportedOutcome,
    Summary,
    Usage,
    Verdict,
    excerpt,
    listed,
    plan_digest,
    plural,
)
from pytest_factorfair.drawing.statements import READ_AS, answerers
from pytest_factorfair.errors import StoreError
from pytest_factorfair.runs.looks import AFTER_FAIL, judging
from pytest_factorfair.runs.planning.outlook import notices
from pytest_factorfair.runs.tabulating import copied, deterministic

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks.measurement import BaselineCounts, Counts
    from pytest_factorfair.domain import Change
    from pytest_factorfair.runs.baseline import Baseline
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.ledger import IncompleteRun, Ledger, StartTime
    from pytest_factorfair.runs.looks import LooksResult
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.statistics.confusion import Confusion
    from pytest_factorfair.store import CallTexts


PROBABILITIES = (
    "answers are probabilities: scores are those at temperature 1, whatever the model's temperature"
)
"""A note of runs that read probabilities: temperature 0 would have measured the likeliest answers only."""


def summarise(  # noqa: PLR0913 - what a run says has many sources
    execution: Execution,
    ledger: Ledger,
    *,
    start: StartTime,
    plan: PlanTerms,
    incomplete: IncompleteRun | None,
    baseline: Baseline | None,
    errors: Sequence[Confusion],
    looks: LooksResult,
    reasons: ReasonCitations,
) -> Summary:
    """The summary of a run; ``incomplete`` is why its gates are not judged."""
    run, gates = execution.run, execution.run.gates
    counts = looks.counts or run.tabulate(ledger.records)
    baseline_counts = None if baseline is None else baseline.compared(run.cases)
    terms = judging(run, start.at.date(), baseline_counts, alpha=looks.alpha)
    inputs = ReportInputs(
        records=ledger.records,
        checklists=run.checklists,
        models=run.settings.models,
        estimation=terms.estimation,
        tables=errors,
        read_otherwise=frozenset(record.case.model for record in ledger.records if record.own_detector),
        gates=gates if incomplete is None else (),
        baseline=baseline_counts,
    )
    reported = report(counts, inputs)
    unjudged, declined = gating.unjudged(gates, counts), declining(reported)
    if incomplete is None:
        verdicts = gating.judge(gates, counts, incomplete=None, terms=terms, settled=looks.settled)
        verdicts = tuple(_spared(_named_losses(run, verdicts, ledger.records, declined), looks.spared))
    else:
        verdicts = gating.judge(gates, counts, incomplete=incomplete.brief, terms=terms)
    dated = _dated(run.fingerprint(start.at), execution, ledger, baseline)
    return Summary(
        fingerprint=replace(dated, plan=plan_digest(plan.canonical(dated)) if run.settings.locked else ""),
        incomplete=None if incomplete is None else incomplete.text,
        gates=verdicts,
        scores=reported.scores,
        cases=ledger.records,
        usage=_usage(execution, ledger),
        seconds=start.seconds,
        notes=tuple(_notes(execution, ledger.records, (*looks.notes, *reasons.notes, *reported.notes))),
        former=() if baseline is None else baseline.scores,
        changes=_changes(counts, baseline_counts),
        reasons=reasons.shares,
        rows=reported.rows,
        counts=reported.counts,
        unjudged=unjudged,
        release=gating.release(
            # The advice is about what keeps the model from its release, not about what that has spared.
            sorted(verdicts, key=lambda verdict: verdict.name in looks.spared),
            unjudged,
            unreadable=[record.case.case for record in ledger.records if not record.readable],
            obstacle=_obstacle(execution, incomplete, looks),
            tolerated=run.settings.undecided == "warn",
            deferred=_deferred(run, incomplete),
            declining=declined,
            look=_look(run, [share.model for share in declined if share.mostly]),
            metrics=metrics(benchmark for benchmark, _ in by_benchmark(counts)),
            scores=reported.scores,
        ),
        plan=plan,
    )


def _changes(counts: Sequence[Counts], former: BaselineCounts | None) -> tuple[Change, ...]:
    """The changes of scores since the baseline; none without one."""
    if not former:
        return ()
    from pytest_factorfair.gates.comparison import changes

    return changes(counts, former)


def _usage(execution: Execution, ledger: Ledger) -> Usage:
    """The usage of the run and of its shards, with how long endpoints made calls wait."""
    endpoints = execution.account.endpoints
    return replace(
        ledger.usage + execution.shards_usage,
        throttled=sum(endpoint.throttled for endpoint in endpoints),
        waited=round(sum(endpoint.waited for endpoint in endpoints), 3),
    )


def _notes(execution: Execution, records: Sequence[Record], further: Iterable[str]) -> Iterator[str]:
    """Notes on what the run asks, then ``further`` ones, then notes on its records."""
    run = execution.run
    yield from notices(run)
    yield from execution.notes
    yield from execution.missing_shards
    if run.settings.answers == "probabilities":
        yield PROBABILITIES
    yield from further
    copies_counted = {checklist.name for checklist in run.checklists if benchmark_of(checklist).counts_copies}
    others = [record for record in records if record.case.checklist not in copies_counted]
    yield from copied(others, deterministic(run.models, records))
    yield from reading.notes(records)
    yield from answerers({spec: model.identity for spec, model in run.models.items()}, records)
    yield from sorted({f"{record.case.model}: {note}" for record in records for note in record.notes})


def _deferred(run: Run, incomplete: IncompleteRun | None) -> str:
    """Why this run judges nothing on purpose; empty if it judges."""
    if incomplete is not None and incomplete.kind in ("shard", "submitted"):
        return incomplete.text
    return "" if incomplete is not None and run.settings.first_baseline else run.settings.set_aside


def _look(run: Run, silent: Sequence[str]) -> str:
    """How to look at what these models would choose where they decline; empty if none gives probabilities.

    JSON would not do: a model may decline in it, too.
    """
    counted = all(benchmark_of(checklist).counts_probabilities for checklist in run.checklists)
    models = [spec for spec in silent if counted and "probabilities" in run.other_modes(run.models[spec])]
    if not models:
        return ""
    subject = listed(models) if len(run.models) > 1 else "it"
    return (
        f"To look at what {subject} would choose, add --factorfair-answers=probabilities "
        "--factorfair-gate=none: a belief that it does not voice is no behaviour, so nothing is judged."
    )


def _obstacle(
    execution: Execution, incomplete: IncompleteRun | None, looks: LooksResult
) -> gating.Obstacle | None:
    """Why gates stay undecided, if the run is the reason."""
    run = execution.run
    if incomplete is not None:
        return gating.Obstacle(incomplete.text, incomplete.remedy)
    if (baseline := run.settings.first_baseline) is not None:
        return gating.Obstacle("", f"commit {Path(baseline).name}, with which later runs are compared")
    if looks.obstacle is not None or not run.can_look_again:
        return looks.obstacle
    if execution.archived:
        return gating.Obstacle(*execution.without_answers)
    if run.settings.looks == 1 and "looks" in run.settings.origins:
        where = run.settings.where("looks")
        remedy = f"leave {where} out: undecided gates then ask for more answers"
        return gating.Obstacle(f"{where}=1 allows no second look", remedy)
    return None


LOSSES: Mapping[ReportedOutcome, str] = {
    "refused": "it refused {count} questions",
    "filtered": "the provider filtered {count} replies",
    "unparsed": "{count} replies could not be parsed",
    "error": "{count} questions ended in an error",
}
"""What became of answers that are missing."""


def _named_losses(
    run: Run, verdicts: Iterable[Verdict], records: Sequence[Record], declined: Iterable[Declining]
) -> Iterator[Verdict]:
    """The verdicts; where lost answers are the cause, the reason says how many were lost, and how.

    If most replies could not be parsed, they advise to ask in another way.
    """
    outcomes_by_model: dict[str, Counter[ReportedOutcome]] = {}
    for record in records:
        outcomes_by_model.setdefault(record.case.model, Counter()).update(record.reported_outcomes)
    neutral = {share.model: share.number for share in declined}  # refused, but not lost
    causes, steps = {}, {}
    for model, counts in outcomes_by_model.items():
        total = counts.total()
        counts["refused"] -= neutral.get(model, 0)
        parts = [
            text.format(count=of_all(counts[outcome], total))
            for outcome, text in LOSSES.items()
            if counts[outcome]
        ]
        causes[model] = " and ".join(parts)
        if 2 * counts["unparsed"] > total:
            steps[model] = _way_to_ask(run, model, records)
    for verdict in verdicts:
        if not verdict.cause.startswith(gating.LOST) or not causes.get(verdict.model):
            yield verdict
            continue
        explanation = verdict.explanation
        if explanation is not None and verdict.model in steps:
            explanation = replace(explanation, next_step=steps[verdict.model])
        cause = verdict.cause.replace(gating.LOST, causes[verdict.model])
        yield replace(verdict, cause=cause, explanation=explanation)


def _spared(verdicts: Iterable[Verdict], spared: AbstractSet[str]) -> Iterator[Verdict]:
    """The verdicts; if no further look was taken because the model cannot be released, the reason says so."""
    for verdict in verdicts:
        if verdict.name in spared and verdict.explanation is not None:
            step = f"to settle this gate, too, set {AFTER_FAIL}: it asks for more answers"
            yield replace(verdict, explanation=replace(verdict.explanation, next_step=step))
        else:
            yield verdict


def _way_to_ask(run: Run, model: str, records: Iterable[Record]) -> str:
    """The advice for the most frequent reason why replies of a model could not be parsed."""
    reasons = Counter(
        answer.reason
        for record in records
        if record.case.model == model
        for answer in record.answers
        if answer.outcome == "unparsed"
    )
    ((reason, _),) = reasons.most_common(1)
    asked = run.models[model]
    pictured, logged = run.modality == "image", run.logged(asked)
    return reading.remedy(reason, run.other_modes(asked), pictured=pictured, logged=logged)


def _dated(
    undated: Fingerprint, execution: Execution, ledger: Ledger, baseline: Baseline | None
) -> Fingerprint:
    """The fingerprint with the time of the baseline, and of the first and last answer if some were stored."""
    if baseline is not None:
        baseline_time = {"baseline": baseline.fingerprint["times"].get("finished", "")}
        undated = replace(undated, times={**undated.times, **baseline_time})
    if not (ledger.usage.cached or execution.archived):
        return undated
    try:
        span = execution.responses.span(answer.key for record in ledger.records for answer in record.answers)
    except StoreError:  # the verdicts stand without
        span = None
    if span is None or span[0] >= undated.times["started"]:  # the run asked before its first item
        return undated
    return replace(undated, times={**undated.times, "first_answer": span[0], "last_answer": span[1]})


QUOTED = 3
"""How many different replies to a question are quoted."""

LONGEST = 80
"""How many characters of a reply are quoted."""


def illustrated(
    summary: Summary,
    cases: Iterable[Case],
    replies_by_key: Callable[[Iterable[str]], Mapping[str, CallTexts]],
) -> Summary:
    """The summary with an example in each explanation that names topics; ``replies_by_key`` gets its replies.

    Raises:
        StoreError: the store cannot be read.
    """
    examples: dict[tuple[str, InfluentialTopic], Illustration | None] = {}
    gists = {(case.checklist, case.id): case.gist for case in cases}
    outcomes: dict[str, Counter[ReportedOutcome]] = {}
    for record in summary.cases:
        outcomes.setdefault(record.case.model, Counter()).update(record.reported_outcomes)

    def shown(verdict: Verdict) -> Verdict:
        explanation = verdict.explanation
        if explanation is None or not explanation.movers:
            return verdict
        key = verdict.model, explanation.movers[0]
        if key not in examples:
            examples[key] = _example(summary.cases, gists, *key, replies_by_key)
        sentence, counts = explanation.sentence, outcomes[verdict.model]
        if counts["filtered"] and explanation.movers[0].reply == "refused":
            sentence += (
                f" The model itself refused {counts['refused'] or 'nothing'} in this run: its provider "
            )
            sentence += f"filtered {plural(counts['filtered'], 'reply', 'replies')}, which count as refused."
        return replace(verdict, explanation=replace(explanation, sentence=sentence, example=examples[key]))

    return replace(summary, gates=tuple(map(shown, summary.gates)))


def _example(
    records: Iterable[Record],
    gists: Mapping[tuple[str, str], str],
    model: str,
    mover: InfluentialTopic,
    replies_by_key: Callable[[Iterable[str]], Mapping[str, CallTexts]],
) -> Illustration | None:
    """The first question of the topic that got a typical reply, with all replies to its prompt."""
    keys = {CaseKey(model, mover.cases.checklist, case) for case in mover.cases.ids}
    for record in records:
        if record.case not in keys:
            continue
        typical = next(
            (
                answer
                for answer in record.answers
                if answer.key
                and (
                    not mover.reply or mover.reply in (*answer.groups.values(), answer.letter, answer.outcome)
                )
                and mover.condition.met_by(answer)
            ),
            None,
        )
        if typical is None:
            continue
        texts = replies_by_key([answer.key for answer in record.answers if answer.key])
        if typical.key not in texts:
            continue
        prompt = texts[typical.key].prompt
        replies = Counter(
            _reply(answer, texts[answer.key].body)
            for answer in record.answers
            if answer.key in texts and texts[answer.key].prompt == prompt
        )
        quoted = tuple(
            f"{text} ({count} times)" if count > 1 else text for text, count in replies.most_common(QUOTED)
        )
        return Illustration(str(json.loads(prompt)), quoted, gists[record.case[1:]])
    return None


def _reply(answer: Answer, body: str) -> str:
    """The reply in quotation marks, if it is text, and its reading."""
    response = json.loads(body)
    text = excerpt(str(response["text"] or ""), LONGEST) if response else ""
    groups = answer.groups.values()
    if answer.outcome != "answered":
        return f"“{text}”, {answer.reported_outcome}" if text else answer.reported_outcome
    return f"“{text}”, {READ_AS}{', '.join(groups)}" if text else f"perceived as {', '.join(groups)}"
