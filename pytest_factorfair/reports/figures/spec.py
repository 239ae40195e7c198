"""What all figures have in common: the grammar, colours that the colour-blind can tell apart, widths."""

from __future__ import annotations

from typing import Any, TypeAlias

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the grammar: nothing is fetched from there."""

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
"""Okabe and Ito's colours, with the yellow, which is lost on white, replaced by a grey."""


FIT: Spec = {"type": "fit-x", "contains": "padding"}
"""As wide as what it stands in."""


def share_axis(title: str, field: str, domain: tuple[float, float] = (0, 1)) -> Spec:
    """The channel of a score or share, from 0 to 1."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(domain), "nice": False},
        "axis": {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "format": ".1f", "labelOverlap": False},
    }
