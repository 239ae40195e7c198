"""``factorfair bless``: make a report the baseline that later runs are compared with."""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import one_line_errors, say, write
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.config.sources import Given
    from pytest_factorfair.domain import Summary

BASELINE = "factorfair-baseline.json.gz"
"""Compressed because it is committed: a report of the ci preset is 2 MB, and a tenth of that in gzip."""


def add(commands: Commands) -> None:
    """Add the command; its exit code is 4 if a report cannot be a baseline."""
    parser = commands.add_parser("bless", help="make a report the baseline", description=__doc__)
    parser.add_argument(
        "report",
        nargs="?",
        metavar="REPORT",
        help="the report (default: report.json in this project's report folder)",
    )
    parser.add_argument(
        "--to",
        metavar="FILE",
        help="the baseline file; compressed if its name ends with .gz "
        f"(default: the baseline in [tool.factorfair], else {BASELINE})",
    )
    parser.add_argument(
        "--despite-failures", action="store_true", help="also bless a report with failed gates"
    )
    parser.set_defaults(run=one_line_errors(_bless))


def _bless(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.config import sources
    from pytest_factorfair.config.settings import DEFAULT_REPORT
    from pytest_factorfair.reports import json_report

    given = sources.pyproject(Path.cwd())
    report = arguments.report or str(Path(_text(given, "report", DEFAULT_REPORT)) / "report.json")
    target = Path(arguments.to or _text(given, "baseline", BASELINE))
    _check(json_report.read(report, name=report), report, despite_failures=arguments.despite_failures)
    for line in _changes(target, report):
        say(line)
    _write(target, json_report.content(report, name=report))
    say(f"{report} is now the baseline {target} ({target.stat().st_size / 1000:,.0f} kB): commit it")
    if "baseline" not in given:
        say(f'and name it in pyproject.toml: [tool.factorfair] baseline = "{target}"')


def _text(given: Mapping[str, Given], name: str, default: str) -> str:
    return str(given[name].value) if name in given else default


def _check(summary: Summary, report: str, *, despite_failures: bool) -> None:
    """Refuse a report that later releases should not be compared with.

    Raises:
        InputError: the report is incomplete, or gates failed in it.
    """
    if summary.incomplete:
        raise InputError(f"{report}: not judged ({summary.incomplete}): it cannot be a baseline")
    failed = [one.gate for one in summary.gates if one.judgement == "failed"]
    if failed and not despite_failures:
        gates = ", ".join(dict.fromkeys(failed))
        raise InputError(f"{report}: failed {gates}; to bless it anyway: --despite-failures")


def _changes(target: Path, report: str) -> Iterator[str]:
    """The changes since the previous baseline, which is replaced even if it cannot be compared."""
    if not target.exists():
        return
    from pytest_factorfair.commands.compare import compare
    from pytest_factorfair.reports.tables import changes_text

    try:
        for one in compare([str(target), report]).successions:
            yield from changes_text(one.changes).splitlines()
    except InputError as error:
        yield f"not compared with the previous baseline: {error}"


def _write(target: Path, content: bytes) -> None:
    """Write the baseline without a time stamp, so that the same report gives the same file."""
    if target.is_dir():
        raise InputError(f"{target}: a folder; name a file in it")
    write(target, gzip.compress(content, mtime=0) if target.suffix == ".gz" else content)
