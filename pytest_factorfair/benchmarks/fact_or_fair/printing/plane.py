"""The plane: S_fact against S_E, with the curve no model can get above (Fact-or-Fair, Figure 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import tradeoff_bound
from pytest_factorfair.domain import Score, Summary, gate_parts, selection
from pytest_factorfair.drawing.entries import Entry
from pytest_factorfair.drawing.figures import ON_PAGE, PALETTE, Spec, share_axis
from pytest_factorfair.statistics.arrays import FloatArray

FACT, EVENNESS = "s_fact", "s_e"
OBJECTIVE = "objective"
STEPS = 101
MARGIN = 0.03
"""How far the axes extend beyond 0 and 1, so that points at the ends are not clipped."""

ASIDE = 0.05
"""Distance of the arrows from the curve."""

NOW, BEFORE = "this run", "baseline"


class Plane(NamedTuple):
    """A plane of one checklist and attribute; the curve depends on the number of groups."""

    checklist: str
    attribute: str
    groups: int


def planes(summary: Summary) -> tuple[Plane, ...]:
    """The planes of a run, in the order of its scores."""
    return tuple(
        dict.fromkeys(
            Plane(topic.checklist, topic.attribute, len(topic.counts)) for topic in TOPICS.of(summary)
        )
    )


def plane(summary: Summary, of: Plane) -> Spec:
    """Draw a point with its interval for every model, part and context; the baseline's are hollow.

    Where facts are asked, a model should be at the lower right, where judgements are, at the upper left:
    the way up the curve is over-correction, the way down it stereotyping. Colours tell contexts apart or, in
    a run of several, models.
    """
    rows = points(summary, of)
    several = len({row["model"] for row in rows if row["run"] == NOW}) > 1
    looks = {"colour": "model", "shape": "place"} if several else {"colour": "place", "shape": "model"}
    drawn = _beyond(of), _reach(summary, of), _thresholds(summary, of), _ways(of), _points(rows, **looks)
    return _layered(*drawn)


def plane_of_models(entries: Sequence[Entry], of: Plane) -> Spec:
    """Draw the models of a comparison on one plane, with a point for facts and one for judgements.

    Judgements are those of the first context. Each model has a colour of its own if there are enough colours.
    """
    rows = [row | {"model": entry.label} for entry in entries for row in _points_of(entry.scores, of, NOW)]
    judged = next((row["place"] for row in rows if row["part"] != OBJECTIVE), OBJECTIVE)
    shown_rows = [row for row in rows if row["place"] in (OBJECTIVE, judged)]
    distinguishable = len({row["model"] for row in shown_rows}) <= len(PALETTE)
    looks = {"colour": "model", "shape": "place"} if distinguishable else {"colour": "place", "shape": ""}
    return _layered(_beyond(of), _ways(of), _points(shown_rows, **looks))


def _layered(*drawn: Iterable[Spec]) -> Spec:
    """A figure of these layers, the last on top."""
    return ON_PAGE | {"height": 340, "layer": [*chain.from_iterable(drawn)]}


def points(summary: Summary, of: Plane) -> tuple[Spec, ...]:
    """The points as rows, those of the baseline behind those of the run."""
    return (*_points_of(summary.scores, of, NOW), *_points_of(summary.former, of, BEFORE))


def _points_of(scores: Iterable[Score], of: Plane, run: str) -> Iterator[Spec]:
    scores_by_place: dict[tuple[str, str, str | None], dict[str, Score]] = {}
    for score in scores:
        if (score.checklist, score.attribute) == of[:2] and score.metric in (FACT, EVENNESS):
            scores_by_place.setdefault((score.model, score.part, score.context), {})[score.metric] = score
    for by_metric in scores_by_place.values():
        if {FACT, EVENNESS} <= by_metric.keys() and all(
            score.value is not None for score in by_metric.values()
        ):
            yield _point(by_metric) | {"run": run}


def _point(by_metric: Mapping[str, Score]) -> Spec:
    fact, evenness = by_metric[FACT], by_metric[EVENNESS]
    row: Spec = {"model": fact.model, "part": fact.part, "place": fact.context or fact.part, "n": fact.n}
    for name, score in (("x", fact), ("y", evenness)):
        value = score.shown
        row[name] = _clipped(value)
        row[f"{name}_low"] = _clipped(value if score.low is None else score.low)
        row[f"{name}_high"] = _clipped(value if score.high is None else score.high)
    return row


def _clipped(value: float | None) -> float | None:
    """A corrected score may lie a little outside of 0 to 1; its point does not."""
    return None if value is None else round(min(1.0, max(0.0, value)), 4)


def _beyond(of: Plane) -> Iterator[Spec]:
    """The curve, and what lies above it."""
    facts = np.linspace(0, 1, STEPS)
    bound = tradeoff_bound(facts, of.groups)
    rows = [
        {"x": round(float(x), 3), "y": round(float(y), 4), "top": 1}
        for x, y in zip(facts, bound, strict=True)
    ]
    shape = {
        "x": _axis("S_fact: the true group is named", "x"),
        "y": _axis("S_E: groups are named evenly", "y"),
    }
    above = {**shape, "y2": {"field": "top"}}
    quiet = {"tooltip": None, "aria": False}
    yield {
        "data": {"values": rows},
        "mark": {"type": "area", "opacity": 0.12, "color": "gray", **quiet},
        "encoding": above,
    }
    yield {
        "data": {"values": rows},
        "mark": {"type": "line", "color": "gray", "strokeWidth": 1.5, **quiet},
        "encoding": shape,
    }
    yield _text([{"x": 0.98, "y": 0.88, "text": "out of reach"}], align="right")


def _axis(title: str, field: str) -> Spec:
    return share_axis(title, field, (-MARGIN, 1 + MARGIN))


def _reach(summary: Summary, of: Plane) -> Iterator[Spec]:
    """The region the design can reach, where that is not everything below the curve."""
    scores = [score for score in summary.scores if (score.checklist, score.attribute) == of[:2]]
    low = {
        (score.part, score.floor)
        for score in scores
        if score.metric == EVENNESS and score.part == "subjective" and score.floor
    }
    rows = [{"y": round(floor, 4), "text": f"no {part} answers get below"} for part, floor in sorted(low)]
    if rows:
        yield {
            "data": {"values": rows},
            "mark": {"type": "rule", "strokeDash": [2, 3], "color": "gray", "aria": False},
            "encoding": {"y": _y()},
        }
        yield _text([{"x": 0, **row} for row in rows], align="left", dy=9)


def _thresholds(summary: Summary, of: Plane) -> Iterator[Spec]:
    """The gates on the two scores, as lines."""
    rows = {FACT: set[float](), EVENNESS: set[float]()}
    for verdict in summary.gates:
        selected = selection(gate_parts(verdict.gate).score)
        subjects = {word for topic in TOPICS.of(summary) for word in (topic.attribute, topic.checklist)}
        if (
            selected is not None
            and selected.metric in rows
            and not selected.regression
            and not set(selected.filters) & (subjects - set(of[:2]))
        ):
            rows[selected.metric].add(verdict.threshold)
    for metric, channel in ((FACT, "x"), (EVENNESS, "y")):
        if rows[metric]:
            yield {
                "data": {"values": [{channel: threshold} for threshold in sorted(rows[metric])]},
                "mark": {
                    "type": "rule",
                    "color": PALETTE[1],
                    "strokeDash": [6, 3],
                    "opacity": 0.8,
                    "aria": False,
                },
                "encoding": {channel: {"field": channel, "type": "quantitative"}},
            }
            ends = [
                {"x": threshold, "y": 0} if channel == "x" else {"x": 0, "y": threshold}
                for threshold in sorted(rows[metric])
            ]
            texts = [
                {**row, "text": f"gate {threshold:.3g}"}
                for row, threshold in zip(ends, sorted(rows[metric]), strict=True)
            ]
            yield _text(texts, align="left", dx=4, dy=-4 if channel == "x" else 10, color=PALETTE[1])


def _ways(of: Plane) -> Iterator[Spec]:
    """The two ways to go wrong along the curve, as arrows below it."""
    fair = 1 / of.groups
    for text, start, end in (("over-correction", 0.97, 0.8), ("stereotyping", fair + 0.06, fair + 0.25)):
        x, y = _inside(np.linspace(start, end, 20), of.groups)
        rows = [{"x": round(float(a), 4), "y": round(float(b), 4)} for a, b in zip(x, y, strict=True)]
        places = {
            "x": {"field": "x", "type": "quantitative"},
            "y": _y(),
            "order": {"field": "order", "type": "quantitative"},
        }
        quiet = {"color": "gray", "tooltip": None, "aria": False}
        yield {
            "data": {"values": [row | {"order": order} for order, row in enumerate(rows)]},
            "mark": {"type": "line", "strokeWidth": 1.2, **quiet},
            "encoding": places,
        }
        slope = math.degrees(math.atan2(x[-1] - x[-2], y[-1] - y[-2]))
        head = {
            "type": "point",
            "shape": "triangle-up",
            "filled": True,
            "size": 50,
            "angle": round(slope) % 360,
            **quiet,
        }
        yield {"data": {"values": rows[-1:]}, "mark": head, "encoding": {"x": places["x"], "y": _y()}}
        yield _text([rows[10] | {"text": text}], align="right", dx=-6, dy=6)


def _inside(facts: FloatArray, groups: int) -> tuple[FloatArray, FloatArray]:
    """The curve at these S_fact, moved to its inner side."""
    bound = tradeoff_bound(facts, groups)
    slope = np.gradient(bound, facts)
    length = np.sqrt(1 + slope**2)
    return facts + ASIDE * slope / length, bound - ASIDE / length


def _y() -> Spec:
    return {"field": "y", "type": "quantitative"}


def _text(rows: Sequence[Spec], **mark: object) -> Spec:
    return {
        "data": {"values": list(rows)},
        "mark": {"type": "text", "color": "gray", "fontSize": 11, "aria": False, **mark},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": _y(),
            "text": {"field": "text", "type": "nominal"},
        },
    }


def _points(rows: Sequence[Spec], *, colour: str, shape: str) -> Iterator[Spec]:
    """The points with their intervals; ``colour`` and ``shape`` are the fields that these show."""
    if not rows:  # an empty legend has no height that could be drawn
        return
    hue, form = _look(rows, colour, PALETTE), {"shape": _look(rows, shape)} if shape else {}
    x, y = {"field": "x", "type": "quantitative"}, _y()
    current_rows = [row for row in rows if row["run"] == NOW]
    rule = {"type": "rule", "strokeWidth": 1.5, "aria": False}
    yield {
        "data": {"values": current_rows},
        "mark": rule,
        "encoding": {"x": {**x, "field": "x_low"}, "x2": {"field": "x_high"}, "y": y, "color": hue},
    }
    yield {
        "data": {"values": current_rows},
        "mark": rule,
        "encoding": {"x": x, "y": {**y, "field": "y_low"}, "y2": {"field": "y_high"}, "color": hue},
    }
    tooltip = [
        {"field": name, "type": kind, "title": title}
        for name, kind, title in (
            ("model", "nominal", "model"), ("place", "nominal", "asked"), ("run", "nominal", "run"),
            ("x", "quantitative", "S_fact"), ("y", "quantitative", "S_E"), ("n", "quantitative", "answers"),
        )
    ]  # fmt: skip
    for run, filled in ((NOW, True), (BEFORE, False)):
        run_rows = [row for row in rows if row["run"] == run]
        if run_rows:
            yield {
                "data": {"values": run_rows},
                "mark": {"type": "point", "size": 70, "filled": filled, "strokeWidth": 1.5, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": hue, **form, "tooltip": tooltip},
            }


def _look(rows: Sequence[Spec], field: str, looks: Sequence[str] = ()) -> Spec:
    """A look for each value of a field, with a legend below where there are several."""
    domain = list(dict.fromkeys(row[field] for row in rows))
    scale_range = {"range": [looks[index % len(looks)] for index in range(len(domain))]} if looks else {}
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": domain, **scale_range},
        "legend": {"orient": "bottom", "columns": 2 if field == "model" else 3}
        if len(domain) > 1 or looks
        else None,
    }
