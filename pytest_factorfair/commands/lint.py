"""``factorfair lint CHECKLIST...``: check checklists for mistakes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_factorfair.commands.common import WRONG_INPUT, Commands, read_conftest
from pytest_factorfair.errors import InputError

FOUND = 1


def add(commands: Commands) -> None:
    """Add the command ``lint``."""
    parser = commands.add_parser("lint", help="check checklists for mistakes", description=run.__doc__)
    parser.add_argument("checklists", nargs="+", metavar="CHECKLIST", help="a shipped name or a path")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line per finding and return 1; the exit code is 4 if a checklist is invalid."""
    from pytest_factorfair.benchmarks import lint  # lazy: imports pydantic and yaml

    read_conftest()
    ended = 0
    for checklist in arguments.checklists:
        try:
            findings = lint(checklist, base=Path.cwd())
        except InputError as error:
            sys.stderr.write(f"{error}\n")
            ended = WRONG_INPUT
        else:
            sys.stdout.writelines(f"{finding}\n" for finding in findings)
            ended = max(ended, FOUND if findings else 0)
    return ended
