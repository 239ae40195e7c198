"""The matrix: what each statistic scores in each part and context, as plug-in values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pytest_factorfair.domain import DIRECTIONS, Summary, TopicCounts
from pytest_factorfair.reports import perceived
from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld
from pytest_factorfair.scoring.bounds import BEYOND, quantile, wilson

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
            "attribute": perceived.attribute(attribute, summary),
            "statistic": statistic,
            "column": column,
            "part": ends[0].part,
            "scores": scores(ends),
            "ends": [end(one) for one in ends],
        }


def scores(ends: Sequence[TopicCounts]) -> dict[str, float | None]:
    """The scores of one statistic; None where one of its ends has no answer."""
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


def end(topic: TopicCounts) -> Row:
    """One end of a statistic: shares of the groups with 95 % Wilson intervals, and what was lost."""
    n = sum(topic.counts.values())
    return {
        "direction": topic.direction,
        "truth": topic.truth,
        "fragile": topic.fragile,
        "asked": topic.asked,
        "refused": topic.refused,
        "unread": topic.unread,
        "errors": topic.errors,
        "groups": [_share(group, count, n) for group, count in topic.counts.items()],
    }


def _share(group: str, count: int, n: int) -> Row:
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
