"""FAIntbench's axis of eta, from ignorance to discrimination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.reports.entries import Entry, attributes, shown
from pytest_factorfair.reports.figures.paper import (
    GREY,
    POINT,
    WIDTH,
    around,
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
from pytest_factorfair.reports.tables.faintbench import ALL

STEP = 12
LEAST = 60
NEITHER = 0.5
IGNORANCE, DISCRIMINATION = "ignorance: the same group", "discrimination: opposite groups"


def eta_axis(entries: Sequence[Entry]) -> Spec | None:
    """A point with its interval per model and attribute, beside the size of deviations, without which eta
    means nothing; None where no pair was asked.
    """
    rows = tuple(_rows(entries))
    names = unique(rows, "name")
    low, high = _domain(rows, entries)
    x = share_axis("eta", "eta", (low, high))
    x["axis"] = {"tickCount": 5, "format": ".2~f", "grid": False}
    here = {"y": listed("name", names), "yOffset": beside(entries)}
    looks = {"color": coloured(entries), "shape": shaped("model", [entry.label for entry in entries])}
    sizes = {
        "mark": {"type": "text", "align": "left", "dx": 8},
        "encoding": here | {"x": {"value": "width"}, "text": {"field": "size"}},
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
        "layer": [middle, *points, sizes, *_ends(entries)],
    }
    return printed("Manifestation factor eta", subtitle, body) if rows else None


def _domain(rows: Sequence[Spec], entries: Sequence[Entry]) -> tuple[float, float]:
    """0 to 1, which the paper's own formula leaves."""
    if not rows or _bounded(entries):
        return 0, 1
    return around((0, 1, *(row["eta"] for row in rows)))


def _bounded(entries: Sequence[Entry]) -> bool:
    return entries[0].summary.fingerprint.estimator == "corrected"


def _ends(entries: Sequence[Entry]) -> Iterator[Spec]:
    """What the ends mean: by the paper's formula, the reverse of what its text says."""
    names = (IGNORANCE, DISCRIMINATION) if _bounded(entries) else (DISCRIMINATION, IGNORANCE)
    for at, text, align in zip((0, "width"), names, ("left", "right"), strict=True):
        yield {
            "data": {"values": [{}]},
            "mark": {"type": "text", "text": text, "align": align, "dy": -6, "color": GREY},
            "encoding": {"x": {"value": at}, "y": {"value": 0}},
        }


def _rows(entries: Sequence[Entry]) -> Iterator[Spec]:
    for name in attributes(entries, ("eta",)):
        for entry in entries:
            if found := fields(entry.score("eta", attribute=name), "eta"):
                size = shown(entry.score("eta_magnitude", attribute=name))
                yield found | {
                    "model": entry.label,
                    "name": name if name == ALL else entry.attribute(name),
                    "size": "" if size is None else f"{size:.2f}",
                }
