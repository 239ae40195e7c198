"""``factorfair judge REPORT --gate ...``: judge the answers of a report by other gates, offline."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from pytest_factorfair.commands.common import Commands, read_hooks, say

GATES_FAILED = 1


def add(commands: Commands) -> None:
    """Add the command ``judge``; its exit codes are those of a run."""
    parser = commands.add_parser(
        "judge",
        help="judge the answers of a report by other gates",
        description="Judge the answers of a report by other gates, and write reports as a run does. Nothing "
        "is asked, and no store is needed. Waivers are those of pyproject.toml.",
    )
    parser.add_argument("report", metavar="REPORT", help="the report of a run, or its folder")
    parser.add_argument(
        "--gate",
        action="append",
        metavar="EXPR",
        help="as for --factorfair-gate; may be repeated (default: the gates in [tool.factorfair])",
    )
    parser.add_argument("--baseline", metavar="FILE", help="as for --factorfair-baseline")
    parser.add_argument(
        "--checklist",
        action="append",
        metavar="NAME|PATH",
        help="the checklists of the report, if their files are elsewhere now; may be repeated",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="the folder of its reports (default: judged, beside the report)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print all scores and verdicts")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    # Lazy: these import numpy and the scores, which `factorfair --help` does not need.
    from pytest_factorfair.config.sources import OptionValue
    from pytest_factorfair.runs import recorded
    from pytest_factorfair.runs.terminal import terminal

    read_hooks()
    here = Path.cwd()
    options = {
        "gate": ("--gate", arguments.gate),
        "baseline": ("--baseline", arguments.baseline),
        "checklist": ("--checklist", arguments.checklist),
        "report": ("--output", arguments.output),
    }
    typed = {
        name: OptionValue(value, where, here) for name, (where, value) in options.items() if value is not None
    }
    result = recorded.judge(arguments.report, typed, os.environ, here=here)
    alarms = (result.unwritten,) if result.unwritten else ()
    width = shutil.get_terminal_size().columns
    terminal(Printer(int(arguments.verbose)), result, width=width, alarms=alarms)
    return GATES_FAILED if result.fails else 0


class Printer:
    """Prints the section of a result as pytest's reporter does, without color."""

    def __init__(self, verbosity: int) -> None:
        self.verbosity = verbosity

    def write(self, content: str, **_markup: Any) -> None:
        sys.stdout.write(content)

    def write_line(self, line: str, **_markup: Any) -> None:
        say(line)

    def write_sep(self, sep: str, title: str) -> None:
        say(f" {title} ".center(shutil.get_terminal_size().columns, sep))
