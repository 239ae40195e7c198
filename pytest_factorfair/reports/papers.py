"""What papers print of reports: the benchmarks' tables and figures, and the tables' file formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from pytest_factorfair.benchmarks import reportings
from pytest_factorfair.benchmarks.reporting import Reporting
from pytest_factorfair.drawing.entries import Entry, Omission, stem
from pytest_factorfair.drawing.figures import Figure
from pytest_factorfair.drawing.table import Table, as_csv, as_latex, as_markdown_file
from pytest_factorfair.reports.html.document import fragment


def paper_tables(checklist: str, entries: Sequence[Entry]) -> Iterator[Table | Omission]:
    """The tables of one checklist's entries in the papers' order; their names begin with the checklist's."""
    for reporting in _benchmarks(entries):
        for table in reporting.paper_tables(entries):
            name = stem(checklist, table.name)
            yield table._replace(name=name) if isinstance(table, Omission) else replace(table, name=name)


def figures(checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | Omission]:
    """The figures of one checklist's entries; their names begin with the checklist's."""
    for reporting in _benchmarks(entries):
        for figure in reporting.figures(checklist, entries):
            yield figure._replace(name=stem(checklist, figure.name))


def _benchmarks(entries: Sequence[Entry]) -> Iterator[Reporting]:
    """The benchmarks that some of these scores belong to."""
    metrics = {score.metric for entry in entries for score in entry.scores}
    return (reporting for reporting in reportings() if metrics & reporting.printed.keys())


def as_html_file(table: Table) -> str:
    """The table as a part of a page, in the page's own style."""
    return fragment("exported.html", {"table": table})


WRITERS: Mapping[str, Callable[[Table], str]] = MappingProxyType(
    {"md": as_markdown_file, "csv": as_csv, "tex": as_latex, "html": as_html_file}
)
"""Writers of a table as a file, by its ending."""
