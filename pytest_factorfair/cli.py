"""The console command ``factorfair``: what works on files alone, without pytest and without a model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_factorfair import (
    blessing,
    carding,
    comparing,
    detector_commands,
    exporting,
    human_commands,
    starting,
    store_commands,
)
from pytest_factorfair.errors import InputError

FOUND = 1
WRONG_INPUT = 4


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 is good, 1 is findings, 4 (as pytest's usage error) is wrong input."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as ended:
        return WRONG_INPUT if ended.code else 0
    return int(arguments.run(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="factorfair", description="Checklists and reports, offline.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    lint = commands.add_parser("lint", help="check checklists and their style", description=_lint.__doc__)
    lint.add_argument("checklists", nargs="+", metavar="CHECKLIST", help="a shipped name or a path")
    lint.set_defaults(run=_lint)
    store_commands.add(commands)
    detector_commands.add(commands)
    human_commands.add(commands)
    comparing.add(commands)
    exporting.add(commands)
    blessing.add(commands)
    starting.add(commands)
    carding.add(commands)
    return parser


def _lint(arguments: argparse.Namespace) -> int:
    """Print one line per finding; an invalid checklist is told on standard error."""
    from pytest_factorfair.checklist import lint  # pydantic and yaml: not for `factorfair --help`

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


if __name__ == "__main__":
    sys.exit(main())
