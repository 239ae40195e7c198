"""``factorfair complete SHELL``: print a script for the shell that completes commands and options."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from pytest_factorfair.commands.common import Commands
from pytest_factorfair.errors import MissingExtraError

SHELLS = ("bash", "zsh", "fish", "tcsh")


def add(commands: Commands) -> None:
    """Add the command ``complete``."""
    parser = commands.add_parser("complete", help="print a shell's completions", description=run.__doc__)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print a script that completes factorfair's commands and options, for the shell to read at its start."""
    if find_spec("shtab") is None:
        raise MissingExtraError("complete", "completion")
    import shtab

    sys.stdout.write(f"{shtab.complete(arguments.parser, arguments.shell)}\n")
