"""The tables of whatever was run: a checklist's protocol shows in its scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_factorfair.reports.entries import Entry
from pytest_factorfair.reports.faintbench_table import READ
from pytest_factorfair.reports.paper_tables.fact_or_fair import fact_or_fair
from pytest_factorfair.reports.paper_tables.faintbench import faintbench
from pytest_factorfair.reports.paper_tables.table import LeftOut, PaperTable


def paper_tables(checklist: str, entries: Sequence[Entry]) -> Iterator[PaperTable | LeftOut]:
    """The tables of one checklist's entries, in the papers' order; their names begin with the checklist's."""
    pictures = any(one.metric in READ for entry in entries for one in entry.scores)
    for table in faintbench(entries) if pictures else fact_or_fair(entries):
        name = file_name(checklist, table.name)
        yield table._replace(name=name) if isinstance(table, LeftOut) else replace(table, name=name)


def file_name(*words: str) -> str:
    """The words as the stem of a file, and as a label in LaTeX: letters, digits and hyphens."""
    return "-".join(re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-") for word in words)
