"""S_fair against S_fact by part and context: what the words before a question do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.reports.entries import OBJECTIVE, Entry
from pytest_factorfair.reports.figures.paper import (
    PANEL_TITLE,
    POINT,
    around,
    coloured,
    fields,
    interval,
    printed,
    shaped,
    told,
    unique,
)
from pytest_factorfair.reports.figures.spec import Spec

SIZE = 84
"""Of one of the panels, of which two stand side by side."""


def by_context(entries: Sequence[Entry]) -> Spec | None:
    """For each attribute a panel of facts and one of judgements, whose scores lie far apart.

    None where no part has both scores.
    """
    rows = tuple(_rows(entries))
    looks = {"color": coloured(entries), "shape": shaped("place", unique(rows, "place"))}
    parts = unique(rows, "part")
    panels = [
        _panel(here, looks, f"{name}, {part}")
        for name in unique(rows, "attribute")
        for part in parts
        if (here := [row for row in rows if (row["attribute"], row["part"]) == (name, part)])
    ]
    subtitle = f"{told(entries, rows)} Axes differ from panel to panel."
    body = {"concat": panels, "columns": len(parts), "spacing": 12}
    return printed("S_fair against S_fact by context", subtitle, body) if rows else None


def _panel(rows: Sequence[Spec], looks: Spec, title: str) -> Spec:
    here = {"x": _axis("S_fact", "fact", rows), "y": _axis("S_fair", "fair", rows), "color": looks["color"]}
    return {
        "title": {**PANEL_TITLE, "text": title, "anchor": "middle"},
        "width": SIZE,
        "height": SIZE,
        "data": {"values": list(rows)},
        "layer": [
            interval("x", here),
            interval("y", here),
            {"mark": {**POINT, "size": 35}, "encoding": here | looks},
        ],
    }


def _axis(title: str, field: str, rows: Sequence[Spec]) -> Spec:
    names = (field, f"{field}_low", f"{field}_high")
    ends = around(row[name] for row in rows for name in names if name in row)
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(ends), "nice": False},
        "axis": {"tickCount": 3, "format": ".2~f"},
    }


def _rows(entries: Sequence[Entry]) -> Iterator[Spec]:
    for entry in entries:
        for fact in entry.scores:
            if fact.metric != "s_fact":
                continue
            fair = entry.score("s_fair", part=fact.part, context=fact.context, attribute=fact.attribute)
            both = fields(fact, "fact") | fields(fair, "fair")
            if {"fact", "fair"} <= both.keys():
                yield both | {
                    "model": entry.label,
                    "attribute": entry.attribute(fact.attribute),
                    "part": "facts" if fact.part == OBJECTIVE else "judgements",
                    "place": (fact.context or fact.part).replace("_", " "),
                }
