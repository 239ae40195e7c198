"""Shares of groups at one end of a statistic, with intervals, the even share, and the true group."""

from __future__ import annotations

from pytest_factorfair.reports.figures.spec import FIT, PALETTE, SCHEMA, Spec, share_axis

ROWS = "groups"
"""The data set a drawing fills: rows of group, share, low, high, count, true and even."""


def shares() -> Spec:
    """Without its rows: the page has one for each end of each cell, and draws those a reader opens."""
    group = {"field": "group", "type": "nominal", "title": None, "sort": None, "axis": {"labelLimit": 120}}
    x = share_axis("share of answers", "share")
    tooltip = [
        {"field": "group", "type": "nominal"},
        {"field": "count", "type": "quantitative", "title": "answers"},
        {"field": "share", "type": "quantitative", "format": ".3f"},
        {"field": "low", "type": "quantitative", "format": ".3f", "title": "from"},
        {"field": "high", "type": "quantitative", "format": ".3f", "title": "to"},
    ]
    bar = {
        "mark": {"type": "bar", "height": {"band": 0.6}},
        "encoding": {
            "y": group,
            "x": x,
            "color": {
                "field": "true",
                "type": "nominal",
                "title": None,
                "scale": {"domain": [True, False], "range": [PALETTE[0], PALETTE[6]]},
                "legend": None,
            },
            "tooltip": tooltip,
        },
    }
    error = {
        "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
        "encoding": {"y": group, "x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
    }
    even = {
        "mark": {"type": "rule", "strokeDash": [4, 3], "aria": False},
        "encoding": {"x": {"field": "even", "type": "quantitative", "aggregate": "max"}},
    }
    return {
        "$schema": SCHEMA,
        "width": "container",
        "autosize": FIT,
        "data": {"name": ROWS},
        "layer": [bar, error, even],
    }
