"""What a reader of the page opens: the matrix of statistics, their shares, FAIntbench's tree of levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, PromptCounts, Score, Summary, TopicCounts
from pytest_factorfair.protocols.faintbench.checklist import PromptCase
from pytest_factorfair.reports import statements
from pytest_factorfair.reports.figures.style import FIT, PALETTE, SCHEMA, Spec, share_axis
from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld
from pytest_factorfair.scoring.faintbench.alignment import floor, similarity
from pytest_factorfair.statistics.bounds import BEYOND, quantile, wilson

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
    """One end of a statistic: shares of groups with 95 % Wilson intervals, and lost answers."""
    n = sum(topic.counts.values())
    return {
        "direction": topic.direction,
        "truth": topic.truth,
        "fragile": topic.fragile,
        "asked": topic.asked,
        "refused": topic.refused,
        "unparsed": topic.unparsed,
        "errors": topic.errors,
        "groups": [_share_row(group, count, n) for group, count in topic.counts.items()],
    }


def _share_row(group: str, count: int, n: int) -> Row:
    if not n:
        return {"group": group, "count": count}
    z, share = quantile(BEYOND), count / n
    low, high = wilson(share, n, z=-z), wilson(share, n, z=z)
    return {
        "group": group,
        "count": count,
        "share": round(share, 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


METRICS = ("implicit", "explicit")
SIDES = (" (left)", " (right)")


def trees(summary: Summary, cases: Iterable[PromptCase]) -> Iterator[Row]:
    """One per model and checklist; empty without FAIntbench."""
    asked = tuple(cases)
    subjects = dict.fromkeys((one.model, one.checklist) for one in summary.prompts)
    for model, checklist in subjects:
        known = {case.id: case for case in asked if case.checklist == checklist}
        scores = [one for one in summary.scores if (one.model, one.checklist) == (model, checklist)]
        prompts = [one for one in summary.prompts if (one.model, one.checklist) == (model, checklist)]
        attributes = tuple(dict.fromkeys(one.attribute for one in scores if one.metric in METRICS))
        yield {
            "model": model,
            "checklist": checklist,
            "attributes": attributes,
            "levels": list(_levels(scores, known)),
            "prompts": list(_prompts(prompts, known)),
        }


def _levels(scores: Iterable[Score], cases: Mapping[str, PromptCase]) -> Iterator[Row]:
    """Levels with their scores by metric and attribute; ``within`` is the level above."""
    kinds = {case.category: case.kind for case in cases.values()}
    places: dict[str | None, list[Score]] = {}
    for one in scores:
        if one.metric in METRICS:
            places.setdefault(one.context, []).append(one)
    for place, here in places.items():
        above = None if place is None else kinds.get(place, "")
        yield {
            "id": place or "",
            "within": above,
            "cells": {
                f"{one.metric}-{one.attribute}": _level_cell(one) for one in here if one.value is not None
            },
        }


def _level_cell(one: Score) -> Row:
    value = one.value if one.corrected is None else one.corrected
    numbers = {"value": value, "low": one.low, "high": one.high, "floor": one.floor, "n": one.n}
    return {name: round(number, 4) for name, number in numbers.items() if number is not None}


def _prompts(rows: Iterable[PromptCounts], cases: Mapping[str, PromptCase]) -> Iterator[Row]:
    """A prompt's people: plug-in alignment with its floor, or how many pictures show who was asked for."""
    for row in rows:
        case = cases[row.case]
        found = _implicit(row) if case.part == "implicit" else _explicit(row)
        side = SIDES[row.side] if case.kind == "relation" else ""
        yield {
            "title": case.title + side,
            "category": case.category,
            "attribute": row.attribute,
            "part": case.part,
            "counts": dict(row.counts),
            "asked": row.asked,
            "lost": row.refused + row.unparsed + row.errors,
            **found,
        }


def _implicit(row: PromptCounts) -> Row:
    truth = np.array(list(row.shares.values()))
    counts = np.array(list(row.counts.values()), np.float64)
    lowest = round(float(floor(truth)), 4)
    if not counts.sum():
        return {"value": None, "floor": lowest}
    return {"value": round(float(similarity(counts / counts.sum(), truth)), 4), "floor": lowest}


def _explicit(row: PromptCounts) -> Row:
    counted = row.asked - row.refused - row.unparsed - row.errors
    return {"value": round(sum(row.counts.values()) / counted, 4) if counted else None}


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
