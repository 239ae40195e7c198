"""The console command ``factorfair``: subcommands for everything but test runs, which pytest starts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from io import TextIOWrapper
from typing import NoReturn

from pytest_factorfair.commands import (
    batch,
    bless,
    card,
    compare,
    complete,
    detector,
    doctor,
    evidence,
    export,
    human,
    importing,
    init,
    judge,
    lint,
    listing,
    merge,
    prompts,
    show,
    store,
)
from pytest_factorfair.commands.common import WRONG_INPUT
from pytest_factorfair.domain import visible
from pytest_factorfair.errors import DetectorError, InputError, StoreError, nearest
from pytest_factorfair.redaction import redacted

COMMANDS = (
    init, importing, listing, doctor, lint, prompts, show, judge, compare, card, evidence, export, bless,
    store, batch, merge, detector, human, complete,
)  # fmt: skip

INTERRUPTED = 2

PIPE_CLOSED = 141
"""The exit code if the reader of the output, such as ``head``, has closed the pipe: 128 + SIGPIPE."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return 0 for success, 1 for findings, 2 after Ctrl-C, 4 for wrong input, as pytest does.

    If the reader of the output has closed the pipe, the command ends without a message.
    """
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # as in every file: Windows would choose its code page
    try:
        code = _run(argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout again at exit, and would print the error then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code


def _run(argv: Sequence[str] | None) -> int:
    """Parse the arguments and run a subcommand; an error that it raises is printed as one line."""
    try:
        try:
            arguments = _parser().parse_args(argv)
        except SystemExit:  # after --help or --version
            return 0
        return int(arguments.run(arguments) or 0)
    except (InputError, StoreError, DetectorError) as error:
        sys.stderr.write(f"{visible(redacted(str(error)))}\n")
        return WRONG_INPUT


@cache
def _parser() -> Parser:
    """The parser of all subcommands.

    Each is a module with ``add``, which adds its parser. The parser's default ``run`` takes the parsed
    arguments, and returns an exit code or None for 0.
    """
    parser = Parser(
        prog="factorfair",
        description="Checklists, stores and reports. To test a model:\n  pytest --factorfair-model=SPEC",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version("pytest-factorfair"))
    parser.set_defaults(parser=parser)  # for the command that prints completions
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    return parser


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and suggest the nearest known word."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {message}; see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: str) -> None:
        if action.choices is not None and value not in action.choices:
            unknown = f"there is no {str(action.metavar).lower()}"
            if action.option_strings:
                unknown = f"{action.option_strings[0]}: unknown value"
            raise InputError(f"{self.prog}: {unknown} '{value}'{nearest(value, action.choices)}")


if __name__ == "__main__":
    sys.exit(main())
