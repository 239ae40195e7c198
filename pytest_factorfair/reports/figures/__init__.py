"""Figures as Vega-Lite specifications: plain values, for the HTML report and for print alike.

The specifications are written by hand, in the grammar's own words: a builder such as Altair would be a
dependency of every run and save no lines. The HTML report draws them in the browser, `factorfair export` as
SVG and PDF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType

from pytest_factorfair.errors import MissingExtraError
from pytest_factorfair.protocols import reportings
from pytest_factorfair.reports.entries import Entry, LeftOut, own, stem
from pytest_factorfair.reports.figures.style import Figure

__all__ = ["RENDERERS", "Figure", "figures", "needed"]

VERSION = "6.1"
"""Of Vega-Lite: it is pinned, so that a figure stays as it is."""


def figures(checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | LeftOut]:
    """The figures of one checklist's entries; their names begin with the checklist's."""
    for reporting in own(reportings(), entries):
        for figure in reporting.figures(checklist, entries):
            yield figure._replace(name=stem(checklist, figure.name))


def needed(what: str) -> None:
    """Look for the package that draws.

    Raises:
        MissingExtraError: it is missing; names the extra that brings it.
    """
    if find_spec("vl_convert") is None:
        raise MissingExtraError(what, "figures")


def to_svg(figure: Figure) -> bytes:
    """Drawn by vl-convert: without a browser, and without a network."""
    import vl_convert  # 30 MB

    drawn: str = vl_convert.vegalite_to_svg(figure.spec, vl_version=VERSION, allowed_base_urls=[])
    return drawn.encode("utf-8")


def to_pdf(figure: Figure) -> bytes:
    """The same figure for LaTeX."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(figure.spec, vl_version=VERSION, allowed_base_urls=[])
    return drawn


RENDERERS: Mapping[str, Callable[[Figure], bytes]] = MappingProxyType({"svg": to_svg, "pdf": to_pdf})
"""By the ending of the file."""
