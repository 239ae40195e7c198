"""The reporting part of a benchmark: tables, figures, its parts of the HTML page and the model card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from pytest_factorfair.benchmarks.metric import Metric, ScoreKey
from pytest_factorfair.domain import ALL, Answer, Case, CaseKey, ImpactRatio, Score, Summary, plural
from pytest_factorfair.drawing.entries import Entry, Omission
from pytest_factorfair.drawing.figures import Charts, Figure
from pytest_factorfair.drawing.statements import among, per_case
from pytest_factorfair.drawing.table import Row, Table, interval

PERCEIVED = "Of the people in pictures, only a detector's perception is known, and detectors err."


class RightAnswer(NamedTuple):
    """The right group in answers to a case; ``score_key`` and ``metric`` name the score that counts it."""

    group: str
    score_key: ScoreKey
    metric: str


Of = TypeVar("Of", bound=Score | ImpactRatio)


def by_subject(rows: Sequence[Of]) -> Iterator[tuple[str, list[Of]]]:
    """The rows of each model and checklist, under a title that names the model if there are several."""
    subjects = dict.fromkeys((row.model, row.checklist) for row in rows)
    for model, checklist in subjects:
        title = f"{model} · {checklist}" if len(subjects) > 1 else checklist
        yield title, [row for row in rows if (row.model, row.checklist) == (model, checklist)]


class Reporting:
    """The reporting part of a benchmark; it prints nothing for a summary without its scores.

    ``printed`` are the metrics that reports compare. ``further`` ones are compared, too, but tables of
    changes list them only where they got worse.
    ``diagnostics`` are the headings and metrics, by the name of a row, of figures that explain answers or
    count missing ones, and ``diagnosed`` describes these figures. ``piece`` names a part of a score's
    change, in singular and irregular plural. ``assets`` is the package whose ``page.html`` and ``page.js``
    draw its part of the HTML page.
    """

    diagnosed: str = ""
    piece: tuple[str, str] = ("part", "")
    assets: str = ""

    @property
    def printed(self) -> Mapping[str, Metric]:
        return {}

    @property
    def further(self) -> Mapping[str, Metric]:
        return {}

    @property
    def diagnostics(self) -> Mapping[str, tuple[str, Metric]]:
        return {}

    def heading(self, metric: str) -> str:
        """The label of a metric, or its name if reports do not compare it."""
        compared = {**self.further, **self.printed}
        return compared[metric].label if metric in compared else metric

    def label(self, metric: str, part: str, context: str | None) -> str:
        """A metric with its part or context."""
        return f"{self.heading(metric)}, {context or part}"

    def size(self, summary: Summary) -> str:
        """The size of the run in a few words."""
        return f"{plural(per_case(summary), 'answer')} per case"

    def headlines(self, summary: Summary) -> Iterable[str]:
        """A model in a few numbers, a line each."""
        return ()

    def brief(self, summary: Summary) -> Table | None:
        """The scores of whole parts in a few rows, a model and attribute each; None if it has none."""
        cells: dict[str, dict[str, Score]] = {}
        for score in summary.scores:
            if score.metric in self.printed and score.context is None:
                about = score.part if score.attribute == ALL else score.attribute
                cells.setdefault(" ".join((*among(summary, score), about)), {})[score.metric] = score
        shown = [name for name in self.printed if any(name in row for row in cells.values())]
        headings = tuple(self.heading(name) for name in shown)
        rows = (Row(label, tuple(interval(row.get(name)) for name in shown)) for label, row in cells.items())
        return Table("scores", headings, tuple(rows)) if cells else None

    def tables(self, summary: Summary) -> Iterable[Table]:
        """The scores, as the terminal, Markdown and HTML show them."""
        return ()

    def supplements(self, summary: Summary) -> Iterable[Table]:
        """Tables of figures besides scores, which help to read the scores."""
        return ()

    def quotations(self, summary: Summary) -> Iterable[str]:
        """Replies of models, so that readers can judge how they were counted."""
        return ()

    def paper_tables(self, entries: Sequence[Entry]) -> Iterable[Table | Omission]:
        """The paper's tables for the entries of one checklist."""
        return ()

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterable[Figure | Omission]:
        """The paper's figures for the entries of one checklist."""
        return ()

    def charts(self, entries: Sequence[Entry]) -> Charts | None:
        """The charts of a comparison's page for these models, besides their scores."""
        return None

    def over_time(self, score: Score) -> bool:
        """Whether a model's history shows the score, in its first context."""
        return score.metric in self.printed

    def page(self, summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
        """The values that the script of the HTML page draws, by name."""
        return {}

    def reply_place(self, case: Case) -> Mapping[str, Any] | None:
        """The place on the page for the replies to a case; None for the list at the end."""
        return None

    def reply_conditions(self, case: Case, answer: Answer) -> Mapping[str, str]:
        """The values of a question's conditions, by name, if the page divides replies by them."""
        return {}

    def on_card(self, score: Score) -> bool:
        """Whether a model card lists the score."""
        return score.metric in self.printed

    def right_answers(self, summary: Summary) -> Mapping[CaseKey, Sequence[RightAnswer]]:
        """The right answers to the cases that have any, as far as a report holds them."""
        return {}

    def limits(self, summary: Summary) -> Iterable[str]:
        """The limits of the scores in the summary, a line each."""
        return ()

    def reading(self, summary: Summary) -> Iterable[str]:
        """How to read the scores that a card lists, a line each."""
        used = {score.metric for score in summary.scores if score.value is not None and self.on_card(score)}
        return (
            f"{metric.label}: {metric.reading}"
            for name, metric in self.printed.items()
            if name in used and metric.reading
        )


NOTHING = Reporting()
"""For a benchmark without output of its own."""
