"""The surface S_fair = 1 - (1 - S_E)(1 - S_KLD), and where models lie on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from pytest_factorfair.reports.entries import Entry, shown
from pytest_factorfair.reports.figures.paper import POINT, WIDTH, printed, rounded, shaped, told, unique
from pytest_factorfair.reports.figures.spec import Spec, share_axis

LEVELS = tuple(level / 10 for level in range(1, 10))
DARK = 0.6
"""From this level on, text on the surface is white."""

STEPS = 100


def surface(entries: Sequence[Entry]) -> Spec:
    """Bands of equal S_fair, darker where it is higher; a point per model, part, context and attribute."""
    place = {"x": share_axis("S_E", "x"), "y": share_axis("S_KLD", "y")}
    rows = tuple(_points(entries))
    points = {
        "data": {"values": list(rows)},
        "mark": {**POINT, "color": "#d55e00", "stroke": "white", "strokeWidth": 0.7},
        "encoding": place | {"shape": shaped("attribute", unique(rows, "attribute"))},
    }
    return printed(
        "S_fair from S_E and S_KLD",
        f"Lines of equal S_fair. Points: models by part and context. {told(entries)}",
        {"width": WIDTH, "height": WIDTH, "layer": [_bands(place), _names(place), points]},
    )


def _bands(place: Spec) -> Spec:
    """Areas that lie upon each other, the lowest level first."""
    level = {"field": "level", "type": "ordinal", "scale": {"scheme": "blues"}, "legend": None}
    return {
        "data": {"values": [row for level in LEVELS for row in _above(level)]},
        "mark": {"type": "area", "line": {"strokeWidth": 0.5, "color": "white"}},
        "encoding": place | {"y2": {"field": "top"}, "color": level},
    }


def _above(level: float) -> Iterator[Spec]:
    """From the line of this S_fair up to the top; right of where it meets the axis everything is above it."""
    for step in range(STEPS + 1):
        evenness = step / STEPS
        lowest = 0.0 if evenness >= level else 1 - (1 - level) / (1 - evenness)
        yield {"level": level, "x": evenness, "y": rounded(lowest), "top": 1}


def _names(place: Spec) -> Spec:
    """The levels, where S_E and S_KLD are equal."""
    rows = [
        {"x": even, "y": even, "text": f"{level:.1f}", "color": "white" if level >= DARK else "#333333"}
        for level in LEVELS
        if (even := rounded(1 - sqrt(1 - level)))
    ]
    colour = {"field": "color", "type": "nominal", "scale": None}
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "fontSize": 7, "dx": -2, "dy": 5},
        "encoding": place | {"text": {"field": "text"}, "color": colour},
    }


def _points(entries: Sequence[Entry]) -> Iterator[Spec]:
    for entry in entries:
        for even in entry.scores:
            if even.metric == "s_e":
                alike = entry.score("s_kld", part=even.part, context=even.context, attribute=even.attribute)
                x, y = shown(even), shown(alike)
                if x is not None and y is not None:
                    yield {"attribute": entry.attribute(even.attribute), "x": rounded(x), "y": rounded(y)}
