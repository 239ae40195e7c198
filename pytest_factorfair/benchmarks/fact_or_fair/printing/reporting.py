"""What FACT-OR-FAIR prints, besides tables and figures of papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase, topic_cases
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS, RATES, columns
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import INFLUENCE
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import S_FACT, JointScore
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import S_E_WITHIN
from pytest_factorfair.benchmarks.fact_or_fair.printing import contexts, declines, dependences, drilldown
from pytest_factorfair.benchmarks.fact_or_fair.printing.headline import headline
from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import plane, plane_of_models, planes
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import (
    SCANNED,
    correction_tables,
    influence_tables,
    reason_tables,
    score_tables,
)
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.benchmarks.rates import LOST_FIELDS
from pytest_factorfair.benchmarks.reporting import PERCEIVED, RightAnswer, scan_tables
from pytest_factorfair.domain import Answer, Case, CaseKey, Question, Score, Summary, plural
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.entries import Entry
from pytest_factorfair.drawing.figures import Charts
from pytest_factorfair.drawing.table import Table

FACTS = ("s_fact", "distance")
"""The scores of the objective part on a card: a model that names the true groups cannot be even."""

COMPARED = (
    "No model can lie above the curve. Asked for facts (objective), a model belongs at the lower right; "
    "asked for judgements, at the top of the curve. Lines are 95 % intervals."
)

READING = (
    "S_fact: the share of true groups; high where a fact is asked, at chance where a judgement is",
    "S_E and S_KLD: whether groups are chosen evenly, and alike for most and least; fair judgements have 1",
    "S_fair: either of the two; distance: how far below the best trade-off of S_fact and S_E, not fairness",
)


def diagnostics() -> Mapping[str, tuple[str, Metric]]:
    within = {variant.name: (variant.label, variant) for variant in S_E_WITHIN.variants}
    tally_metrics = {
        name: (metric.diagnostic, metric)
        for name, metric in METRICS.items()
        if isinstance(metric, TallyMetric) and metric.diagnostic
    }
    lost = {name: (LOST_FIELDS[rate.outcome], rate) for name, rate in RATES.items()}
    return {**within, **tally_metrics, **lost}


def size(summary: Summary) -> str:
    run = summary.fingerprint
    if run.detector:
        return f"{plural(statements.per_case(summary), 'picture')} per prompt"
    return f"{plural(run.samples, 'answer')} per topic and context, {run.objective} per objective case"


def headlines(summary: Summary) -> Iterator[str]:
    """A model in three numbers (Table 2), if it was asked for facts and for judgements.

    There are none of a release that is not to be shipped: a prejudice may leave them near 1.
    """
    if summary.release is not None and summary.release.word in ("FAIL", "UNDECIDED"):
        return
    for row in headline(summary.scores):
        fact, fair, average = row.fact, row.fair, row.average
        if row.attribute is None and fact is not None and fair is not None and average is not None:
            subject = f"headline{statements.whose(summary, row)}"
            numbers = f"objective S_fact {fact:.3f}, subjective S_fair {fair:.3f}, average {average:.3f}"
            yield f"{subject}: {numbers}"


def tables(summary: Summary) -> Iterator[Table]:
    yield from scan_tables(summary, SCANNED, address=drilldown.address)
    yield from score_tables(summary)
    yield from influence_tables(summary)
    yield from correction_tables(summary)
    yield from reason_tables(summary)


def charts(entries: Sequence[Entry]) -> Charts | None:
    subjects = dict.fromkeys(of for entry in entries for of in planes(entry.summary))
    figures = {
        f"{of.checklist}: {entries[0].attribute(of.attribute)}": plane_of_models(entries, of)
        for of in subjects
    }
    return Charts("Truth and evenness", COMPARED, figures) if figures else None


def page(summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
    """Contexts, planes, the matrix of statistics with the drawing of an end's shares, dependences, scans."""
    several = len(summary.fingerprint.checklists) > 1
    return {
        "contexts": [{"title": "Judgements", "spec": spec} for spec in contexts.charts(summary)],
        "planes": [
            {
                "title": f"{of.checklist} · {name}" if several else name,
                "spec": plane(summary, of),
            }
            for of in planes(summary)
            for name in [statements.attribute(of.attribute, summary)]
        ],
        "cells": list(drilldown.cells(summary, topic_cases(cases))),
        "scores": [
            {"name": metric.name, "label": metric.label, "better": metric.better}
            for metric in drilldown.in_matrix().values()
        ],
        "shares": drilldown.shares(),
        "declines": list(declines.tiles(summary, topic_cases(cases))),
        "dependences": list(dependences.rows(summary)),
        "scans": list(drilldown.scanned(summary, topic_cases(cases))),
    }


def reply_place(case: Case) -> Mapping[str, Any] | None:
    """The cell of a case in the matrix."""
    if not isinstance(case, TopicCase):
        return None
    return {
        "statistic": case.statistic,
        "column": case.context or case.part,
        "valence": dependences.VALENCES[case.valence],
        "stem": case.stem,
    }


def reply_conditions(case: Case, answer: Answer) -> Mapping[str, str]:
    return dependences.of_reply(case, answer) if isinstance(case, TopicCase) else {}


def on_card(score: Score) -> bool:
    if score.metric == INFLUENCE:
        return score.context is None
    return score.metric in (FACTS if score.part == "objective" else columns())


def over_time(score: Score) -> bool:
    metric = METRICS.get(score.metric)
    if isinstance(metric, JointScore):
        return metric.compared == score.part
    return score.metric == INFLUENCE and score.context is None


def right_answers(summary: Summary) -> Mapping[CaseKey, Sequence[RightAnswer]]:
    """The true groups of the objective cases; a judgement has no right answer."""
    truths: dict[tuple[str, str, Question], list[RightAnswer]] = {}
    for topic in summary.topics:
        if topic.part == "objective":
            question = Question(topic.part, topic.statistic, topic.direction, topic.context)
            score_key = ScoreKey(topic.checklist, topic.part, topic.context, topic.attribute)
            answer = RightAnswer(topic.truth, score_key, S_FACT.name)
            truths.setdefault((topic.model, topic.checklist, question), []).append(answer)
    return {
        record.case: answers
        for record in summary.cases
        if (answers := truths.get((record.case.model, record.case.checklist, record.question)))
    }


def limits(summary: Summary) -> Iterator[str]:
    if not summary.topics:
        return
    groups = {topic.attribute: ", ".join(topic.counts) for topic in summary.topics}
    named = "; ".join(f"{statements.attribute(name, summary)}: {names}" for name, names in groups.items())
    yield f"The groups are those of the checklist ({named}); no others are covered."
    yield "Facts are those of the place and years the checklist names; some rest on a choice of measure."
    if summary.fingerprint.detector:
        yield PERCEIVED
    else:
        yield "A choice among people in a made-up scenario is not what a model does in your product."


def reading(summary: Summary) -> Iterator[str]:
    if any(score.metric == "s_fact" and score.value is not None for score in summary.scores):
        yield from READING
