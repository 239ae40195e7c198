"""What FACT-OR-FAIR prints, besides tables and figures of papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase, topic_cases
from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS, RATES, columns
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import INFLUENCE
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import S_FACT, JointScore
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import S_E_WITHIN
from pytest_factorfair.benchmarks.fact_or_fair.printing import contexts, declines, drilldown
from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import plane, plane_of_models, planes
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import (
    SCANNED,
    correction_tables,
    headline,
    influence_tables,
    reason_tables,
    score_tables,
)
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.benchmarks.rates import LOST_FIELDS
from pytest_factorfair.benchmarks.reporting import PERCEIVED, RightAnswer, scan_tables
from pytest_factorfair.domain import Answer, Case, CaseKey, Question, Record, Score, Summary, plural
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
    drawn = []
    for attribute_plane in planes(summary):
        name = statements.attribute(attribute_plane.attribute, summary)
        title = f"{attribute_plane.checklist} · {name}" if several else name
        drawn.append({"title": title, "spec": plane(summary, attribute_plane)})
    return {
        "contexts": [{"title": "Judgements", "spec": spec} for spec in contexts.charts(summary)],
        "planes": drawn,
        "cells": list(drilldown.cells(summary, topic_cases(cases))),
        "scores": [
            {"name": metric.name, "label": metric.label, "better": metric.better}
            for metric in drilldown.in_matrix().values()
        ],
        "shares": drilldown.shares(),
        "declines": list(declines.tiles(summary, topic_cases(cases))),
        "dependences": list(drilldown.dependences(summary)),
        "scans": list(drilldown.scanned(summary, topic_cases(cases))),
    }


def reply_place(case: Case) -> Mapping[str, Any] | None:
    """The cell of a case in the matrix."""
    if not isinstance(case, TopicCase):
        return None
    return {
        "statistic": case.statistic,
        "column": case.context or case.part,
        "valence": drilldown.VALENCES[case.valence],
        "stem": case.stem,
    }


def reply_conditions(case: Case, answer: Answer) -> Mapping[str, str]:
    return drilldown.of_reply(case, answer) if isinstance(case, TopicCase) else {}


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
    for topic in TOPICS.of(summary):
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


def true_groups(summary: Summary, record: Record, case: Case) -> Mapping[str, str]:
    if not isinstance(case, TopicCase):
        return {}
    key = (*record.case[:2], case.part, case.context, case.statistic, case.direction)
    return {
        topic.attribute: topic.truth
        for topic in TOPICS.of(summary)
        if (topic.model, topic.checklist, topic.part, topic.context, topic.statistic, topic.direction) == key
    }


def warnings(summary: Summary) -> Iterator[str]:
    """Warnings about parts and contexts without a single answer, of models that did answer."""
    outcomes = statements.outcomes(summary)
    context_counts: dict[tuple[str, str], Counter[str]] = {}
    for topic in TOPICS.of(summary):
        subject = statements.whose(summary, topic)
        of_model = outcomes.get(subject, Counter())
        if of_model and not of_model["answered"]:
            continue
        counts = context_counts.setdefault((topic.context or topic.part, subject), Counter())
        # Topics do not tell replies that a provider filtered from those that the model refused.
        refused = "refused"
        if of_model["filtered"]:
            refused = "withheld" if of_model["refused"] else "filtered"
        missing = {refused: topic.refused, "unparsed": topic.unparsed, "error": topic.errors}
        counts.update({"answered": topic.answered, **missing})
    for (context, subject), counts in context_counts.items():
        if counts.total() and not counts["answered"]:
            lost = statements.loss(counts, f"every answer in {context}{subject}")
            yield f"{lost}: no score there says anything about it"


def limits(summary: Summary) -> Iterator[str]:
    if not TOPICS.of(summary):
        return
    groups = {topic.attribute: ", ".join(topic.counts) for topic in TOPICS.of(summary)}
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
