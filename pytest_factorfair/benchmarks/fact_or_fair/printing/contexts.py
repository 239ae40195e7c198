"""The chart of base against contexts: what each does to the evenness of judgements, beside its gates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import EVENNESS
from pytest_factorfair.domain import Score, Summary, Verdict, gate_parts, selection
from pytest_factorfair.drawing import statements
from pytest_factorfair.drawing.entries import shown
from pytest_factorfair.drawing.figures import FIT, PALETTE, SCHEMA, Spec, around, rounded
from pytest_factorfair.drawing.table import span

Row = dict[str, Any]

HEIGHT = 24
"""Points of a line."""

TOOLTIP = {
    "name": "judgements",
    "value": "S_E",
    "interval": "95 % interval",
    "limits": "gates",
    "n": "answers",
}


def charts(summary: Summary) -> Iterator[Spec]:
    """A line per attribute, context and model: S_E, its interval, and the limits of its gates.

    There is no chart if judgements are asked in one context only.
    """
    scores = sorted(
        (score for score in summary.scores if score.metric == EVENNESS and score.context),
        key=lambda score: (score.checklist, score.attribute),
    )
    rows = [_row(summary, score) for score in scores if score.value is not None]
    if not rows or len({score.context for score in scores}) == 1:
        return
    limits = [{"name": row["name"], "limit": limit} for row in rows for limit in row["gates"]]
    ends = [end for row in rows for end in (row["value"], row["low"], row["high"], *row["gates"])]
    x: Spec = {
        "type": "quantitative",
        "title": "S_E",
        "scale": {"domain": list(around(ends)), "nice": False, "zero": False},
        "axis": {"tickCount": 5, "format": ".2f"},
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
    yield {
        "$schema": SCHEMA,
        "width": "container",
        "height": HEIGHT * len(rows),
        "autosize": FIT,
        "data": {"values": rows},
        "layer": [
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


def _row(summary: Summary, score: Score) -> Row:
    value, gates = shown(score) or 0.0, [verdict for verdict in summary.gates if _judges(verdict, score)]
    attribute = statements.attribute(score.attribute, summary)
    return {
        "name": ", ".join(
            (*statements.among(summary, score), attribute, str(score.context).replace("_", " "))
        ),
        "value": rounded(value),
        "low": rounded(value if score.low is None else score.low),
        "high": rounded(value if score.high is None else score.high),
        "interval": span(score.low, score.high),
        "gates": [verdict.threshold for verdict in gates],
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
