"""The table of what contexts do to the answers (Fact-or-Fair, Table 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.domain import Score, Summary
from pytest_factorfair.reports.table import Row, Table, interval, number

PREFIX = "influence_"
SUMMARY = "influence"
NAMES = {
    "high": "highest as told",
    "low": "lowest as told",
    "in_group": "own group",
    "out_group": "not own group",
}
"""Row labels of the columns of Table 3; others have their context's name."""


def influence_tables(summary: Summary) -> Iterator[Table]:
    """One table per model and checklist: for each attribute the share, what it would be without the
    context, and the index, 0 for no influence and 1 for all that can be reached.
    """
    scores = [one for one in summary.scores if one.metric == SUMMARY or one.metric.startswith(PREFIX)]
    subjects = dict.fromkeys((one.model, one.checklist) for one in scores)
    for model, checklist in subjects:
        mine = [one for one in scores if (one.model, one.checklist) == (model, checklist)]
        attributes = tuple(dict.fromkeys(one.attribute for one in mine))
        headings = tuple(heading for name in attributes for heading in (name, "without", "index"))
        yield Table(_title((model, checklist), tuple(subjects)), headings, tuple(_rows(mine, attributes)))


def _title(subject: tuple[str, str], subjects: tuple[tuple[str, str], ...]) -> str:
    parts = [part for place, part in enumerate(subject) if len({each[place] for each in subjects}) > 1]
    return " · ".join((*parts, SUMMARY))


def _rows(scores: Sequence[Score], attributes: Sequence[str]) -> Iterator[Row]:
    for metric in sorted(dict.fromkeys(one.metric for one in scores), key=lambda each: each == SUMMARY):
        here = {one.attribute: one for one in scores if one.metric == metric}
        cells = tuple(cell for name in attributes for cell in _cells(here.get(name)))
        column = metric.removeprefix(PREFIX)
        yield Row("mean increase" if metric == SUMMARY else NAMES.get(column, column), cells)


def _cells(score: Score | None) -> tuple[str, str, str]:
    if score is None:
        return "", "", ""
    usual = "" if score.fair_reference is None or score.metric == SUMMARY else number(score.fair_reference)
    return interval(score), usual, "" if score.strength is None else number(score.strength, digits=2)
