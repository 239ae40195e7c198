"""The reporting part of FACT-OR-FAIR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase, topic_cases
from pytest_factorfair.benchmarks.fact_or_fair.metrics import FURTHER, METRICS, OF_CONTEXTS, RATES, columns
from pytest_factorfair.benchmarks.fact_or_fair.metrics.base import TallyMetric
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import INFLUENCE
from pytest_factorfair.benchmarks.fact_or_fair.metrics.scores import S_FACT, JointScore
from pytest_factorfair.benchmarks.fact_or_fair.metrics.within import EvennessWithin
from pytest_factorfair.benchmarks.fact_or_fair.printing import (
    dependences,
    drilldown,
    figures,
    paper_tables,
    tables,
)
from pytest_factorfair.benchmarks.fact_or_fair.printing.headline import headline
from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import plane, plane_of_models, planes
from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.benchmarks.rates import LOST_FIELDS
from pytest_factorfair.benchmarks.reporting import PERCEIVED, Reporting, RightAnswer
from pytest_factorfair.domain import Answer, Case, CaseKey, Question, Score, Summary, plural
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.entries import Entry, Omission
from pytest_factorfair.drawing.figures import Charts, Figure
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


class FactOrFairReporting(Reporting):
    """Scores by part and context, the influence of contexts, corrected shares, and what reasons cite."""

    diagnosed = (
        "Evenness: S_E within the most uneven scenario, group named, age, and person named first. "
        "Favourites: how much more often than expected one is chosen. Refusals, unparsed answers and errors: "
        "shares of the answers."
    )
    piece = ("statistic", "")
    assets = "pytest_factorfair.benchmarks.fact_or_fair.printing"

    @property
    def printed(self) -> Mapping[str, Metric]:
        return columns() | {INFLUENCE: OF_CONTEXTS}

    @property
    def further(self) -> Mapping[str, Metric]:
        return FURTHER

    @property
    def diagnostics(self) -> Mapping[str, tuple[str, Metric]]:
        within = {
            name: (metric.label, metric)
            for name, metric in FURTHER.items()
            if isinstance(metric, EvennessWithin)
        }
        tally_metrics = {
            name: (metric.diagnostic, metric)
            for name, metric in METRICS.items()
            if isinstance(metric, TallyMetric) and metric.diagnostic
        }
        lost = {name: (LOST_FIELDS[rate.outcome], rate) for name, rate in RATES.items()}
        return {**within, **tally_metrics, **lost}

    def size(self, summary: Summary) -> str:
        run = summary.fingerprint
        if run.detector:
            return f"{plural(statements.per_case(summary), 'picture')} per prompt"
        return f"{plural(run.samples, 'answer')} per topic and context, {run.objective} per objective case"

    def headlines(self, summary: Summary) -> Iterator[str]:
        """A model in three numbers (Table 2), if it was asked for facts and for judgements.

        The average is left out of a release that is not to be shipped: it is high if S_fair is, which a
        prejudice may leave near 1.
        """
        failed = summary.release is not None and summary.release.word in ("FAIL", "UNDECIDED")
        for row in headline(summary.scores):
            fact, fair, average = row.fact, row.fair, row.average
            if row.attribute is None and fact is not None and fair is not None and average is not None:
                line = f"headline{statements.whose(summary, row)}: objective S_fact {fact:.3f}, "
                line += f"subjective S_fair {fair:.3f}"
                yield line if failed else f"{line}, average {average:.3f}"

    def brief(self, summary: Summary) -> Table | None:
        return tables.brief(summary)

    def tables(self, summary: Summary) -> Iterator[Table]:
        yield from tables.score_tables(summary)
        yield from tables.influence_tables(summary)
        yield from tables.scan_tables(summary)
        yield from tables.correction_tables(summary)
        yield from tables.reason_tables(summary)

    def quotations(self, summary: Summary) -> Iterator[str]:
        return tables.quotations(summary)

    def paper_tables(self, entries: Sequence[Entry]) -> Iterator[Table | Omission]:
        return paper_tables.fact_or_fair(entries)

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
        return figures.fact_or_fair(checklist, entries)

    def charts(self, entries: Sequence[Entry]) -> Charts | None:
        subjects = dict.fromkeys(of for entry in entries for of in planes(entry.summary))
        figures = {
            f"{of.checklist}: {entries[0].attribute(of.attribute)}": plane_of_models(entries, of)
            for of in subjects
        }
        return Charts("Truth and evenness", COMPARED, figures) if figures else None

    def page(self, summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
        """The planes, the matrix of statistics with the drawing of an end's shares, and the dependences."""
        several = len(summary.fingerprint.checklists) > 1
        return {
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
            "dependences": list(dependences.rows(summary)),
            "selects": dependences.selects(topic_cases(cases), summary),
        }

    def reply_place(self, case: Case) -> Mapping[str, Any] | None:
        """The cell of a case in the matrix."""
        if not isinstance(case, TopicCase):
            return None
        return {
            "statistic": case.statistic,
            "column": case.context or case.part,
            "valence": dependences.VALENCES[case.valence],
        }

    def reply_conditions(self, case: Case, answer: Answer) -> Mapping[str, str]:
        return dependences.of_reply(case, answer) if isinstance(case, TopicCase) else {}

    def on_card(self, score: Score) -> bool:
        if score.metric == INFLUENCE:
            return score.context is None
        return score.metric in (FACTS if score.part == "objective" else columns())

    def over_time(self, score: Score) -> bool:
        metric = METRICS.get(score.metric)
        if isinstance(metric, JointScore):
            return metric.compared == score.part
        return score.metric == INFLUENCE and score.context is None

    def right_answers(self, summary: Summary) -> Mapping[CaseKey, Sequence[RightAnswer]]:
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

    def limits(self, summary: Summary) -> Iterator[str]:
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

    def reading(self, summary: Summary) -> Iterator[str]:
        if any(score.metric == "s_fact" and score.value is not None for score in summary.scores):
            yield from READING
