"""The reporting part of DoFaiR: a table of scores per model, by attribute and region."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.benchmarks.dofair.checklist import PART
from pytest_factorfair.benchmarks.dofair.metrics import RATES, SCORES, UNCORRECTED
from pytest_factorfair.benchmarks.reporting import PERCEIVED, Reporting, by_subject
from pytest_factorfair.domain import Score, Summary, plural
from pytest_factorfair.drawing.statements import per_case
from pytest_factorfair.drawing.table import Row, Table, interval


class DofairReporting(Reporting):
    """Scores by attribute and region."""

    printed = SCORES
    further = RATES

    def size(self, summary: Summary) -> str:
        return f"{plural(per_case(summary), 'picture')} per prompt"

    def label(self, metric: str, part: str, context: str | None) -> str:
        return f"{self.heading(metric)}{f', {_words(context)}' if context else ''}"

    def tables(self, summary: Summary) -> Iterator[Table]:
        """One table per model and checklist: the scores in columns, attributes and regions in rows."""
        for title, scores in by_subject([score for score in summary.scores if _of_scenes(score)]):
            rows: dict[str, dict[str, Score]] = {}
            for score in scores:
                region = f", {_words(score.context)}" if score.context else ""
                rows.setdefault(f"{score.attribute}{region}", {})[score.metric] = score
            yield Table(
                title,
                tuple(metric.label for metric in SCORES.values()),
                tuple(
                    Row(name, tuple(interval(by_metric.get(metric)) for metric in SCORES))
                    for name, by_metric in sorted(rows.items())
                ),
                tuple(f"{metric.label}: {metric.reading}" for metric in SCORES.values()),
            )

    def on_card(self, score: Score) -> bool:
        """Scores of all regions together."""
        return _of_scenes(score) and score.context is None

    def over_time(self, score: Score) -> bool:
        return self.on_card(score)

    def limits(self, summary: Summary) -> Iterator[str]:
        if any(_of_scenes(score) for score in summary.scores):
            yield PERCEIVED
            yield f"{UNCORRECTED[:1].upper()}{UNCORRECTED[1:]}."
            yield "Who took part in a historical event was labelled by others; labels can be wrong."


def _of_scenes(score: Score) -> bool:
    return score.metric in SCORES and score.part == PART


def _words(name: str) -> str:
    return name.replace("_", " ")
