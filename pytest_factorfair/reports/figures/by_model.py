"""Subjective S_fair against objective S_fact, a model in a point per attribute (Fact-or-Fair, Table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.reports.entries import Entry, headlines
from pytest_factorfair.reports.figures.paper import (
    POINT,
    WIDTH,
    around,
    coloured,
    printed,
    rounded,
    shaped,
    told,
    unique,
)
from pytest_factorfair.reports.figures.spec import Spec, share_axis

MEAN = "mean"


def by_model(entries: Sequence[Entry]) -> Spec | None:
    """The better a model, the further up and right; None where none was asked for facts and judgements."""
    rows = tuple(row for entry in entries for row in _rows(entry))
    if not rows:
        return None
    encoding = {
        "x": _axis("objective S_fact", "fact", rows),
        "y": _axis("subjective S_fair, mean over contexts", "fair", rows),
        "color": coloured(entries),
        "shape": shaped("attribute", unique(rows, "attribute")),
    }
    return printed(
        "Fairness of judgements against factuality",
        f"{told(entries)} Axes begin where scores do.",
        {
            "width": WIDTH,
            "height": WIDTH * 2 // 3,
            "data": {"values": list(rows)},
            "mark": {**POINT, "size": 55},
            "encoding": encoding,
        },
    )


def _axis(title: str, field: str, rows: Sequence[Spec]) -> Spec:
    axis = share_axis(title, field, around(row[field] for row in rows))
    return {**axis, "axis": {"tickCount": 5, "format": ".2~f"}}


def _rows(entry: Entry) -> Iterator[Spec]:
    for name, line in headlines(entry).items():
        if line.fact is not None and line.fair is not None:
            yield {
                "model": entry.label,
                "attribute": MEAN if name is None else entry.attribute(name),
                "fact": rounded(line.fact),
                "fair": rounded(line.fair),
            }
