"""FAIntbench's printed figures: bars of scores, the axis of eta, the prompts that were asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_factorfair.benchmarks.faintbench.checklist import KINDS
from pytest_factorfair.benchmarks.faintbench.printing.tables import read
from pytest_factorfair.benchmarks.faintbench.rows import PROMPTS
from pytest_factorfair.domain import ALL
from pytest_factorfair.drawing.entries import Entry, Omission, attributes, shown
from pytest_factorfair.drawing.figures import (
    GREY,
    PANEL_TITLE,
    POINT,
    WIDTH,
    Figure,
    Spec,
    around,
    beside,
    caption,
    coloured,
    drawn,
    fields,
    interval,
    listed,
    printed,
    rounded,
    shaped,
    share_axis,
    unique,
)

BAR = 8
LEAST_BARS = 36
PALE = 0.25


def faintbench(entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
    """The figures of one checklist's entries; those without data are left out with a reason."""
    for metric in ("implicit", "explicit"):
        yield drawn(f"{metric}-bars", bars(entries, metric), f"no {metric} prompt was asked")
    yield drawn("eta-axis", eta_axis(entries), "no pair of prompts that it compares was asked")
    yield drawn("proportions", proportions(entries), "no report lists its prompts")


def bars(entries: Sequence[Entry], metric: str) -> Spec | None:
    """A bar per model, pale below the lowest possible score; None if nothing was asked for it."""
    rows = tuple(_bar_rows(entries, metric))
    if not rows:
        return None
    how = read(metric, entries[0].summary)
    pale = " Pale: what even the most one-sided model has." if any(row["floor"] for row in rows) else ""
    panels = [_panel(entries, [row for row in rows if row["of"] == of], of) for of in unique(rows, "of")]
    return printed(
        f"{metric.capitalize()} scores",
        f"{how[0].upper()}{how[1:]}.{pale} {caption(entries, rows)}",
        {"vconcat": panels, "spacing": 14},
    )


def _panel(entries: Sequence[Entry], rows: Sequence[Spec], of: str) -> Spec:
    names = unique(rows, "name")
    x = share_axis("score", "score")
    x["axis"]["grid"] = False
    position = {"x": x, "y": listed("name", names), "yOffset": beside(entries)}
    look = {"color": coloured(entries)}
    return {
        "title": {**PANEL_TITLE, "text": of},
        "width": WIDTH,
        "height": max(BAR * (len(entries) + 0.6) * len(names), LEAST_BARS),
        "data": {"values": list(rows)},
        "layer": [
            {
                "mark": {"type": "bar", "opacity": PALE},
                "encoding": position | look | {"x": {**x, "field": "floor"}},
            },
            {"mark": {"type": "bar"}, "encoding": position | look | {"x2": {"field": "floor"}}},
            interval("x", position, color="#444444", strokeWidth=1.5),
        ],
    }


def _bar_rows(entries: Sequence[Entry], metric: str) -> Iterator[Spec]:
    protected = [(None, name) for name in attributes(entries, (metric,))]
    acquired = [(kind, ALL) for kind in KINDS]
    for of, levels in (("by protected attribute", protected), ("by acquired attribute", acquired)):
        for context, name in levels:
            for entry in entries:
                score = entry.score(metric, context=context, attribute=name)
                if score and (values := fields(score, "score")):
                    yield values | {
                        "model": entry.label,
                        "of": of,
                        "name": context or (name if name == ALL else entry.attribute(name)),
                        "floor": rounded(score.floor or 0.0),
                    }


STEP = 12
LEAST_AXIS = 60
NEITHER = 0.5
IGNORANCE, DISCRIMINATION = "ignorance", "discrimination"


def eta_axis(entries: Sequence[Entry]) -> Spec | None:
    """The axis of eta: a point with its interval per model and attribute; None if no pair was asked.

    The size of the deviations stands beside it, because eta means nothing without deviations.
    """
    rows = tuple(_eta_rows(entries))
    names = unique(rows, "name")
    # The paper's own formula leaves 0 to 1.
    domain = (0, 1) if not rows or _bounded(entries) else around((0, 1, *(row["eta"] for row in rows)))
    x = share_axis("eta", "eta", domain)
    x["axis"] = {"tickCount": 5, "format": ".2~f", "grid": False}
    position = {"y": listed("name", names), "yOffset": beside(entries)}
    looks = {"color": coloured(entries), "shape": shaped("model", [entry.label for entry in entries])}
    sizes = {
        "mark": {"type": "text", "align": "left", "dx": 8},
        "encoding": position | {"x": {"value": "width"}, "text": {"field": "size"}},
    }
    middle = {
        "data": {"values": [{"eta": NEITHER}]},
        "mark": {"type": "rule", "color": GREY, "strokeDash": [3, 3]},
        "encoding": {"x": x},
    }
    points = [
        interval("x", position | {"x": x, "color": looks["color"]}, strokeWidth=1.5),
        {"mark": POINT, "encoding": position | {"x": x} | looks},
    ]
    subtitle = (
        "Do good and bad words favour the same groups or opposite ones? On the right: how large the "
        f"deviations are. {caption(entries, rows)}"
    )
    body = {
        "width": WIDTH,
        "height": max(STEP * (len(entries) + 0.6) * len(names), LEAST_AXIS),
        "data": {"values": list(rows)},
        "layer": [middle, *points, sizes, *_ends(entries)],
    }
    return printed("Manifestation factor eta", subtitle, body) if rows else None


def _bounded(entries: Sequence[Entry]) -> bool:
    return entries[0].summary.fingerprint.estimator == "corrected"


def _ends(entries: Sequence[Entry]) -> Iterator[Spec]:
    """The labels of both ends; by the paper's formula, they are the reverse of its text."""
    names = (IGNORANCE, DISCRIMINATION) if _bounded(entries) else (DISCRIMINATION, IGNORANCE)
    for at, text, align in zip((0, "width"), names, ("left", "right"), strict=True):
        yield {
            "data": {"values": [{}]},
            "mark": {"type": "text", "text": text, "align": align, "dy": -6, "color": GREY},
            "encoding": {"x": {"value": at}, "y": {"value": 0}},
        }


def _eta_rows(entries: Sequence[Entry]) -> Iterator[Spec]:
    for name in attributes(entries, ("eta",)):
        for entry in entries:
            if values := fields(entry.score("eta", attribute=name), "eta"):
                size = shown(entry.score("eta_magnitude", attribute=name))
                yield values | {
                    "model": entry.label,
                    "name": name if name == ALL else entry.attribute(name),
                    "size": "" if size is None else f"{size:.2f}",
                }


IMPLICIT = "implicit"
SHADES = ("#08306b", "#2171b5", "#6baed6", "#c6dbef", "#deebf7")
"""The colours of bars from dark to light, distinguishable in greyscale."""

DARK = 2
"""The first shades, on which text is white."""

PROMPT_BAR = 24
ROOM = 0.06
"""A piece below this share of the longest bar has no room for its number."""


def proportions(entries: Sequence[Entry]) -> Spec | None:
    """The prompts asked, a bar per kind; None where no report has any."""
    rows = tuple(_prompt_rows(_prompts(entries)))
    asked = unique(rows, "asked")
    shades = [SHADES[number % len(SHADES)] for number in range(len(asked))]
    x = {"field": "n", "type": "quantitative", "title": "prompts", "stack": "zero", "axis": {"tickCount": 5}}
    position = {
        "x": x,
        "y": listed("kind", unique(rows, "kind")),
        "order": {"field": "order", "type": "quantitative"},
    }
    colour = {
        "field": "asked",
        "type": "nominal",
        "title": None,
        "scale": {"domain": asked, "range": shades},
        "legend": {"direction": "horizontal", "columns": 2},
    }
    text = {
        "text": {"field": "text"},
        "detail": {"field": "asked"},
        "color": {"condition": {"test": f"datum.order < {DARK}", "value": "white"}, "value": "black"},
    }
    body = {
        "width": WIDTH,
        "height": PROMPT_BAR * len(unique(rows, "kind")),
        "data": {"values": list(rows)},
        "layer": [
            {
                "mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.5},
                "encoding": position | {"color": colour},
            },
            {
                "mark": {"type": "text", "fontSize": 7},
                "encoding": position | text | {"x": {**x, "bandPosition": 0.5}},
            },
        ],
    }
    total = sum(row["n"] for row in rows)
    subtitle = f"{total:,} prompts were asked. Implicit ones ask for no group."
    return printed("Prompts by kind and by what they ask for", subtitle, body) if rows else None


def _prompts(entries: Sequence[Entry]) -> Counter[tuple[str, str]]:
    """Prompts by kind and request."""
    cases = {
        prompt.case: prompt
        for entry in entries
        for prompt in PROMPTS.of(entry.summary)
        if prompt.checklist == entry.checklist
    }
    counts: Counter[tuple[str, str]] = Counter()
    for prompt in cases.values():
        asked = IMPLICIT if prompt.part == IMPLICIT else f"explicit {prompt.attribute}"
        counts[prompt.kind, asked] += 1
    return counts


def _prompt_rows(counts: Counter[tuple[str, str]]) -> Iterator[Spec]:
    """The rows of both bars, implicit prompts first."""
    asked = sorted(dict.fromkeys(asked for _, asked in counts), key=lambda request: request != IMPLICIT)
    sums = {kind: sum(counts[kind, request] for request in asked) for kind in KINDS}
    for kind in KINDS:
        for order, request in enumerate(asked):
            if n := counts[kind, request]:
                text = f"{n:,}" if n >= ROOM * max(sums.values()) else ""
                yield {"kind": kind, "asked": request, "n": n, "order": order, "text": text}
