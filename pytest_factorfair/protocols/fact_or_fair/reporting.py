"""What FACT-OR-FAIR prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_factorfair.domain import Case, Score, Summary
from pytest_factorfair.protocols.fact_or_fair import drilldown, figures, paper_tables, tables
from pytest_factorfair.protocols.fact_or_fair.plane import plane, planes
from pytest_factorfair.protocols.fact_or_fair.tables import SHOWN
from pytest_factorfair.protocols.reporting import Reporting
from pytest_factorfair.reports import statements
from pytest_factorfair.reports.entries import Entry, LeftOut
from pytest_factorfair.reports.figures.style import Figure
from pytest_factorfair.reports.table import Table

FACTS = ("s_fact", "distance")
"""Scores of the objective part on a card: a model that names the true groups cannot name all alike."""

READING = (
    "S_fact: the share of true groups; high where a fact is asked, at chance where a judgement is",
    "S_E and S_KLD: whether groups are chosen evenly, and alike for most and least; fair judgements have 1",
    "S_fair: either of the two; distance: how far below the best trade-off of S_fact and S_E, not fairness",
)


class FactOrFairReporting(Reporting):
    """Scores by part and context, the influence of contexts, corrected shares, and what reasons cite."""

    metrics = MappingProxyType({**SHOWN, "influence": "influence"})
    by_place = frozenset(SHOWN)
    piece = ("statistic", "")

    def tables(self, summary: Summary) -> Iterator[Table]:
        yield from tables.score_tables(summary)
        yield from tables.influence_tables(summary)
        yield from tables.correction_tables(summary)
        yield from tables.reason_tables(summary)

    def quotations(self, summary: Summary) -> Iterator[str]:
        return tables.quotations(summary)

    def paper_tables(self, entries: Sequence[Entry]) -> Iterator[Table | LeftOut]:
        return paper_tables.fact_or_fair(entries)

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | LeftOut]:
        return figures.fact_or_fair(checklist, entries)

    def page(self, summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
        """The planes, and the matrix of statistics with the drawing of an end's shares."""
        del cases
        several = len(summary.fingerprint.checklists) > 1
        return {
            "planes": [
                {
                    "title": f"{of.checklist} · {name}" if several else name,
                    "spec": plane(summary, of),
                }
                for of in planes(summary)
                for name in [statements.attribute(of.attribute, summary)]
            ],
            "cells": list(drilldown.cells(summary)),
            "shares": drilldown.shares(),
        }

    def on_card(self, score: Score) -> bool:
        if score.metric == "influence":
            return score.context is None
        return score.metric in (FACTS if score.part == "objective" else SHOWN)

    def reading(self, summary: Summary) -> Iterator[str]:
        if any(one.metric == "s_fact" and one.value is not None for one in summary.scores):
            yield from READING
