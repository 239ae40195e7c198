"""``factorfair export DIR report.json...``: the papers' tables and figures for the models of reports."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import one_line_errors, say, write
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.domain import Summary
    from pytest_factorfair.reports.entries import Entry

FORMATS = ("md", "csv", "tex")


def add(commands: Commands) -> None:
    """Add the command; tables and figures that a report lacks are left out, and the output says so."""
    parser = commands.add_parser("export", help="write tables and figures for papers", description=__doc__)
    parser.add_argument("--tables", action="store_true", help="write the tables (default: both)")
    parser.add_argument("--figures", action="store_true", help="write the figures, as SVG and PDF")
    parser.add_argument("--format", default=",".join(FORMATS), help="table formats: any of md, csv and tex")
    parser.add_argument("folder", metavar="DIR", help="target folder")
    parser.add_argument("reports", metavar="report.json", nargs="+", help="reports of the models to include")
    parser.set_defaults(run=one_line_errors(_run))


def _run(arguments: argparse.Namespace) -> None:
    # These import numpy and the scores, which `factorfair --help` does not need.
    from pytest_factorfair.reports.entries import by_checklist, entries
    from pytest_factorfair.reports.figures.render import needed

    both = arguments.tables == arguments.figures
    formats = _formats(arguments.format)
    if arguments.figures or both:
        needed("drawing figures (--tables does without)")
    listed = by_checklist(entries(_reports(arguments.reports)))
    for group in listed.values():
        _alike(group)
    folder = _made(arguments.folder)
    for line in _tables(listed, folder, formats) if arguments.tables or both else ():
        say(line)
    for line in _figures(listed, folder) if arguments.figures or both else ():
        say(line)


def _formats(text: str) -> tuple[str, ...]:
    found = tuple(word.strip() for word in text.split(","))
    for word in found:
        if word not in FORMATS:
            raise InputError(f"--format: there is no format {word!r}{nearest(word, FORMATS)}")
    return found


def _reports(paths: Sequence[str]) -> dict[str, Summary]:
    from pytest_factorfair.reports import json_report

    found = {path: json_report.read(path, name=path) for path in paths}
    for path, summary in found.items():
        if not summary.scores:
            raise InputError(f"{path}: it has no scores: nothing to export")
    return found


def _alike(entries: Sequence[Entry]) -> None:
    """Refuse to put models into one table that were asked or scored differently.

    Raises:
        InputError: the first field that differs, with both values.
    """
    from pytest_factorfair.session.baseline import SHARED

    for one, other in pairwise(entries):
        first, second = one.summary.fingerprint, other.summary.fingerprint
        for field in SHARED:
            if getattr(first, field) != getattr(second, field):
                raise InputError(
                    f"{other.label}: {field} is {getattr(second, field)}, that of {one.label} is "
                    f"{getattr(first, field)}: they do not belong in one table; export them apart"
                )
        if first.checklists[one.checklist] != second.checklists[one.checklist]:
            raise InputError(
                f"{other.label}: the content of checklist {one.checklist} is not that of {one.label}: "
                "they do not belong in one table; export them apart"
            )


def _made(folder: str) -> Path:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    return Path(folder)


def _tables(listed: Mapping[str, Sequence[Entry]], folder: Path, formats: Sequence[str]) -> Iterator[str]:
    """Write every table; yield a line for each file, and for each table that is left out."""
    from pytest_factorfair.reports.entries import LeftOut
    from pytest_factorfair.reports.paper_tables import paper_tables
    from pytest_factorfair.reports.table import WRITERS

    for checklist, entries in listed.items():
        found = tuple(paper_tables(checklist, entries))
        if not found:
            yield f"left out the tables of {checklist}: its benchmark has none"
        for table in found:
            if isinstance(table, LeftOut):
                yield f"left out {table.name}: {table.reason}"
                continue
            for ending in formats:
                yield f"wrote {write(folder / f'{table.name}.{ending}', WRITERS[ending](table))}"


def _figures(listed: Mapping[str, Sequence[Entry]], folder: Path) -> Iterator[str]:
    """Draw every figure; yield a line for each file, and for each figure that is left out."""
    from pytest_factorfair.reports.entries import LeftOut
    from pytest_factorfair.reports.figures import figures
    from pytest_factorfair.reports.figures.render import RENDERERS

    for checklist, entries in listed.items():
        found = tuple(figures(checklist, entries))
        if not found:
            yield f"left out the figures of {checklist}: its benchmark has none"
        for figure in found:
            if isinstance(figure, LeftOut):
                yield f"left out {figure.name}: {figure.reason}"
                continue
            for ending, rendered in RENDERERS.items():
                yield f"wrote {write(folder / f'{figure.name}.{ending}', rendered(figure.spec))}"
