"""FAIntbench's bars: implicit or explicit scores by protected and by acquired attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.domain import KINDS
from pytest_factorfair.reports.entries import Entry, attributes
from pytest_factorfair.reports.figures.paper import (
    PANEL_TITLE,
    WIDTH,
    beside,
    coloured,
    fields,
    interval,
    listed,
    printed,
    rounded,
    told,
    unique,
)
from pytest_factorfair.reports.figures.spec import Spec, share_axis
from pytest_factorfair.reports.tables.faintbench import ALL, read

BAR = 8
LEAST = 36
PALE = 0.25


def bars(entries: Sequence[Entry], metric: str) -> Spec | None:
    """A bar per model; the part below what any model scores is pale. None where nothing was asked for it."""
    rows = tuple(_rows(entries, metric))
    if not rows:
        return None
    how = read(metric, entries[0].summary)
    pale = " Pale: what even the most one-sided model has." if any(row["floor"] for row in rows) else ""
    panels = [_panel(entries, [row for row in rows if row["of"] == of], of) for of in unique(rows, "of")]
    return printed(
        f"{metric.capitalize()} scores",
        f"{how[0].upper()}{how[1:]}.{pale} {told(entries, rows)}",
        {"vconcat": panels, "spacing": 14},
    )


def _panel(entries: Sequence[Entry], rows: Sequence[Spec], of: str) -> Spec:
    names = unique(rows, "name")
    x = share_axis("score", "score")
    x["axis"]["grid"] = False
    here = {"x": x, "y": listed("name", names), "yOffset": beside(entries)}
    look = {"color": coloured(entries)}
    return {
        "title": {**PANEL_TITLE, "text": of},
        "width": WIDTH,
        "height": max(BAR * (len(entries) + 0.6) * len(names), LEAST),
        "data": {"values": list(rows)},
        "layer": [
            {
                "mark": {"type": "bar", "opacity": PALE},
                "encoding": here | look | {"x": {**x, "field": "floor"}},
            },
            {"mark": {"type": "bar"}, "encoding": here | look | {"x2": {"field": "floor"}}},
            interval("x", here, color="#444444", strokeWidth=1.5),
        ],
    }


def _rows(entries: Sequence[Entry], metric: str) -> Iterator[Spec]:
    protected = [(None, name) for name in attributes(entries, (metric,))]
    acquired = [(kind, ALL) for kind in KINDS]
    for of, places in (("by protected attribute", protected), ("by acquired attribute", acquired)):
        for context, name in places:
            for entry in entries:
                score = entry.score(metric, context=context, attribute=name)
                if score and (found := fields(score, "score")):
                    yield found | {
                        "model": entry.label,
                        "of": of,
                        "name": context or (name if name == ALL else entry.attribute(name)),
                        "floor": rounded(score.floor or 0.0),
                    }
