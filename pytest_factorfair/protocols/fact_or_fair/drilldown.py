"""What a reader of the page opens: the matrix of statistics, and the shares of an end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Summary, TopicCounts
from pytest_factorfair.reports import statements
from pytest_factorfair.reports.figures import FIT, PALETTE, SCHEMA, Spec, share_axis
from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilson
from pytest_factorfair.statistics.sample import Sample

Row = dict[str, Any]


def cells(summary: Summary) -> Iterator[Row]:
    """A row per model, attribute, statistic and context, with both of its ends.

    ``column`` is the context, or the part where there is none.
    """
    by_cell: dict[tuple[str, ...], list[TopicCounts]] = {}
    for one in summary.topics:
        place = (one.model, one.checklist, one.attribute, one.statistic, one.context or one.part)
        by_cell.setdefault(place, []).append(one)
    for (model, checklist, attribute, statistic, column), ends in by_cell.items():
        yield {
            "model": model,
            "checklist": checklist,
            "attribute": statements.attribute(attribute, summary),
            "statistic": statistic,
            "column": column,
            "part": ends[0].part,
            "scores": statistic_scores(ends),
            "ends": [cell_end(one) for one in ends],
        }


def statistic_scores(ends: Sequence[TopicCounts]) -> dict[str, float | None]:
    """The scores of one statistic; None if one of its ends has no answer."""
    groups = list(ends[0].counts)
    counts = np.array([[[one.counts[group] for group in groups] for one in ends]], np.float64)
    if len(ends) != len(DIRECTIONS) or not counts.sum(axis=-1).all():
        return dict.fromkeys(("s_fact", "s_e", "s_kld", "s_fair"))
    truth = np.array([[groups.index(one.truth) for one in ends]])
    evenness, likeness = float(s_e(counts)), float(s_kld(counts))
    return {
        "s_fact": round(float(s_fact(counts, truth)), 4),
        "s_e": round(evenness, 4),
        "s_kld": round(likeness, 4),
        "s_fair": round(float(s_fair(evenness, likeness)), 4),
    }


def cell_end(topic: TopicCounts) -> Row:
    """One end of a statistic: shares of groups with 95 % Wilson intervals, lost answers, letters' mass."""
    return {
        "direction": topic.direction,
        "truth": topic.truth,
        "fragile": topic.fragile,
        "asked": topic.asked,
        "refused": topic.refused,
        "unparsed": topic.unparsed,
        "errors": topic.errors,
        **({"held": round(1 - topic.outside / topic.answered, 4)} if topic.outside else {}),
        "groups": list(_share_rows(topic)),
    }


def _share_rows(topic: TopicCounts) -> Iterator[Row]:
    """Each group's share, with Wilson's interval at as many answers as would be as precise if drawn."""
    counts = np.array([*topic.counts.values()], np.float64)
    covariance = np.array(topic.covariance) if topic.covariance else None
    n, z = topic.answered, quantile(BEYOND)
    for group, count, precise in zip(topic.counts, counts, Sample(counts, covariance).effective, strict=True):
        row = {"group": group, "count": round(float(count), 1) if covariance is not None else int(count)}
        if n:
            share = float(count) / n
            low, high = wilson(share, precise, z=-z), wilson(share, precise, z=z)
            row |= {"share": round(share, 4), "low": round(low, 4), "high": round(high, 4)}
        yield row


SHARES = "groups"
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
        "data": {"name": SHARES},
        "layer": [bar, error, even],
    }
