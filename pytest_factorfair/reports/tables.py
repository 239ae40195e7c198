"""What a summary says as tables: the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_factorfair.domain import Board, Change, Score, Summary, Trend, plural, titled
from pytest_factorfair.protocols import reporting_of, reportings
from pytest_factorfair.protocols.combined import metrics
from pytest_factorfair.protocols.metric import Metric
from pytest_factorfair.reports.table import Row, Table, as_lines, number, percent, span


def all_tables(summary: Summary) -> Iterator[Table]:
    """Everything that the benchmarks of a summary print, as tables."""
    for each in reportings():
        yield from each.tables(summary)


def headlines(summary: Summary) -> Iterator[str]:
    """Each model in a few numbers, as its benchmark says."""
    for each in reportings():
        yield from each.headlines(summary)


def size(summary: Summary) -> str:
    """How much the benchmarks of a summary asked."""
    from pytest_factorfair.protocols.reporting import Reporting  # which itself needs tables

    metrics = {one.metric for one in summary.scores}
    own = [each for each in reportings() if metrics & each.metrics.keys()] or [Reporting()]
    return "; ".join(dict.fromkeys(each.size(summary) for each in own))


def score_name(one: Score | Board | Change | Trend) -> str:
    """What a score is called in reports: its metric, and its part or context."""
    return reporting_of(one.metric).label(one.metric, one.part, one.context)


def metric_of(name: str) -> Metric:
    """The metric that reports have under this name."""
    return reporting_of(name).further.get(name) or metrics()[name]


HEADINGS: Mapping[str, str] = {
    "before": "The plug-in value in the former run.",
    "after": "The plug-in value in this run.",
    "change": "This run less the former one, without the bias of the plug-in values.",
    "bounds": "Where the change lies: one-sided bounds of 95 %.",
    "churn": "The share of answers that differ from those to the same questions in the former run.",
}
"""The headings of a table of changes, with their meanings."""

CORRECTED = "before and after are plug-in values; change and bounds are corrected for their bias"

ROUNDING = 0.0005
"""Smaller differences do not show in three decimals."""


def compared(changes: Sequence[Change], since: str = "the baseline") -> str:
    """One line: how much got worse ``since`` a former report, and what cannot be judged."""
    worse = [change for change in changes if change.regressed]
    scores = [change for change in changes if change.statistic is None]
    doubtful = sum(bool(change.doubt) for change in scores)
    if not worse and doubtful and doubtful == len(scores):
        return f"Compared with {since}: no change of a score can be judged: {scores[0].doubt}"
    doubts = f"; {doubtful} of {plural(len(scores), 'score')} cannot be judged" if doubtful else ""
    if not worse:
        return f"Compared with {since}: nothing regressed{doubts}"
    pieces = Counter(reporting_of(one.metric).piece for one in worse if one.statistic is not None)
    whole = sum(change.statistic is None for change in worse)
    counts = ((whole, "score", ""), *((count, *piece) for piece, count in pieces.items()))
    parts = [plural(*count) for count in counts if count[0]]
    return f"Compared with {since}: {' and '.join(parts)} regressed{doubts}"


def change_names(changes: Sequence[Change]) -> list[str]:
    """The name of each change, with the words that distinguish it from the others."""
    several = [name for name in ("model", "checklist") if len({getattr(one, name) for one in changes}) > 1]
    names = []
    for one in changes:
        benchmark = reporting_of(one.metric)
        place = [getattr(one, name) for name in several]
        place += [one.context or one.part] if one.metric in benchmark.by_place else []
        place += [one.attribute, *([titled(one.statistic)] if one.statistic else [])]
        names.append(f"{benchmark.heading(one.metric)} {' '.join(place)}")
    return names


def notable(changes: Sequence[Change]) -> list[Change]:
    """All changes but those of further scores that did not get worse."""
    return [one for one in changes if one.regressed or one.metric not in reporting_of(one.metric).further]


def changes_table(changes: Sequence[Change]) -> Table:
    """Rows in the order given, those that regressed marked."""
    rows, plain, shown = [], True, notable(changes)
    for name, one in zip(change_names(shown), shown, strict=True):
        cells = (
            number(one.before),
            number(one.after),
            number(one.change, sign="+"),
            span(one.low, one.high, sign="+"),
            percent(one.churn),
        )
        rows.append(Row(f"{'REGRESSED ' if one.regressed else ''}{name}", cells))
        if one.change is not None and one.before is not None and one.after is not None:
            plain &= abs(one.after - one.before - one.change) < ROUNDING
    notes = [CORRECTED] * (not plain)
    if quiet := sum(not one.doubt for one in changes) - sum(not one.doubt for one in shown):
        notes.append(f"{plural(quiet, 'further score')} did not regress; report.json has them all")
    return Table(
        "since the baseline",
        tuple(HEADINGS),
        tuple(rows),
        (*notes, *_doubts(changes)),
        meanings=tuple(HEADINGS.values()),
    )


def _doubts(changes: Sequence[Change]) -> Iterator[str]:
    """Why changes cannot be judged: those of one reason together."""
    names: dict[str, list[str]] = {}
    for name, one in zip(change_names(changes), changes, strict=True):
        if one.doubt:
            names.setdefault(one.doubt, []).append(name)
    for doubt, own in names.items():
        others = f" and {plural(len(own) - 1, 'other')}" if len(own) > 1 else ""
        yield f"not judged, {own[0]}{others}: {doubt}"


def changes_text(changes: Sequence[Change]) -> str:
    """The line and the table as plain text, for a terminal."""
    return "\n".join(
        [compared(changes), *(line.text for line in as_lines(changes_table(changes), titles=False))]
    )
