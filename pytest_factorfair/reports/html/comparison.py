"""The page of a comparison: who is ahead in words and charts, then every score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_factorfair.benchmarks import benchmarks_of
from pytest_factorfair.domain import Change, first_few
from pytest_factorfair.domain.board import Board, History, Leaderboard, Release, Standing, Trend
from pytest_factorfair.drawing import escaping
from pytest_factorfair.drawing.entries import Entry
from pytest_factorfair.drawing.entries import shown as of_report
from pytest_factorfair.drawing.figures import ON_PAGE, PALETTE, Spec, around, rounded
from pytest_factorfair.drawing.statements import ETHICS
from pytest_factorfair.drawing.table import Row, Table, span
from pytest_factorfair.reports.html.document import document
from pytest_factorfair.reports.leaderboard import BEST, Section, headline, letters, matrix, sections
from pytest_factorfair.reports.tables import change_names, metric_of, notable, score_name

LINE = 22
"""The height of a line in a chart, in points."""

HEIGHT = 180
"""The height of a chart over time."""

DRAWN = 30
"""The maximum number of models in a chart of intervals."""

NAMED = 6
"""The maximum number of models that the heading names."""

SHORTENED = (
    "length(datum.label) > 32 ? slice(datum.label, 0, 15) + '…' + slice(datum.label, -16) : datum.label"
)
"""Long model names are shortened in the middle, because they often begin alike."""


def to_html(leaderboard: Leaderboard, entries: Sequence[Entry] = ()) -> str:
    """Render a page that needs no network: sentences, charts, sortable tables, and collapsed details.

    ``entries`` are the models with the scores of their reports, from which benchmarks draw their own charts.
    """
    listed = list(sections(leaderboard))
    parts = [_part(section, leaderboard.history) for section in listed]
    scores = next(
        (index for index, section in enumerate(listed) if section.boards or section.trends), len(parts)
    )
    compared = benchmarks_of(score for entry in entries for score in entry.scores)
    for charts in filter(None, (benchmark.charts(entries) for benchmark in compared)):
        parts.insert(scores, _drawn(charts.title, (charts.note,), charts.figures))
    for number, part in enumerate(parts):
        part["id"] = f"part-{number}"
    names = [escaping.one_line(model) for model in leaderboard.models]
    drawn = [
        {
            "id": f"{part['id']}-charts",
            "figures": [{"title": title, "spec": spec} for title, spec in part["figures"].items()],
        }
        for part in parts
        if part["figures"]
    ]
    values: dict[str, Any] = {
        "models": first_few(names, NAMED, "other"),
        "notes": [escaping.one_line(line) for line in leaderboard.notes],
        "headline": [escaping.one_line(line) for line in headline(leaderboard)],
        "tone": "failed" if leaderboard.regressed else "" if leaderboard.complete else "open",
        "sections": parts,
        "data": escaping.script(json.dumps(drawn, allow_nan=False, separators=(",", ":"))),
        "ethics": ETHICS,
    }
    return document("compare.html", ("vega.js", "sort.js", "tips.js", "charts.js", "compare.js"), values)


def _part(section: Section, history: History | None) -> dict[str, Any]:
    """A section of the page; if it has charts, only a table of the charts' values is expanded."""
    tables = tuple(map(_visible, section.tables))
    if section.changes:
        drawn = {"change of each score": changes_chart(section.changes)}
        return _drawn(section.title, section.lines, drawn, folded=tables)
    if section.trends and history is not None:
        drawn = {score_name(trend): trend_chart(trend, history.releases) for trend in section.trends}
        return _drawn(section.title, section.lines, drawn, open_=tables)
    if section.boards:
        drawn = {
            f"{score_name(board)}: {BEST[board.better]}": intervals_chart(board) for board in section.boards
        }
        if (models := max(len(board.standings) for board in section.boards)) > DRAWN:
            ends = f"the {DRAWN // 2} first and the {DRAWN // 2} last of {models} models"
            section = section._replace(lines=(*section.lines, f"Charts show {ends}; tables show all."))
        open_ = (_visible(matrix(section.boards)),)
        return _drawn(section.title, section.lines, drawn, open_=open_, folded=tables)
    return _drawn(section.title, section.lines, {}, open_=tables)


def _drawn(
    title: str,
    lines: Sequence[str],
    figures: Mapping[str, Spec],
    *,
    open_: Sequence[Table] = (),
    folded: Sequence[Table] = (),
) -> dict[str, Any]:
    return {
        "title": escaping.one_line(title),
        "lines": [escaping.one_line(line) for line in lines],
        "figures": {escaping.one_line(name): spec for name, spec in figures.items()},
        "open": open_,
        "folded": folded,
    }


def intervals_chart(board: Board) -> Spec:
    """A chart with a line per model, the best first: value, 95 % interval, and dots to the worst and best.

    Points are hollow if nothing is claimed about the model.
    """
    rows = [
        {
            "name": escaping.one_line(standing.model),
            "value": rounded(standing.value),
            **_ends("", standing.low, standing.high),
            **_ends("missing_", standing.worst, standing.best),
            "like": letters(standing),
            "interval": span(standing.low, standing.high),
            "asked": standing.asked,
            "missing": standing.missing,
        }
        for standing in at_ends(board.standings)
        if standing.value is not None
    ]
    tooltip = {"name": "model", "value": "score", "interval": "95 % interval", "like": "letters",
               "asked": "asked", "missing": "missing"}  # fmt: skip
    metric = metric_of(board.metric)
    return _lines(rows, metric.label, tooltip, signed=metric.signed)


def trend_chart(trend: Trend, releases: Sequence[Release]) -> Spec:
    """A chart of a score over the releases of a model, with 95 % intervals; lines join comparable releases.

    Dashed rules mark changes of the settings, across which scores are not comparable.
    """
    rows = [
        {
            "name": release.name,
            "time": release.time,
            "value": rounded(value),
            **_ends("", score.low, score.high),
            "interval": span(score.low, score.high),
            "era": release.era,
        }
        for release, score in zip(releases, trend.scores, strict=True)
        if score is not None and (value := of_report(score)) is not None
    ]
    metric = metric_of(trend.metric)
    x = {"field": "time", "type": "temporal", "title": None, "scale": {"type": "utc"}}
    y = {"type": "quantitative", "title": metric.label, **_axis(rows, signed=metric.signed)}
    eras = {"domain": sorted({release.era for release in releases}), "range": list(PALETTE)}
    hue = {"field": "era", "type": "nominal", "legend": None, "scale": eras}
    encoding = {"x": x, "y": y | {"field": "value"}, "color": hue}
    ends = {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}, "color": hue}
    tooltip = [
        {"field": "name", "title": "report"},
        {**x, "title": "run"},
        {"field": "value", "title": "score"},
        {"field": "interval", "title": "95 % interval"},
    ]
    intervals: list[Spec] = [
        {"mark": {"type": "area", "opacity": 0.2, "aria": False}, "encoding": ends},
        {"mark": {"type": "rule", "aria": False}, "encoding": ends},
    ]
    layers: list[Spec] = [
        *(intervals if any("low" in row for row in rows) else ()),
        {"mark": {"type": "line", "aria": False}, "encoding": encoding},
        {
            "mark": {"type": "point", "filled": True, "size": 50, "opacity": 1},
            "encoding": encoding | {"tooltip": tooltip},
        },
    ]
    if breaks := [{"time": release.time, "text": "not comparable"} for release in releases if release.apart]:
        rule = {"type": "rule", "strokeDash": [4, 3], "color": "gray", "aria": False}
        words = {"type": "text", "align": "right", "dx": -3, "dy": -6, "color": "gray", "aria": False}
        below = {"x": x, "y": {"value": "height"}, "text": {"field": "text"}}
        layers.append({"data": {"values": breaks}, "mark": rule, "encoding": {"x": x}})
        layers.append({"data": {"values": breaks}, "mark": words, "encoding": below})
    return ON_PAGE | {
        "height": HEIGHT,
        "data": {"values": rows},
        "layer": layers,
    }


def _axis(rows: Sequence[Spec], *, signed: bool) -> Spec:
    """The scale and the axis of values with intervals, which span the values shown."""
    names = ("value", "low", "high", "missing_low", "missing_high")
    ends = [row[name] for row in rows for name in names if name in row]
    return {
        "scale": {"domain": list(around(ends) if ends else (0, 1)), "nice": False, "zero": False},
        "axis": {"tickCount": 5, "format": "+.2f" if signed else ".2f"},
    }


def at_ends(standings: Sequence[Standing]) -> Sequence[Standing]:
    """The standings to show: all of them, or the first and the last ones if there are very many."""
    return standings if len(standings) <= DRAWN else (*standings[: DRAWN // 2], *standings[-DRAWN // 2 :])


def changes_chart(changes: Sequence[Change]) -> Spec:
    """A chart with a line per score: its change with both bounds; regressed scores have another colour."""
    shown = notable(changes)
    rows = [
        {
            "name": escaping.one_line(called),
            "value": rounded(change.change),
            **_ends("", change.low, change.high),
            "interval": span(change.low, change.high, sign="+"),
            "worse": change.regressed,
        }
        for called, change in zip(change_names(shown), shown, strict=True)
        if change.change is not None and change.statistic is None
    ]
    tooltip = {"name": "score", "value": "change", "interval": "bounds"}
    spec = _lines(rows, "change", tooltip, signed=True)
    zero = {
        "data": {"values": [{"x": 0}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": "gray", "aria": False},
        "encoding": {"x": {"field": "x", "type": "quantitative"}},
    }
    return spec | {"layer": [zero, *spec["layer"]]}


def _ends(prefix: str, low: float | None, high: float | None) -> Spec:
    if low is None or high is None:
        return {}
    return {f"{prefix}low": rounded(low), f"{prefix}high": rounded(high)}


def _lines(rows: Sequence[Spec], title: str, tooltip: Mapping[str, str], *, signed: bool) -> Spec:
    """A chart of values with intervals, one below the other in the order of the rows."""
    x = {"type": "quantitative", "title": title, **_axis(rows, signed=signed)}
    y = {
        "field": "name",
        "type": "nominal",
        "title": None,
        "sort": [row["name"] for row in rows],
        "axis": {"ticks": False, "domain": False, "labelLimit": 210, "labelExpr": SHORTENED},
    }
    worse = {"condition": {"test": "datum.worse", "value": PALETTE[1]}, "value": PALETTE[0]}
    unclaimed = {"test": "datum.like === '?'", "value": "transparent"}
    fill = {"condition": [unclaimed, worse["condition"]], "value": PALETTE[0]}
    shown = [{"field": field, "title": heading} for field, heading in tooltip.items()]

    def rule(prefix: str, **mark: object) -> Spec:
        return {
            "transform": [{"filter": f"isValid(datum.{prefix}low)"}],
            "mark": {"type": "rule", "aria": False, **mark},
            "encoding": {
                "x": x | {"field": f"{prefix}low"}, "x2": {"field": f"{prefix}high"}, "y": y, "color": worse
            },
        }  # fmt: skip

    return ON_PAGE | {
        "height": LINE * max(len(rows), 2),
        "data": {"values": list(rows)},
        "layer": [
            rule("missing_", strokeWidth=1.5, strokeDash=[2, 2]),
            rule("", strokeWidth=2.5),
            {
                "mark": {"type": "point", "size": 60, "strokeWidth": 1.5, "opacity": 1},
                "encoding": {
                    "x": x | {"field": "value"}, "y": y, "color": worse, "fill": fill, "tooltip": shown
                },
            },
        ],
    }  # fmt: skip


def _visible(table: Table) -> Table:
    """The table without characters that could reverse the page's text."""
    rows = (
        Row(
            escaping.one_line(row.label), tuple(escaping.one_line(str(cell)) for cell in row.cells), row.aside
        )
        for row in table.rows
    )
    notes = tuple(map(escaping.one_line, table.notes))
    return Table(escaping.one_line(table.title), table.headings, tuple(rows), notes)
