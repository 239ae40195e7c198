"""A model in a report, as tables and figures for papers list it: several reports may go into one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_factorfair.domain import Score, Summary
from pytest_factorfair.drawing import escaping, statements


class OutcomeCounts(NamedTuple):
    """Numbers of answers by outcome: ``n`` count towards scores, the others are lost."""

    n: int
    refused: int
    unparsed: int
    errors: int


class Omission(NamedTuple):
    """A table or figure that the reports have nothing for, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A model's scores on one checklist; ``label`` is unique, and says if the model was not judged."""

    label: str
    model: str
    checklist: str
    summary: Summary
    scores: tuple[Score, ...]

    def score(
        self, metric: str, *, part: str | None = None, context: str | None = None, attribute: str
    ) -> Score | None:
        """The score there; ``part`` can be omitted for metrics with only one."""
        return next(
            (
                score
                for score in self.scores
                if (score.metric, score.context, score.attribute) == (metric, context, attribute)
                and part in (None, score.part)
            ),
            None,
        )

    def attribute(self, name: str) -> str:
        return statements.attribute(name, self.summary)


def entries(reports: Mapping[str, Summary]) -> tuple[Entry, ...]:
    """Every model of the reports, by the reports' names, with each checklist that it has scores on."""
    subjects = [
        (name, summary, *subject)
        for name, summary in reports.items()
        for subject in dict.fromkeys((score.model, score.checklist) for score in summary.scores)
    ]
    times = Counter((model, checklist) for _, _, model, checklist in subjects)
    return tuple(
        Entry(
            label=escaping.one_line(
                model
                + f" ({name})" * (times[model, checklist] > 1)
                + " (not judged)" * bool(summary.incomplete)
            ),
            model=model,
            checklist=checklist,
            summary=summary,
            scores=tuple(
                score for score in summary.scores if (score.model, score.checklist) == (model, checklist)
            ),
        )
        for name, summary, model, checklist in subjects
    )


def by_checklist(entries: Iterable[Entry]) -> dict[str, tuple[Entry, ...]]:
    """The entries of each checklist: only these belong in one table."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.checklist, []).append(entry)
    return {checklist: tuple(group) for checklist, group in groups.items()}


def shown(score: Score | None) -> float | None:
    """The value that reports show of a score that may be missing."""
    return None if score is None else score.shown


def attributes(entries: Sequence[Entry], metrics: Iterable[str]) -> tuple[str, ...]:
    """The attributes that any entry has such a score of, in the order of reports."""
    metrics = frozenset(metrics)
    scores = (score for entry in entries for score in entry.scores)
    return tuple(dict.fromkeys(score.attribute for score in scores if score.metric in metrics))


def stem(*words: str) -> str:
    """The name of a table's or figure's file without its ending: letters, digits and hyphens."""
    return "-".join(re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-") for word in words)
