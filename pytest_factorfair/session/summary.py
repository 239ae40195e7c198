"""Records to summary: tabulate, score, judge. Each step is a pure function of the records."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from pytest_factorfair import gates as gating
from pytest_factorfair import reading
from pytest_factorfair.domain import Fingerprint, Gate, Summary
from pytest_factorfair.protocols.combined import report
from pytest_factorfair.protocols.measurement import Former, ReportInputs
from pytest_factorfair.session import shards
from pytest_factorfair.session.outlook import notices
from pytest_factorfair.session.tabulating import copied, counted, deterministic, prompts, tabulate
from pytest_factorfair.statistics.confusion import Confusion

if TYPE_CHECKING:
    from pytest_factorfair.session.baseline import Baseline
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.ledger import Incomplete, Ledger
    from pytest_factorfair.session.looks import Looked
    from pytest_factorfair.session.reasons import Explained
    from pytest_factorfair.session.run import Run


PROBABILITIES = (
    "answers are probabilities: scores are those at temperature 1, whatever the model's temperature"
)
"""A note of runs that read probabilities: temperature 0 would have measured the likeliest answers only."""


def summarise(  # noqa: PLR0913 - what a run says has many sources
    execution: Execution,
    ledger: Ledger,
    gates: Sequence[Gate],
    *,
    incomplete: Incomplete | None,
    baseline: Baseline | None,
    errors: Sequence[Confusion],
    looked: Looked,
    explained: Explained,
    started: datetime,
    seconds: float,
) -> Summary:
    """The summary of a run; ``incomplete`` is why its gates are not judged."""
    run = execution.run
    counts = tabulate(run, ledger.records)
    former = None if baseline is None else baseline.former(counted(run, ledger.records), prompts(run))
    terms = judging(run, started.date(), former, alpha=looked.alpha)
    unjudged = None if incomplete is None else incomplete.what
    verdicts = gating.judge(gates, counts, incomplete=unjudged, terms=terms)
    if incomplete is None:
        verdicts = looked.verdicts(verdicts, terms)
    reported = report(
        counts,
        ReportInputs(
            records=ledger.records,
            checklists=run.checklists,
            models=run.settings.models,
            estimation=terms.estimation,
            tables=errors,
            read_otherwise=frozenset(one.case.model for one in ledger.records if one.own_detector),
        ),
    )
    return Summary(
        fingerprint=fingerprint(run, started),
        incomplete=None if incomplete is None else incomplete.text,
        gates=verdicts,
        headline=reported.headline,
        scores=reported.scores,
        topics=reported.topics,
        cases=ledger.records,
        usage=replace(
            ledger.usage + shards.usage(execution.shards),
            throttled=sum(one.throttled for one in execution.endpoints),
            waited=round(sum(one.waited for one in execution.endpoints), 3),
        ),
        seconds=seconds,
        notes=(
            *notices(run),
            *shards.missing(execution.shards),
            *([PROBABILITIES] if run.settings.answers == "probabilities" else ()),
            *looked.notes,
            *explained.notes,
            *reported.notes,
            *copied(ledger.records, deterministic(run, ledger.records)),
            *reading.notes(ledger.records),
            *sorted({f"{one.case.model}: {note}" for one in ledger.records for note in one.notes}),
            *gating.unused(terms.waivers, verdicts),
        ),
        former=() if baseline is None else baseline.scores,
        changes=gating.changes(counts, former) if former else (),
        reasons=explained.reasons,
        corrections=reported.corrections,
        prompts=reported.prompts,
        unjudged=gating.unjudged(gates, counts, reported.scores),
    )


def judging(run: Run, today: date, former: Former | None, *, alpha: float) -> gating.Terms:
    """The terms by which gates are judged; waivers must be in force ``today``."""
    settings = run.settings
    granted = tuple(gating.Waiver(*waiver) for waiver in settings.waivers)
    return gating.Terms(
        settings.estimator, settings.interval, alpha=alpha, waivers=granted, today=today, former=former
    )


def fingerprint(run: Run, started: datetime) -> Fingerprint:
    """The values that another run must share to be compared with this one."""
    settings, sampling = run.settings, run.sampling
    return Fingerprint(
        models={spec: dict(model.identity) for spec, model in run.models.items()},
        checklists={one.name: one.digest for one in run.checklists},
        preset=settings.preset,
        design=sampling.design,
        truth=settings.truth,
        samples=sampling.samples,
        objective=sampling.objective,
        seed=sampling.seed,
        answers=settings.answers,
        estimator=settings.estimator,
        interval=settings.interval,
        detector=dict(run.detector.identity) if run.detector else {},
        versions={
            "python": platform.python_version(),
            **{name: version(name) for name in ("pytest-factorfair", "pytest", "numpy")},
        },
        times={
            "started": started.isoformat(timespec="seconds"),
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )
