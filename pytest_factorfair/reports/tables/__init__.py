"""What a summary says as tables: the same for the terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.domain import Summary
from pytest_factorfair.reports.table import Table
from pytest_factorfair.reports.tables.fact_or_fair import (
    correction_tables,
    influence_tables,
    reason_tables,
    score_tables,
)
from pytest_factorfair.reports.tables.faintbench import faintbench_tables


def all_tables(summary: Summary) -> Iterator[Table]:
    """Scores, what contexts do to them, what a detector's error does to shares, and what reasons cite."""
    yield from score_tables(summary)
    yield from faintbench_tables(summary)
    yield from influence_tables(summary)
    yield from correction_tables(summary)
    yield from reason_tables(summary)
