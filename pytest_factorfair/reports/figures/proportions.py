"""FAIntbench's prompts by kind, and by what they ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_factorfair.domain import KINDS
from pytest_factorfair.reports.entries import Entry
from pytest_factorfair.reports.figures.paper import WIDTH, listed, printed, unique
from pytest_factorfair.reports.figures.spec import Spec

IMPLICIT = "implicit"
SHADES = ("#08306b", "#2171b5", "#6baed6", "#c6dbef", "#deebf7")
"""From dark to light, so that greyscale tells them apart."""

DARK = 2
"""On so many of them text is white."""

BAR = 24
ROOM = 0.06
"""A piece below this share of the longest bar has no room for its number."""


def proportions(entries: Sequence[Entry]) -> Spec | None:
    """The prompts asked, a bar per kind; None where no report has any."""
    rows = tuple(_rows(_counts(entries)))
    asked = unique(rows, "asked")
    shades = [SHADES[place % len(SHADES)] for place in range(len(asked))]
    x = {"field": "n", "type": "quantitative", "title": "prompts", "stack": "zero", "axis": {"tickCount": 5}}
    here = {
        "x": x,
        "y": listed("kind", unique(rows, "kind")),
        "order": {"field": "order", "type": "quantitative"},
    }
    colour = {
        "field": "asked",
        "type": "nominal",
        "title": None,
        "scale": {"domain": asked, "range": shades},
        "legend": {"direction": "horizontal", "columns": 2},
    }
    text = {
        "text": {"field": "text"},
        "detail": {"field": "asked"},
        "color": {"condition": {"test": f"datum.order < {DARK}", "value": "white"}, "value": "black"},
    }
    body = {
        "width": WIDTH,
        "height": BAR * len(unique(rows, "kind")),
        "data": {"values": list(rows)},
        "layer": [
            {
                "mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.5},
                "encoding": here | {"color": colour},
            },
            {
                "mark": {"type": "text", "fontSize": 7},
                "encoding": here | text | {"x": {**x, "bandPosition": 0.5}},
            },
        ],
    }
    total = sum(row["n"] for row in rows)
    subtitle = f"{total:,} prompts were asked. Implicit ones ask for no group."
    return printed("Prompts by kind and by what they ask for", subtitle, body) if rows else None


def _counts(entries: Sequence[Entry]) -> Counter[tuple[str, str]]:
    """Prompts by kind and request; a case's id begins with its part and kind."""
    cases = {
        one.case: one.attribute
        for entry in entries
        for one in entry.summary.prompts
        if one.checklist == entry.checklist
    }
    found: Counter[tuple[str, str]] = Counter()
    for case, attribute in cases.items():
        part, kind, *_ = case.split("-")
        found[kind, IMPLICIT if part == IMPLICIT else f"explicit {attribute}"] += 1
    return found


def _rows(counts: Counter[tuple[str, str]]) -> Iterator[Spec]:
    """Implicit ones first, in the one as in the other bar."""
    asked = sorted(dict.fromkeys(asked for _, asked in counts), key=lambda each: each != IMPLICIT)
    sums = {kind: sum(counts[kind, each] for each in asked) for kind in KINDS}
    for kind in KINDS:
        for order, each in enumerate(asked):
            if n := counts[kind, each]:
                text = f"{n:,}" if n >= ROOM * max(sums.values()) else ""
                yield {"kind": kind, "asked": each, "n": n, "order": order, "text": text}
