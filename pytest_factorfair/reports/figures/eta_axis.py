"""FAIntbench's axis of eta, from ignorance to discrimination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.reports.entries import Entry, attributes, shown
from pytest_factorfair.reports.faintbench_table import ALL
from pytest_factorfair.reports.figures.paper import (
    GREY,
    POINT,
    WIDTH,
    beside,
    coloured,
    fields,
    interval,
    listed,
    printed,
    shaped,
    told,
    unique,
)
from pytest_factorfair.reports.figures.spec import Spec, share_axis

STEP = 12
LEAST = 60
NEITHER = 0.5
ENDS = ((0, "ignorance: the same group", "left"), (1, "discrimination: opposite groups", "right"))


def eta_axis(entries: Sequence[Entry]) -> Spec | None:
    """A point with its interval per model and attribute, beside the size of deviations, without which eta
    means nothing; None where no pair was asked.
    """
    rows = tuple(_rows(entries))
    names = unique(rows, "name")
    x = share_axis("eta", "eta")
    x["axis"] = {"values": [0, 0.25, NEITHER, 0.75, 1], "format": ".2~f", "grid": False}
    here = {"y": listed("name", names), "yOffset": beside(entries)}
    looks = {"color": coloured(entries), "shape": shaped("model", [entry.label for entry in entries])}
    sizes = {
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 7},
        "encoding": here | {"x": {**x, "field": "right"}, "text": {"field": "size"}},
    }
    middle = {
        "data": {"values": [{"eta": NEITHER}]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [3, 3]},
        "encoding": {"x": x},
    }
    points = [
        interval("x", here | {"x": x, "color": looks["color"]}, strokeWidth=1.5),
        {"mark": POINT, "encoding": here | {"x": x} | looks},
    ]
    subtitle = (
        "Do good and bad words favour the same groups or opposite ones? On the right: how large the "
        f"deviations are. {told(entries, rows)}"
    )
    body = {
        "width": WIDTH,
        "height": max(STEP * (len(entries) + 0.6) * len(names), LEAST),
        "data": {"values": list(rows)},
        "layer": [middle, *points, sizes, *(_end(x, *end) for end in ENDS)],
    }
    return printed("Manifestation factor eta", subtitle, body) if rows else None


def _end(x: Spec, at: float, text: str, align: str) -> Spec:
    return {
        "data": {"values": [{"eta": at}]},
        "mark": {"type": "text", "text": text, "align": align, "dy": -6, "fontSize": 7, "color": GREY},
        "encoding": {"x": x, "y": {"value": 0}},
    }


def _rows(entries: Sequence[Entry]) -> Iterator[Spec]:
    for name in attributes(entries, ("eta",)):
        for entry in entries:
            if found := fields(entry.score("eta", attribute=name), "eta"):
                size = shown(entry.score("eta_magnitude", attribute=name))
                yield found | {
                    "model": entry.label,
                    "name": name if name == ALL else entry.attribute(name),
                    "right": 1,
                    "size": "" if size is None else f"{size:.2f}",
                }
