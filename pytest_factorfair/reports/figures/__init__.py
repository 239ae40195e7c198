"""Figures as Vega-Lite specifications: plain values, for the HTML report and for print alike.

The specifications are written by hand, in the grammar's own words: a builder such as Altair would be a
dependency of every run and save no lines. The HTML report draws them in the browser, `factorfair export` as
SVG and PDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_factorfair.protocols import reportings
from pytest_factorfair.reports.entries import Entry, LeftOut, own, stem
from pytest_factorfair.reports.figures.style import Figure

__all__ = ["Figure", "figures"]


def figures(checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | LeftOut]:
    """The figures of one checklist's entries; their names begin with the checklist's."""
    for reporting in own(reportings(), entries):
        for figure in reporting.figures(checklist, entries):
            yield figure._replace(name=stem(checklist, figure.name))
