"""The papers' tables for the models of one or several reports; a checklist's protocol shows in its scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_factorfair.reports.entries import Entry, LeftOut, stem
from pytest_factorfair.reports.paper_tables.fact_or_fair import fact_or_fair
from pytest_factorfair.reports.paper_tables.faintbench import faintbench
from pytest_factorfair.reports.table import Table
from pytest_factorfair.reports.tables.faintbench import READ


def paper_tables(checklist: str, entries: Sequence[Entry]) -> Iterator[Table | LeftOut]:
    """The tables of one checklist's entries in the papers' order; their names begin with the checklist's."""
    pictures = any(one.metric in READ for entry in entries for one in entry.scores)
    for table in faintbench(entries) if pictures else fact_or_fair(entries):
        name = stem(checklist, table.name)
        yield table._replace(name=name) if isinstance(table, LeftOut) else replace(table, name=name)
