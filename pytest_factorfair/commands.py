"""What the console commands have in common: an error is one line and exit code 4, output is plain text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_factorfair.errors import DetectorError, InputError, StoreError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name

WRONG_INPUT = 4


def told(run: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], int]:
    """The command with its error as one line and exit code 4."""

    def command(arguments: argparse.Namespace) -> int:
        try:
            run(arguments)
        except (InputError, StoreError, DetectorError) as error:
            sys.stderr.write(f"{error}\n")
            return WRONG_INPUT
        return 0

    return command


def say(line: str) -> None:
    """Print a line; what a model's name may hold does not act on the terminal."""
    sys.stdout.write("".join(letter if letter.isprintable() else "?" for letter in line) + "\n")
