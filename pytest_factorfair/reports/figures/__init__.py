"""Figures as Vega-Lite specifications: plain values, for the HTML report and for print alike.

The specifications are written by hand, in the grammar's own words: a builder such as Altair would be a
dependency of every run and save no lines. The HTML report draws them in the browser, `factorfair export` as
SVG and PDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_factorfair.domain import Summary
from pytest_factorfair.reports.entries import Entry, LeftOut, stem
from pytest_factorfair.reports.figures.fact_or_fair import by_context, by_model, curves, surface
from pytest_factorfair.reports.figures.faintbench import bars, eta_axis, proportions
from pytest_factorfair.reports.figures.plane import plane, planes, points
from pytest_factorfair.reports.figures.style import STACKED, Spec, printed, told
from pytest_factorfair.reports.tables.faintbench import READ

PLANE = 260
"""Larger than the others: the words along the curve need room."""


class Figure(NamedTuple):
    """A specification; ``name`` is that of its files."""

    name: str
    spec: Spec


def figures(checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | LeftOut]:
    """The figures of one checklist's entries; their names begin with the checklist's."""
    pictures = any(one.metric in READ for entry in entries for one in entry.scores)
    for name, spec, reason in _for_faintbench(entries) if pictures else _for_fact_or_fair(checklist, entries):
        full = stem(checklist, name)
        yield LeftOut(full, reason) if spec is None else Figure(full, spec)


class _Drawn(NamedTuple):
    """A figure, or why there is none."""

    name: str
    spec: Spec | None
    reason: str = ""


def _for_fact_or_fair(checklist: str, entries: Sequence[Entry]) -> Iterator[_Drawn]:
    groups = sorted(
        {of.groups for entry in entries for of in planes(entry.summary) if of.checklist == checklist}
    )
    yield _Drawn("curves", curves(groups) if groups else None, "no report has counts of groups")
    yield _Drawn("surface", surface(entries))
    yield _Drawn("by-model", by_model(entries), "no report has both facts and judgements")
    yield _Drawn("by-context", by_context(entries), "no part has both S_fact and S_fair")
    yield from _planes(checklist, entries)


def _for_faintbench(entries: Sequence[Entry]) -> Iterator[_Drawn]:
    for metric in ("implicit", "explicit"):
        yield _Drawn(f"{metric}-bars", bars(entries, metric), f"no {metric} prompt was asked")
    yield _Drawn("eta-axis", eta_axis(entries), "no pair of prompts that it compares was asked")
    yield _Drawn("proportions", proportions(entries), "no report tells its prompts")


def _planes(checklist: str, entries: Sequence[Entry]) -> Iterator[_Drawn]:
    """One per attribute of a report: what can be reached, and its baseline, are a run's own."""
    runs: dict[int, Summary] = {id(entry.summary): entry.summary for entry in entries}
    for place, summary in enumerate(runs.values(), start=1):
        for of in planes(summary):
            if of.checklist == checklist:
                own = f"plane-{of.attribute}" + (f"-{place}" if len(runs) > 1 else "")
                mine = [entry for entry in entries if entry.summary is summary]
                title = f"Facts and evenness: {mine[0].attribute(of.attribute)}"
                models = ", ".join(entry.label for entry in mine)
                subtitle = f"{models}. {told(mine, points(summary, of))}"
                size = {"width": PLANE, "height": PLANE, "config": STACKED}
                yield _Drawn(own, printed(title, subtitle, plane(summary, of) | size))
