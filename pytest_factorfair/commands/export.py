"""``factorfair export DIR REPORT...``: write the papers' tables and figures for the models of reports."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_factorfair.commands.common import Commands, read_hooks, say, write
from pytest_factorfair.domain import listed
from pytest_factorfair.errors import InputError, nearest

if TYPE_CHECKING:
    from pytest_factorfair.drawing.entries import Entry, Omission
    from pytest_factorfair.drawing.figures import Figure
    from pytest_factorfair.drawing.table import Table

    Named: TypeAlias = Table | Figure

FORMATS = ("md", "csv", "tex", "html")


def add(commands: Commands) -> None:
    """Add the command ``export``; the output names the tables and figures that are left out."""
    parser = commands.add_parser(
        "export",
        help="write tables and figures for papers",
        description="Write the papers' tables and figures for the models of reports.",
    )
    parser.add_argument("--tables", action="store_true", help="write the tables (default: both)")
    parser.add_argument("--figures", action="store_true", help="write the figures, as SVG and PDF")
    parser.add_argument(
        "--format", default=",".join(FORMATS), help=f"table formats: any of {listed(FORMATS)}"
    )
    parser.add_argument("folder", metavar="DIR", help="target folder")
    parser.add_argument(
        "reports", metavar="REPORT", nargs="+", help="reports of the models, or their folders"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    # Lazy: these import numpy and the scores, which `factorfair --help` does not need.
    from pytest_factorfair.drawing.figures import RENDERERS, needed
    from pytest_factorfair.reports.papers import WRITERS, figures, paper_tables

    read_hooks()
    formats = tuple(word.strip() for word in arguments.format.split(","))
    for word in formats:
        if word not in FORMATS:
            raise InputError(f"--format: there is no format {word!r}{nearest(word, FORMATS)}")
    both = arguments.tables == arguments.figures
    if arguments.figures or both:
        needed("drawing figures (--tables leaves them out)")
    listed = _listed(arguments.reports)
    folder = Path(arguments.folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from None
    for checklist, group in listed.items() if arguments.tables or both else ():
        writers = {ending: WRITERS[ending] for ending in formats}
        _write_all(f"tables of {checklist}", paper_tables(checklist, group), writers, folder)
    for checklist, group in listed.items() if arguments.figures or both else ():
        _write_all(f"figures of {checklist}", figures(checklist, group), RENDERERS, folder)


def _listed(paths: Sequence[str]) -> dict[str, tuple[Entry, ...]]:
    """The entries of the reports' models, by checklist.

    Raises:
        InputError: a report has no scores, or models for the same table were asked or scored differently.
    """
    from pytest_factorfair.drawing.entries import by_checklist, entries
    from pytest_factorfair.reports import json_report
    from pytest_factorfair.runs.baseline import comparable

    reports = {path: json_report.read(path, name=path) for path in paths}
    for path, summary in reports.items():
        if not summary.scores:
            raise InputError(f"{path}: it has no scores: nothing to export")
    listed = by_checklist(entries(reports))
    for group in listed.values():
        for entry, following in pairwise(group):
            comparable(
                following.label,
                asdict(following.summary.fingerprint),
                asdict(entry.summary.fingerprint),
                other=f"that of {entry.label}",
                checklists=(entry.checklist,),
                verdict="they do not belong in one table; export them separately",
            )
    return listed


def _write_all(
    kind: str,
    products: Iterable[Named | Omission],
    writers: Mapping[str, Callable[[Any], str | bytes]],
    folder: Path,
) -> None:
    """Write a benchmark's tables or figures; print a line for each file, and for each that is left out."""
    from pytest_factorfair.drawing.entries import Omission

    documents = tuple(products)
    if not documents:
        say(f"left out the {kind}: its benchmark has none")
    for document in documents:
        if isinstance(document, Omission):
            say(f"left out {document.name}: {document.reason}")
            continue
        for ending, content in writers.items():
            say(f"wrote {write(folder / f'{document.name}.{ending}', content(document))}")
