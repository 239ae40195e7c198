"""Figures as Vega-Lite specifications: plain values, for the HTML report and for print alike.

The specifications are written by hand, in the grammar's own words: a builder such as Altair would be a
dependency of every run and save no lines. The HTML report draws them in the browser, `factorfair export` as
SVG and PDF. Below the renderers is what benchmarks' figures share: colours, axes and, for print, one column
of small type.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from math import ceil, floor
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from pytest_factorfair.domain import Score
from pytest_factorfair.drawing.entries import Entry, Omission, shown
from pytest_factorfair.errors import MissingExtraError

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""


class Figure(NamedTuple):
    """A specification; ``name`` is that of its files."""

    name: str
    spec: Spec


class Charts(NamedTuple):
    """Specifications by their titles, below a heading and how to read them."""

    title: str
    note: str
    figures: Mapping[str, Spec]


VERSION = "6.1"
"""The version of Vega-Lite, pinned so that a figure stays as it is."""


def needed(feature: str) -> None:
    """Check that the package that draws figures is installed.

    Raises:
        MissingExtraError: it is not.
    """
    if find_spec("vl_convert") is None:
        raise MissingExtraError(feature, "figures")


def to_svg(figure: Figure) -> bytes:
    """Drawn by vl-convert: without a browser, and without a network."""
    import vl_convert  # 30 MB

    drawn: str = vl_convert.vegalite_to_svg(figure.spec, vl_version=VERSION, allowed_base_urls=[])
    return drawn.encode("utf-8")


def to_pdf(figure: Figure) -> bytes:
    """The figure as PDF, for LaTeX."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(figure.spec, vl_version=VERSION, allowed_base_urls=[])
    return drawn


RENDERERS: Mapping[str, Callable[[Figure], bytes]] = MappingProxyType({"svg": to_svg, "pdf": to_pdf})
"""Renderers by the ending of the file."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the grammar: nothing is fetched from there."""

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
"""Okabe and Ito's colours, with the yellow, which is lost on white, replaced by a grey."""


ON_PAGE: Spec = {
    "$schema": SCHEMA,
    "width": "container",
    "autosize": {"type": "fit-x", "contains": "padding"},
}
"""Begins a figure of a page, at the width of its container."""


def share_axis(title: str, field: str, domain: tuple[float, float] = (0, 1)) -> Spec:
    """The channel of a score or share, from 0 to 1."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": list(domain), "nice": False},
        "axis": {"values": [0, 0.2, 0.4, 0.6, 0.8, 1], "format": ".1f", "labelOverlap": False},
    }


WIDTH = 200
"""Between the axes, in points; with labels about 8.5 cm, a column of most journals."""

LINE = 62
"""Letters of a subtitle that fit into a column."""

GREY = "#767676"
COLOURS = ("#0072b2", "#e69f00", "#000000", "#56b4e9", "#d55e00", "#009e73", "#cc79a7", "#7f7f7f")
"""Okabe and Ito's, in an order in which neighbours differ in greyscale, too."""

SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left",
)  # fmt: skip
POINT: Spec = {"type": "point", "filled": True, "size": 45, "opacity": 1}
PANEL_TITLE: Spec = {"fontSize": 8, "offset": 4, "frame": "group"}
CONFIG: Spec = {
    # Some of these are on every system; PDF embeds the one found.
    "font": "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif",
    "background": "white",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "fontSize": 10,
        "subtitleFontSize": 8,
        "subtitleColor": GREY,
        "offset": 8,
    },
    "axis": {
        "labelFontSize": 8,
        "titleFontSize": 8,
        "titleFontWeight": "normal",
        "gridColor": "#e5e5e5",
        "domainColor": GREY,
        "tickColor": GREY,
    },
    "legend": {
        "orient": "bottom",
        "direction": "vertical",
        "labelFontSize": 8,
        "labelLimit": 190,
        "symbolSize": 45,
        "symbolOpacity": 1,
        "offset": 8,
    },
    "text": {"fontSize": 8},
}

STACKED: Spec = {**CONFIG, "legend": CONFIG["legend"] | {"layout": {"bottom": {"direction": "vertical"}}}}
"""Legends below each other, for figures with wide legends; Vega-Lite's schema lacks this option."""


def printed(title: str, subtitle: str, body: Mapping[str, object]) -> Spec:
    """A figure to be printed; its subtitle is broken into lines."""
    heading = {"text": title, "subtitle": textwrap.wrap(subtitle, LINE)}
    return {"$schema": SCHEMA, "title": heading, "config": CONFIG, **body}


def coloured(entries: Sequence[Entry]) -> Spec:
    """A colour for each model."""
    return _named("model", [entry.label for entry in entries], COLOURS)


def shaped(field: str, names: Iterable[str]) -> Spec:
    """A shape for each name."""
    return _named(field, names, SHAPES)


def _named(field: str, names: Iterable[str], looks: Sequence[str]) -> Spec:
    """Looks repeat if there are more names."""
    domain = list(names)
    scale_range = [looks[index % len(looks)] for index in range(len(domain))]
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": domain, "range": scale_range},
    }


def listed(field: str, names: Sequence[str]) -> Spec:
    """A vertical axis of names, in their order."""
    axis = {"ticks": False, "domain": False, "labelPadding": 6}
    return {"field": field, "type": "nominal", "title": None, "sort": list(names), "axis": axis}


def beside(entries: Sequence[Entry]) -> Spec:
    """Models below each other at one name of an axis."""
    return {"field": "model", "type": "nominal", "sort": [entry.label for entry in entries]}


def fields(score: Score | None, name: str) -> Spec:
    """A score's value and the ends of its interval as fields; nothing where there is no score."""
    value = shown(score)
    if score is None or value is None:
        return {}
    if score.low is None or score.high is None:
        return {name: rounded(value)}
    return {name: rounded(value), f"{name}_low": rounded(score.low), f"{name}_high": rounded(score.high)}


def interval(channel: str, encoding: Spec, **mark: object) -> Spec:
    """A rule over the interval of the channel's value, if it has one."""
    shape = encoding[channel]
    low, high = f"{shape['field']}_low", f"{shape['field']}_high"
    return {
        "transform": [{"filter": f"isValid(datum['{low}'])"}],
        "mark": {"type": "rule", "strokeWidth": 1, **mark},
        "encoding": encoding | {channel: {**shape, "field": low}, f"{channel}2": {"field": high}},
    }


def around(values: Iterable[float]) -> tuple[float, float]:
    """An axis from tenth to tenth, which shows differences without magnifying noise."""
    values = list(values)
    low = min(floor(10 * min(values) + ROUNDING), 9)
    high = max(ceil(10 * max(values) - ROUNDING), low + 1)
    return low / 10, high / 10


ROUNDING = 1e-9


def rounded(value: float) -> float:
    """Four decimals: more than a print shows, and short files."""
    return round(value, 4)


def unique(rows: Iterable[Spec], field: str) -> list[str]:
    """The values of a field, in the order of the rows."""
    return list(dict.fromkeys(row[field] for row in rows))


def caption(entries: Sequence[Entry], rows: Iterable[Spec] = ()) -> str:
    """How scores were estimated, whether groups are perceived, and what lines show."""
    fingerprint = entries[0].summary.fingerprint
    corrected = fingerprint.estimator == "corrected"
    scores = "Scores without bias where that is known" if corrected else f"Estimator {fingerprint.estimator}"
    perceived = "; groups as perceived by a detector" if fingerprint.detector else ""
    lines = any(name.endswith("_low") for row in rows for name in row)
    return f"{scores}{perceived}.{' Lines: 95 % intervals.' if lines else ''}"


def drawn(name: str, spec: Spec | None, reason: str = "") -> Figure | Omission:
    """The figure, or why there is none."""
    return Omission(name, reason) if spec is None else Figure(name, spec)
