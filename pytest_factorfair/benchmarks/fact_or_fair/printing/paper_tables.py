"""Fact-or-Fair's Tables 2 to 8: models down, parts and attributes across.

Language models have the five columns O (objective), S-B, S-R, S-A and S-G of the paper, image models O and S.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import INFLUENCE, OF_CONTEXTS
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import Headline, headlines
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.domain import Score
from pytest_factorfair.drawing.entries import Entry, Omission, OutcomeCounts, attributes, shown
from pytest_factorfair.drawing.paper_tables import (
    OUTCOME_HEADINGS,
    best_of_columns,
    marks,
    notes,
    outcome_cells,
    percentage,
    score_percent,
)
from pytest_factorfair.drawing.table import Cell, Row, Table

TITLES = {
    "s_fact": "S_fact",
    "s_fair": "S_fair",
    "s_e": "S_E",
    "s_kld": "S_KLD",
    "distance": "Distance to the trade-off curve",
}
"""Tables 4 to 8, with what their titles call the metric."""

OBJECTIVE = "objective"

CONTEXTS = {"base": "S-B", "representativeness": "S-R", "attribution": "S-A", "in_group": "S-G"}
"""The paper's names of contexts; those of other checklists keep their own."""

INFLUENCES = {
    "influence_high": "R. Bias High",
    "influence_low": "R. Bias Low",
    "influence_attribution": "Attr. Err.",
    "influence_in_group": "In-G. Bias",
    "influence_out_group": "Out-G. Bias",
}
AVERAGE = "Avg."


class Column(NamedTuple):
    """A part and context, which have a column for each attribute."""

    part: str
    context: str | None


def fact_or_fair(entries: Sequence[Entry]) -> Iterator[Table | Omission]:
    """Tables 2 to 8; those without data are left out with a reason."""
    yield _headline(entries)
    yield _influence(entries)
    for metric, title in TITLES.items():
        yield _metric(entries, metric, title)


def _headline(entries: Sequence[Entry]) -> Table | Omission:
    """Table 2: means of what Tables 4 and 5 show, so that one follows from the others."""
    names = attributes(entries, ("s_fact", "s_fair"))
    lines = [headlines(entry) for entry in entries]
    columns: dict[str, Callable[[Headline], float | None]] = {
        "Obj. S_fact": lambda line: line.fact,
        "Subj. S_fair": lambda line: line.fair,
        AVERAGE: lambda line: line.average,
    }
    attribute_columns = (*names, None)
    rows = [
        Row(
            entry.label,
            (
                *(
                    percentage(of(line[name]) if name in line else None)
                    for of in columns.values()
                    for name in attribute_columns
                ),
                *_outcome_cells(entry),
            ),
        )
        for entry, line in zip(entries, lines, strict=True)
    ]
    if all(line.average is None for by_attribute in lines for line in by_attribute.values()):
        return Omission("headline", "it is about facts and judgements together, and no report has both")
    return _table(
        "headline",
        "Factuality and fairness in percent (Fact-or-Fair, Table 2)",
        [(group, _called(name, entries)) for group in columns for name in attribute_columns],
        best_of_columns(rows, ["higher"] * (len(columns) * len(attribute_columns))),
        (*notes(entries, ()), "Subj. S_fair is the mean over contexts."),
    )


def _influence(entries: Sequence[Entry]) -> Table | Omission:
    """Table 3. The average increase is over chance, as the paper has it; the columns carry intervals."""
    scores = [score for entry in entries for score in entry.scores]
    columns = dict.fromkeys(score.metric for score in scores if score.metric.startswith(f"{INFLUENCE}_"))
    if not columns:
        return Omission(INFLUENCE, "no context that names a group was asked")
    order = [
        *(metric for metric in INFLUENCES if metric in columns),
        *(metric for metric in columns if metric not in INFLUENCES),
    ]
    names = attributes(entries, columns)
    rows = [
        Row(
            entry.label,
            (
                *(score_percent(_named(entry, metric, name)) for metric in order for name in names),
                *(
                    percentage(None if (score := _named(entry, INFLUENCE, name)) is None else score.value)
                    for name in names
                ),
                *_outcome_cells(entry),
            ),
        )
        for entry in entries
    ]
    titles = [
        *(INFLUENCES.get(metric, metric.removeprefix(f"{INFLUENCE}_")) for metric in order),
        "Avg. Increase",
    ]
    return _table(
        INFLUENCE,
        "What contexts do to the answers, in percent of valid ones (Fact-or-Fair, Table 3)",
        [(title, _called(name, entries)) for title in titles for name in names],
        best_of_columns(rows, [*([None] * (len(order) * len(names))), *([OF_CONTEXTS.better] * len(names))]),
        (
            *notes(entries, [score for score in scores if score.metric in columns]),
            "Avg. Increase is the mean of the columns less chance.",
        ),
    )


def _named(entry: Entry, metric: str, attribute: str) -> Score | None:
    """A score of influence: its context follows from the metric."""
    return next(
        (score for score in entry.scores if (score.metric, score.attribute) == (metric, attribute)), None
    )


def _metric(entries: Sequence[Entry], metric: str, title: str) -> Table | Omission:
    """One of Tables 4 to 8; the table of distances also has their mean over parts."""
    scores = [score for entry in entries for score in entry.scores if score.metric == metric]
    columns = sorted(
        dict.fromkeys(Column(score.part, score.context) for score in scores),
        key=lambda column: column.part != OBJECTIVE,
    )
    names = attributes(entries, (metric,))
    if not any(shown(score) is not None for score in scores):
        return Omission(metric, f"no report has {title}")
    averaged = metric == "distance"
    rows = [
        Row(entry.label, (*_cells(entry, metric, columns, names, averaged=averaged), *_outcome_cells(entry)))
        for entry in entries
    ]
    headings = [_column(column, entries) for column in columns]
    legend = [
        f"{heading} {(column.context or column.part).replace('_', ' ')}"
        for heading, column in zip(headings, columns, strict=True)
    ]
    titles = [*headings, *([AVERAGE] if averaged else [])]
    high, better = METRICS[metric].high, METRICS[metric].better
    ends = [None if high and high.part != column.part else better for column in columns]
    ends += [better] * averaged
    return _table(
        metric,
        f"{title} in percent (Fact-or-Fair, Tables 4 to 8)",
        [(title, _called(name, entries)) for title in titles for name in names],
        best_of_columns(rows, [end for end in ends for _ in names]),
        (*notes(entries, scores), f"Parts: {', '.join(legend)}."),
    )


def _cells(
    entry: Entry, metric: str, columns: Sequence[Column], names: Sequence[str], *, averaged: bool
) -> Iterator[Cell]:
    for column in columns:
        for name in names:
            yield score_percent(entry.score(metric, part=column.part, context=column.context, attribute=name))
    for name in names if averaged else ():
        values = [
            shown(entry.score(metric, part=column.part, context=column.context, attribute=name))
            for column in columns
        ]
        present = [value for value in values if value is not None]
        yield percentage(fmean(present) if len(present) == len(columns) else None)


def _table(
    name: str, title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row], notes: tuple[str, ...]
) -> Table:
    """Models down; columns by group and heading, followed by the counts of answers."""
    return Table(
        title,
        headings=(*(heading for _, heading in columns), *OUTCOME_HEADINGS),
        rows=tuple(rows),
        notes=(*notes, *marks(rows)),
        groups=(*(group for group, _ in columns), *("" for _ in OUTCOME_HEADINGS)),
        corner="Model",
        name=name,
    )


def _called(name: str | None, entries: Sequence[Entry]) -> str:
    return AVERAGE if name is None else entries[0].attribute(name)


def _column(column: Column, entries: Sequence[Entry]) -> str:
    if column.part == OBJECTIVE:
        return "O"
    if entries[0].summary.fingerprint.detector:
        return "S"
    return CONTEXTS.get(column.context or "", column.context or "S")


def _outcome_cells(entry: Entry) -> tuple[str, ...]:
    """The counts of answers; one answer counts for all attributes, except for facts."""
    question_counts: dict[tuple[str | None, ...], list[OutcomeCounts]] = {}
    for topic in TOPICS.of(entry.summary):
        if (topic.model, topic.checklist) == (entry.model, entry.checklist):
            per_attribute = topic.part == OBJECTIVE and not entry.summary.fingerprint.detector
            question = (
                topic.part,
                topic.context,
                topic.statistic,
                topic.direction,
                topic.attribute if per_attribute else None,
            )
            counts = OutcomeCounts(topic.answered, topic.refused, topic.unparsed, topic.errors)
            question_counts.setdefault(question, []).append(counts)
    return outcome_cells(
        OutcomeCounts(*map(max, zip(*fates, strict=True))) for fates in question_counts.values()
    )
