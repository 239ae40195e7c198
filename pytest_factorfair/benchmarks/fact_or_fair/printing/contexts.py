"""The chart of base against contexts: how often judgements go to the favourite, beside the gates on S_E."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.printing.favourites import Favourite, favourite
from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import EVENNESS
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import favourite_share
from pytest_factorfair.domain import Score, Summary, Verdict, gate_parts, selection
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.figures import ON_PAGE, PALETTE, Spec, rounded
from pytest_factorfair.drawing.table import number

Row = dict[str, Any]

HEIGHT = 24
"""Points of a line."""

TOOLTIP = {
    "name": "judgements",
    "value": "of 100 to the favourite",
    "interval": "95 % interval",
    "evenness": "S_E",
    "limits": "gates on S_E",
    "n": "answers",
}


def charts(summary: Summary) -> Iterator[Spec]:
    """A line per attribute, context and model: answers for the favourite, the limits of gates, a fair choice.

    There is no chart if judgements are asked in one context only.
    """
    scores = sorted(
        (score for score in summary.scores if score.metric == EVENNESS and score.context),
        key=lambda score: (score.checklist, score.attribute),
    )
    rows = [
        _row(summary, score, share) for score in scores if (share := favourite(summary, score)) is not None
    ]
    if not rows or len({score.context for score in scores}) == 1:
        return
    limits = [{"name": row["name"], "limit": limit} for row in rows for limit in row["gates"]]
    ends = [end for row in rows for end in (row["fair"], row["low"], row["high"], *row["gates"])]
    margin = (max(ends) - min(ends) or 1) / 20
    x: Spec = {
        "type": "quantitative",
        "title": "the favourite, of 100 answers",
        "scale": {
            "domain": [max(min(ends) - margin, 0), min(max(ends) + margin, 100)],
            "nice": False,
            "zero": False,
        },
        "axis": {"tickCount": 6},
    }
    y: Spec = {
        "field": "name",
        "type": "nominal",
        "title": None,
        "sort": [row["name"] for row in rows],
        "axis": {"ticks": False, "domain": False, "labelLimit": 320},
    }
    color = {"condition": {"test": "datum.failed", "value": PALETTE[1]}, "value": PALETTE[0]}
    tooltip = [{"field": field, "title": title} for field, title in TOOLTIP.items()]
    yield ON_PAGE | {
        "height": HEIGHT * len(rows),
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "tick", "thickness": 2, "size": 10, "color": PALETTE[2], "aria": False},
                "encoding": {"x": x | {"field": "fair"}, "y": y},
            },
            {
                "data": {"values": limits},
                "mark": {"type": "tick", "thickness": 2, "size": 18, "color": "gray", "aria": False},
                "encoding": {"x": x | {"field": "limit"}, "y": y},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2.5, "aria": False},
                "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y, "color": color},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
                "encoding": {
                    "x": x | {"field": "value"},
                    "y": y,
                    "color": color,
                    "shape": {
                        "condition": {"test": "datum.failed", "value": "triangle-up"},
                        "value": "circle",
                    },
                    "tooltip": tooltip,
                },
            },
        ],
    }


def _row(summary: Summary, score: Score, share: Favourite) -> Row:
    gates = [verdict for verdict in summary.gates if _judges(verdict, score)]
    attribute = statements.attribute(score.attribute, summary)
    return {
        "name": ", ".join(
            (*statements.among(summary, score), attribute, str(score.context).replace("_", " "))
        ),
        "value": rounded(share.value),
        "low": rounded(share.value if share.low is None else share.low),
        "high": rounded(share.value if share.high is None else share.high),
        "fair": rounded(share.fair),
        "interval": "" if share.low is None else f"{share.low:.1f} to {share.high:.1f}",
        "evenness": number(score.shown),
        "gates": [rounded(100 * favourite_share(verdict.threshold, share.groups)) for verdict in gates],
        "limits": ", ".join(f"{verdict.judgement} at {verdict.threshold:g}" for verdict in gates) or "none",
        "failed": any(verdict.judgement == "failed" for verdict in gates),
        "n": score.n,
    }


def _judges(verdict: Verdict, score: Score) -> bool:
    """Whether a gate is on this score."""
    selected = selection(gate_parts(verdict.gate).score)
    return (
        selected is not None
        and (selected.metric, selected.regression) == (EVENNESS, False)
        and verdict.model == score.model
        and {*verdict.words} - {score.model, score.checklist} == {score.context, score.attribute}
    )
