"""Every table of a summary, in the order reports show them."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.domain import Summary
from pytest_factorfair.reports.table import Table
from pytest_factorfair.reports.tables.corrections import correction_tables
from pytest_factorfair.reports.tables.faintbench import faintbench_tables
from pytest_factorfair.reports.tables.influence import influence_tables
from pytest_factorfair.reports.tables.reasons import reason_tables
from pytest_factorfair.reports.tables.scores import score_tables


def all_tables(summary: Summary) -> Iterator[Table]:
    """Scores, what contexts do to them, what a detector's error does to shares, and what reasons cite."""
    yield from score_tables(summary)
    yield from faintbench_tables(summary)
    yield from influence_tables(summary)
    yield from correction_tables(summary)
    yield from reason_tables(summary)
