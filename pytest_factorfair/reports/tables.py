"""What a summary says as tables: the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from pytest_factorfair.benchmarks import benchmark_with, benchmarks_of
from pytest_factorfair.benchmarks.benchmark import UNKNOWN
from pytest_factorfair.benchmarks.combined import metric_named
from pytest_factorfair.benchmarks.metric import Metric
from pytest_factorfair.domain import Change, Score, Summary, plural
from pytest_factorfair.drawing.statements import among, attribute, declines_changed
from pytest_factorfair.drawing.table import MISSING, Row, Table, as_lines, number, span

if TYPE_CHECKING:
    from pytest_factorfair.domain.board import Board, Succession, Trend


def all_tables(summary: Summary) -> Iterator[Table]:
    """Everything that the benchmarks of a summary print, as tables; nothing without an answer."""
    for benchmark in () if _empty(summary) else benchmarks_of(summary.scores):
        yield from benchmark.tables(summary)


def _empty(summary: Summary) -> bool:
    """Whether no score that the benchmarks print has a value."""
    printed = frozenset().union(*(benchmark.printed for benchmark in benchmarks_of(summary.scores)))
    scores = [score for score in summary.scores if score.metric in printed]
    return bool(scores) and all(score.value is None for score in scores)


def briefs(summary: Summary) -> Iterator[Table]:
    """The scores of each benchmark in a few rows; nothing without an answer."""
    for benchmark in () if _empty(summary) else benchmarks_of(summary.scores):
        if (table := benchmark.brief(summary)) is not None:
            yield table


SIDE_BY_SIDE = 5
"""The most columns of a table of diagnostics that fit on a screen and on paper."""


def diagnostics(summary: Summary) -> Iterator[Table]:
    """Tables of diagnostics per benchmark: a row per part or context and attribute, without empty ones."""
    for benchmark in benchmarks_of(summary.scores):
        cells_by_label: dict[tuple[str, ...], dict[str, str]] = {}
        for score in summary.scores:
            if score.metric in benchmark.diagnostics and score.value is not None:
                metric = benchmark.diagnostics[score.metric][1]
                name = attribute(score.attribute, summary)
                label = (*among(summary, score), score.context or score.part, name)
                worse = ("from", score.low) if metric.better == "higher" else ("to", score.high)
                value = metric.clipped(score.shown) or 0.0
                bound = "" if worse[1] is None else f" ({worse[0]} {worse[1]:.1%})"
                cells_by_label.setdefault(label, {})[score.metric] = f"{value:.1%}{bound}"
        measured = {name for cells in cells_by_label.values() for name in cells}
        columns = {name: column for name, column in benchmark.diagnostics.items() if name in measured}
        tables = ceil(len(columns) / SIDE_BY_SIDE)
        for nth in range(tables):
            start, end = (len(columns) * part // tables for part in (nth, nth + 1))
            names = tuple(columns)[start:end]
            rows = tuple(
                Row(" · ".join(label), tuple(cells.get(name, MISSING) for name in names))
                for label, cells in cells_by_label.items()
                if not cells.keys().isdisjoint(names)
            )
            headings, shown = zip(*(columns[name] for name in names), strict=True)
            meanings = tuple(metric.meaning for metric in shown)
            notes = (benchmark.diagnosed,) if end == len(columns) else ()
            yield Table("Other explanations", headings, rows, notes, meanings=meanings)


def headlines(summary: Summary) -> Iterator[str]:
    """Each model in a few numbers, as its benchmark says."""
    for benchmark in benchmarks_of(summary.scores):
        yield from benchmark.headlines(summary)


def size(summary: Summary) -> str:
    """How much the benchmarks of a summary asked."""
    metrics = {score.metric for score in summary.scores}
    printing = [
        benchmark for benchmark in benchmarks_of(summary.scores) if metrics & benchmark.printed.keys()
    ]
    return "; ".join(dict.fromkeys(benchmark.size(summary) for benchmark in printing or [UNKNOWN]))


def score_name(score: Score | Board | Change | Trend) -> str:
    """What a score is called in reports: its metric, and its part or context."""
    return benchmark_with(score.metric).label(score.metric, score.part, score.context)


def metric_of(name: str) -> Metric:
    """The metric that reports have under this name."""
    return benchmark_with(name).further.get(name) or metric_named(name)


HEADINGS: Mapping[str, str] = {
    "before": "The score in the former run, without the bias of few answers.",
    "after": "The same in this run.",
    "change": "This run less the former one.",
    "bounds": "Where the change lies: one-sided bounds of 95 %.",
    "churn": "The share of answers that differ from those to the same questions in the former run.",
}
"""The headings of a table of changes, with their meanings."""

CLIPPED = "before and after end at the best value, which unbiased estimates may exceed; changes are of these"

ROUNDING = 0.0005
"""Smaller differences do not show in three decimals."""


UNCHANGED = "nothing regressed"


def compared(summary: Summary) -> str:
    """One line: the baseline's model and date, how much got worse since then, and what cannot be judged."""
    run = summary.fingerprint
    models = dict.fromkeys(score.model for score in summary.former)
    asked_again = [model for model in models if model in run.models]
    about = asked_again or [*models, "another model" if len(models) == 1 else "other models"]
    about += [run.times["baseline"][: len("2026-11-02")]] if run.times.get("baseline") else []
    declines = declines_changed(summary.former, summary.scores, declines=run.declines)
    return f"Compared with the baseline ({', '.join(about)}): {outcome(summary.changes, declines)}"


def outcome(changes: Sequence[Change], declines: str = "") -> str:
    """How much got worse since a former report, what cannot be judged, and whether more is declined."""
    return "; ".join(filter(None, (_worse(changes), declines)))


def _worse(changes: Sequence[Change]) -> str:
    worse = [change for change in changes if change.regressed]
    scores = [change for change in changes if change.statistic is None]
    doubtful = sum(bool(change.doubt) for change in scores)
    if not worse and doubtful and doubtful == len(scores):
        return f"no change of a score can be judged: {scores[0].doubt}"
    doubts = f"; {doubtful} of {plural(len(scores), 'score')} cannot be judged" if doubtful else ""
    if not worse:
        return f"{UNCHANGED}{doubts}"
    pieces = Counter(benchmark_with(change.metric).piece for change in worse if change.statistic is not None)
    whole = sum(change.statistic is None for change in worse)
    counts = ((whole, "score", ""), *((count, *piece) for piece, count in pieces.items()))
    parts = [plural(*count) for count in counts if count[0]]
    return f"{' and '.join(parts)} regressed{doubts}"


def change_names(changes: Sequence[Change]) -> list[str]:
    """The name of each change, with the words that distinguish it from the others."""
    several = [
        name for name in ("model", "checklist") if len({getattr(change, name) for change in changes}) > 1
    ]
    names = []
    for change in changes:
        benchmark = benchmark_with(change.metric)
        heading = benchmark.heading(change.metric)
        words = [getattr(change, name) for name in several]
        if benchmark.label(change.metric, change.part, change.context) != heading:  # it has several
            words.append(change.context or change.part)
        words += [change.attribute, *filter(None, [change.title])]
        names.append(f"{heading} {' '.join(words)}")
    return names


def notable(changes: Sequence[Change]) -> list[Change]:
    """All changes but those of further scores that did not get worse."""
    return [
        change
        for change in changes
        if change.regressed or change.metric not in benchmark_with(change.metric).further
    ]


def changes_table(
    changes: Sequence[Change], title: str = "since the baseline", *, sentences: bool = True
) -> Table:
    """Rows in the order given, those that regressed marked; notes say in ``sentences`` what changed."""
    rows, plain, shown = [], True, notable(changes)
    for name, change in zip(change_names(shown), shown, strict=True):
        cells = (
            number(change.before),
            number(change.after),
            number(change.change, sign="+"),
            span(change.low, change.high, sign="+"),
            f"{change.churn:.0%}",
        )
        rows.append(Row(f"{'REGRESSED ' if change.regressed else ''}{name}", cells))
        if change.change is not None and change.before is not None and change.after is not None:
            plain &= abs(change.after - change.before - change.change) < ROUNDING
    notes = [worsened(change) for change in changes if change.plain and sentences]
    notes += [CLIPPED] * (not plain)
    if quiet := sum(not change.doubt for change in changes) - sum(not change.doubt for change in shown):
        notes.append(f"{plural(quiet, 'further score')} did not regress; report.json has them all")
    return Table(
        title,
        tuple(HEADINGS),
        tuple(rows),
        (*notes, *_doubts(changes)),
        meanings=tuple(HEADINGS.values()),
    )


def worsened(change: Change) -> str:
    """A regressed score in plain words, and as the numbers of tables."""
    return f"{change.plain} [{score_name(change)}: {number(change.before)}, now {number(change.after)}]"


def _doubts(changes: Sequence[Change]) -> Iterator[str]:
    """Why changes cannot be judged: those of one reason together."""
    names: dict[str, list[str]] = {}
    for name, change in zip(change_names(changes), changes, strict=True):
        if change.doubt:
            names.setdefault(change.doubt, []).append(name)
    for doubt, doubted in names.items():
        remainder = f" and {plural(len(doubted) - 1, 'other')}" if len(doubted) > 1 else ""
        yield f"not judged, {doubted[0]}{remainder}: {doubt}"


def changes_text(succession: Succession) -> str:
    """The line and the table as plain text, for a terminal."""
    changes = succession.changes
    return "\n".join(
        [
            f"Compared with the baseline: {outcome(changes, succession.declines)}",
            *(line.text for line in as_lines(changes_table(changes), titles=False)),
        ]
    )
