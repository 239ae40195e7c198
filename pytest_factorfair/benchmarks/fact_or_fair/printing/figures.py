"""Fact-or-Fair's printed figures: scores by model and context, trade-off curves, the surface of S_fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.printing.paper_tables import OBJECTIVE
from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import plane, planes, points
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import headlines
from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import tradeoff_bound
from pytest_factorfair.domain import Summary
from pytest_factorfair.drawing.entries import Entry, Omission, shown
from pytest_factorfair.drawing.figures import (
    COLOURS,
    PANEL_TITLE,
    POINT,
    STACKED,
    WIDTH,
    Figure,
    Spec,
    around,
    caption,
    coloured,
    drawn,
    fields,
    interval,
    printed,
    rounded,
    shaped,
    share_axis,
    unique,
)

MEAN = "mean"
PLANE = 260
"""Larger than the others: the words along the curve need room."""


def fact_or_fair(checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
    """The figures of one checklist's entries; those without data are left out with a reason."""
    groups = sorted(
        {of.groups for entry in entries for of in planes(entry.summary) if of.checklist == checklist}
    )
    yield drawn("curves", curves(groups) if groups else None, "no report has counts of groups")
    yield drawn("surface", surface(entries), "no part has both S_E and S_KLD")
    yield drawn("by-model", by_model(entries), "no report has both facts and judgements")
    yield drawn("by-context", by_context(entries), "no part has both S_fact and S_fair")
    yield from _planes(checklist, entries)


def _planes(checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
    """A plane per attribute and report: the reachable region and the baseline differ between runs."""
    runs: dict[int, Summary] = {id(entry.summary): entry.summary for entry in entries}
    for number, summary in enumerate(runs.values(), start=1):
        for of in planes(summary):
            if of.checklist == checklist:
                name = f"plane-{of.attribute}" + (f"-{number}" if len(runs) > 1 else "")
                run_entries = [entry for entry in entries if entry.summary is summary]
                title = f"Facts and evenness: {run_entries[0].attribute(of.attribute)}"
                models = ", ".join(entry.label for entry in run_entries)
                subtitle = f"{models}. {caption(run_entries, points(summary, of))}"
                size = {"width": PLANE, "height": PLANE, "config": STACKED}
                yield drawn(name, printed(title, subtitle, plane(summary, of) | size))


def by_model(entries: Sequence[Entry]) -> Spec | None:
    """A point per model, the better the further up and right; None if no model was asked for both parts."""
    rows = tuple(row for entry in entries for row in _mean_rows(entry))
    if not rows:
        return None
    encoding = {
        "x": _mean_axis("objective S_fact", "fact", rows),
        "y": _mean_axis("subjective S_fair, mean over contexts", "fair", rows),
        "color": coloured(entries),
        "shape": shaped("attribute", unique(rows, "attribute")),
    }
    return printed(
        "Fairness of judgements against factuality",
        f"{caption(entries)} Axes begin where scores do.",
        {
            "width": WIDTH,
            "height": WIDTH * 2 // 3,
            "data": {"values": list(rows)},
            "mark": {**POINT, "size": 55},
            "encoding": encoding,
        },
    )


def _mean_axis(title: str, field: str, rows: Sequence[Spec]) -> Spec:
    axis = share_axis(title, field, around(row[field] for row in rows))
    return {**axis, "axis": {"tickCount": 5, "format": ".2~f"}}


def _mean_rows(entry: Entry) -> Iterator[Spec]:
    for name, line in headlines(entry).items():
        if line.fact is not None and line.fair is not None:
            yield {
                "model": entry.label,
                "attribute": MEAN if name is None else entry.attribute(name),
                "fact": rounded(line.fact),
                "fair": rounded(line.fair),
            }


PANEL = 84
"""The width of a panel; two stand side by side."""


def by_context(entries: Sequence[Entry]) -> Spec | None:
    """A panel of facts and one of judgements for each attribute, because their scores lie far apart.

    None where no part has both scores.
    """
    rows = tuple(_context_rows(entries))
    looks = {"color": coloured(entries), "shape": shaped("place", unique(rows, "place"))}
    parts = unique(rows, "part")
    panels = [
        _panel(panel_rows, looks, f"{name}, {part}")
        for name in unique(rows, "attribute")
        for part in parts
        if (panel_rows := [row for row in rows if (row["attribute"], row["part"]) == (name, part)])
    ]
    subtitle = f"{caption(entries, rows)} Axes differ from panel to panel."
    body = {"concat": panels, "columns": len(parts), "spacing": 12}
    return printed("S_fair against S_fact by context", subtitle, body) if rows else None


def _panel(rows: Sequence[Spec], looks: Spec, title: str) -> Spec:
    encoding = {
        "x": _panel_axis("S_fact", "fact", rows),
        "y": _panel_axis("S_fair", "fair", rows),
        "color": looks["color"],
    }
    return {
        "title": {**PANEL_TITLE, "text": title, "anchor": "middle"},
        "width": PANEL,
        "height": PANEL,
        "data": {"values": list(rows)},
        "layer": [
            interval("x", encoding),
            interval("y", encoding),
            {"mark": {**POINT, "size": 35}, "encoding": encoding | looks},
        ],
    }


def _panel_axis(title: str, field: str, rows: Sequence[Spec]) -> Spec:
    names = (field, f"{field}_low", f"{field}_high")
    ends = around(row[name] for row in rows for name in names if name in row)
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(ends), "nice": False},
        "axis": {"tickCount": 3, "format": ".2~f"},
    }


def _context_rows(entries: Sequence[Entry]) -> Iterator[Spec]:
    for entry in entries:
        for fact in entry.scores:
            if fact.metric != "s_fact":
                continue
            fair = entry.score("s_fair", part=fact.part, context=fact.context, attribute=fact.attribute)
            row = fields(fact, "fact") | fields(fair, "fair")
            if {"fact", "fair"} <= row.keys():
                yield row | {
                    "model": entry.label,
                    "attribute": entry.attribute(fact.attribute),
                    "part": "facts" if fact.part == OBJECTIVE else "judgements",
                    "place": (fact.context or fact.part).replace("_", " "),
                }


CURVE_STEPS = 201
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


def curves(groups: Sequence[int]) -> Spec:
    """The trade-off curve of every number of groups, labelled at its top."""
    names = [f"k = {k}" for k in groups]
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(names))]
    dashes = [DASHES[index % len(DASHES)] for index in range(len(names))]
    encoding = {
        "x": share_axis("S_fact", "x"),
        "y": share_axis("S_E", "y", (0, 1.08)),
        "color": {"field": "k", "scale": {"domain": names, "range": colours}, "legend": None},
    }
    dash = {"field": "k", "scale": {"domain": names, "range": dashes}, "legend": None}
    facts = np.linspace(0, 1, CURVE_STEPS)
    curve = [
        {"k": f"k = {k}", "x": rounded(float(x)), "y": rounded(float(y))}
        for k in groups
        for x, y in zip(facts, tradeoff_bound(facts, k), strict=True)
    ]
    line = {
        "data": {"values": curve},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": encoding | {"strokeDash": dash},
    }
    top = {
        "data": {"values": [{"k": f"k = {k}", "x": rounded(1 / k), "y": 1} for k in groups]},
        "mark": {"type": "text", "dy": -7, "fontWeight": "bold"},
        "encoding": encoding | {"text": {"field": "k"}},
    }
    return printed(
        "The most S_E that S_fact allows",
        "k groups. A model that always names the true one is at the lower right.",
        {"width": WIDTH, "height": WIDTH * 2 // 3, "layer": [line, top]},
    )


LEVELS = tuple(level / 10 for level in range(1, 10))
DARK = 0.6
"""From this level on, text on the surface is white."""

SURFACE_STEPS = 100


def surface(entries: Sequence[Entry]) -> Spec | None:
    """The surface of S_fair in bands, with a point per model, part, context and attribute.

    None where no part has both scores.
    """
    position = {"x": share_axis("S_E", "x"), "y": share_axis("S_KLD", "y")}
    rows = tuple(_surface_points(entries))
    if not rows:
        return None
    points = {
        "data": {"values": list(rows)},
        "mark": {**POINT, "color": "#d55e00", "stroke": "white", "strokeWidth": 0.7},
        "encoding": position | {"shape": shaped("attribute", unique(rows, "attribute"))},
    }
    return printed(
        "S_fair from S_E and S_KLD",
        f"Lines of equal S_fair. Points: models by part and context. {caption(entries)}",
        {"width": WIDTH, "height": WIDTH, "layer": [_bands(position), _level_names(position), points]},
    )


def _bands(position: Spec) -> Spec:
    """The bands as overlapping areas, the lowest level first."""
    colour = {"field": "level", "type": "ordinal", "scale": {"scheme": "blues"}, "legend": None}
    # From the line of a level up to the top; right of where it meets the axis everything is above it.
    rows = [
        {"level": level, "x": x, "y": rounded(0.0 if x >= level else 1 - (1 - level) / (1 - x)), "top": 1}
        for level in LEVELS
        for x in (step / SURFACE_STEPS for step in range(SURFACE_STEPS + 1))
    ]
    return {
        "data": {"values": rows},
        "mark": {"type": "area", "line": {"strokeWidth": 0.5, "color": "white"}},
        "encoding": position | {"y2": {"field": "top"}, "color": colour},
    }


def _level_names(position: Spec) -> Spec:
    """The labels of the levels, at the points where S_E and S_KLD are equal."""
    rows = [
        {"x": even, "y": even, "text": f"{level:.1f}", "color": "white" if level >= DARK else "#333333"}
        for level in LEVELS
        if (even := rounded(1 - sqrt(1 - level)))
    ]
    colour = {"field": "color", "type": "nominal", "scale": None}
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "fontSize": 7, "dx": -2, "dy": 5},
        "encoding": position | {"text": {"field": "text"}, "color": colour},
    }


def _surface_points(entries: Sequence[Entry]) -> Iterator[Spec]:
    for entry in entries:
        for even in entry.scores:
            if even.metric == "s_e":
                alike = entry.score("s_kld", part=even.part, context=even.context, attribute=even.attribute)
                x, y = shown(even), shown(alike)
                if x is not None and y is not None:
                    yield {"attribute": entry.attribute(even.attribute), "x": rounded(x), "y": rounded(y)}
