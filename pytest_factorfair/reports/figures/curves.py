"""The curves g_k: the most S_E that S_fact allows, by the number of groups (Fact-or-Fair, Conclusion 1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pytest_factorfair.reports.figures.paper import COLOURS, WIDTH, printed, rounded
from pytest_factorfair.reports.figures.spec import Spec, share_axis
from pytest_factorfair.scoring import tradeoff_bound

STEPS = 201
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


def curves(groups: Sequence[int]) -> Spec:
    """A line for every number of groups, named at its top, where answers name all groups alike."""
    names = [f"k = {k}" for k in groups]
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    dashes = [DASHES[place % len(DASHES)] for place in range(len(names))]
    here = {
        "x": share_axis("S_fact", "x"),
        "y": share_axis("S_E", "y", (0, 1.08)),
        "color": {"field": "k", "scale": {"domain": names, "range": colours}, "legend": None},
    }
    dash = {"field": "k", "scale": {"domain": names, "range": dashes}, "legend": None}
    line = {
        "data": {"values": [row for k in groups for row in _curve(k)]},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": here | {"strokeDash": dash},
    }
    top = {
        "data": {"values": [{"k": f"k = {k}", "x": rounded(1 / k), "y": 1} for k in groups]},
        "mark": {"type": "text", "dy": -7, "fontWeight": "bold"},
        "encoding": here | {"text": {"field": "k"}},
    }
    return printed(
        "The most S_E that S_fact allows",
        "k groups. A model that always names the true one is at the lower right.",
        {"width": WIDTH, "height": WIDTH * 2 // 3, "layer": [line, top]},
    )


def _curve(k: int) -> Iterator[Spec]:
    facts = np.linspace(0, 1, STEPS)
    for x, y in zip(facts, tradeoff_bound(facts, k), strict=True):
        yield {"k": f"k = {k}", "x": rounded(float(x)), "y": rounded(float(y))}
