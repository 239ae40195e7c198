"""``factorfair compare A.json B.json``: what changed from one report to another, offline."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.domain import Change

REGRESSED = 1
WRONG_INPUT = 4


def add(commands: Any) -> None:
    """Add the command; its exit code is 1 where something regressed, 4 where nothing can be compared."""
    parser = commands.add_parser("compare", help="what changed between two reports", description=__doc__)
    parser.add_argument("former", metavar="A.json", help="the former report")
    parser.add_argument("new", metavar="B.json", help="the new report")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from pytest_factorfair.reports.changes import changes_text

    try:
        found = compare(arguments.former, arguments.new)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_INPUT
    sys.stdout.write(changes_text(found) + "\n")
    return REGRESSED if any(change.regressed for change in found) else 0


def compare(former: str, new: str) -> tuple[Change, ...]:
    """What changed from the former report to the new one.

    Raises:
        InputError: a file that is no report, or two that cannot be compared.
    """
    # numpy and the scores: not for `factorfair --help`.
    from pytest_factorfair import baseline
    from pytest_factorfair.gates import changes

    before, after = (baseline.read(path, name=path) for path in (former, new))
    baseline.comparable(before, after.fingerprint)
    found = changes(after.tallies, before.former(after.records))
    if not found:
        raise InputError(f"{former} and {new}: they have no score in common")
    return found
