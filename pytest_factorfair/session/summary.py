"""Records to summary: tabulate, score, judge. Each step is a pure function of what was recorded."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING

from pytest_factorfair import gates as gating
from pytest_factorfair import scoring
from pytest_factorfair.domain import DIRECTIONS, Fingerprint, Gate, Summary, TopicCounts
from pytest_factorfair.protocols.fact_or_fair.checklist import fact_or_fair
from pytest_factorfair.scoring.faintbench import prompt_counts, uncounted
from pytest_factorfair.scoring.faintbench import scores as scores_of
from pytest_factorfair.session.answering import OWN_DETECTOR
from pytest_factorfair.session.tabulating import counted, deterministic, galleries, prompts, tabulate

if TYPE_CHECKING:
    from pytest_factorfair.scoring import Tally
    from pytest_factorfair.session.baseline import Baseline
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.ledger import Incomplete, Ledger
    from pytest_factorfair.session.looks import Looked
    from pytest_factorfair.session.reasons import Explained
    from pytest_factorfair.session.run import Run


def summarise(  # noqa: PLR0913 - what a run says has many sources
    execution: Execution,
    ledger: Ledger,
    gates: Sequence[Gate],
    *,
    incomplete: Incomplete | None,
    baseline: Baseline | None,
    errors: Sequence[scoring.Confusion],
    looked: Looked,
    explained: Explained,
    started: datetime,
    seconds: float,
) -> Summary:
    """Everything the run says; ``incomplete`` is why its gates are not judged."""
    run = execution.run
    tallies, hung = tabulate(run, ledger.records), galleries(run, ledger.records)
    former = None if baseline is None else baseline.former(counted(run, ledger.records), prompts(run))
    terms = judging(run, started.date(), former, alpha=looked.alpha)
    unjudged = None if incomplete is None else incomplete.what
    verdicts = gating.judge(gates, tallies, galleries=hung, incomplete=unjudged, terms=terms)
    if incomplete is None:
        verdicts = looked.verdicts(verdicts, terms)
    estimator, interval = run.settings.estimator, run.settings.interval
    counted_scores = tuple(
        score for tally in tallies for score in scoring.score(tally, estimator=estimator, interval=interval)
    )
    scores = (
        *counted_scores,
        *scoring.influence(tallies, estimator=estimator),
        *(score for each in hung for score in scores_of(each, estimator=estimator)),
    )
    return Summary(
        fingerprint=fingerprint(run, started),
        incomplete=None if incomplete is None else incomplete.text,
        gates=verdicts,
        headline=scoring.headline(counted_scores),
        scores=scores,
        topics=tuple(topic for tally in tallies for topic in topics(tally)),
        cases=ledger.records,
        usage=replace(
            ledger.usage,
            throttled=sum(one.throttled for one in execution.endpoints),
            waited=round(sum(one.waited for one in execution.endpoints), 3),
        ),
        seconds=seconds,
        notes=(
            *run.notices,
            *looked.notes,
            *explained.notes,
            *_fragile(tallies),
            *scoring.cautions(tallies),
            *_people_seen(run, ledger),
            *(line for each in hung for line in uncounted(each)),
            *scoring.copied(ledger.records, deterministic(run, ledger.records)),
            *_told(ledger),
            *gating.unused(terms.waivers, verdicts),
        ),
        former=() if baseline is None else baseline.scores,
        changes=gating.changes(tallies, former, galleries=hung) if former else (),
        reasons=explained.reasons,
        corrections=scoring.corrections(tallies, errors, read_otherwise=_read_otherwise(ledger)),
        prompts=tuple(row for each in hung for row in prompt_counts(each)),
        unjudged=gating.unjudged(gates, tallies, scores),
    )


def _read_otherwise(ledger: Ledger) -> frozenset[str]:
    """The models some of whose pictures another detector than the run's has read."""
    return frozenset(record.case.model for record in ledger.records if OWN_DETECTOR in record.notes)


def judging(run: Run, today: date, former: gating.Former | None, *, alpha: float) -> gating.Terms:
    """How this run's gates are judged; ``today`` is when its waivers must be in force."""
    settings = run.settings
    granted = tuple(gating.Waiver(*waiver) for waiver in settings.waivers)
    return gating.Terms(
        settings.estimator, settings.interval, alpha=alpha, waivers=granted, today=today, former=former
    )


def topics(tally: Tally) -> Iterator[TopicCounts]:
    """The cells of a tally as rows of plain counts."""
    for row, statistic in enumerate(tally.statistics):
        for column, direction in enumerate(DIRECTIONS):
            yield TopicCounts(
                model=tally.model,
                checklist=tally.checklist,
                part=tally.part,
                context=tally.context,
                attribute=tally.attribute,
                statistic=statistic,
                direction=direction,
                truth=tally.groups[tally.truth[row, column]],
                fragile=bool(tally.fragile[row, column]),
                counts={
                    group: int(tally.counts[row, column, place]) for place, group in enumerate(tally.groups)
                },
                asked=int(tally.asked[row, column]),
                refused=int(tally.refused[row, column]),
                unparsed=int(tally.unparsed[row, column]),
                errors=int(tally.errors[row, column]),
            )


def fingerprint(run: Run, started: datetime) -> Fingerprint:
    """What another run must share to be compared with this one."""
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


def _fragile(tallies: Sequence[Tally]) -> Iterator[str]:
    """One caution per checklist and attribute whose truth rests on a choice of measure somewhere."""
    seen = set()
    for tally in tallies:
        subject = (tally.checklist, tally.attribute)
        if subject not in seen and tally.fragile.any():
            seen.add(subject)
            labels = f"{int(tally.fragile.sum())} of {tally.fragile.size}"
            yield f"{tally.checklist}: {labels} {tally.attribute} labels rest on a choice of measure or year"


def _people_seen(run: Run, ledger: Ledger) -> Iterator[str]:
    """Of FACT-OR-FAIR's pictures, in which everybody counts."""
    for checklist in fact_or_fair(run.checklists):
        if checklist.modality == "image":
            yield from scoring.people_seen(ledger.records, checklist, models=run.settings.models)


def _told(ledger: Ledger) -> list[str]:
    return sorted({f"{record.case.model}: {note}" for record in ledger.records for note in record.notes})
