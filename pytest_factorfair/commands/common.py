"""What the console commands have in common: an error is one line and exit code 4, output is plain text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.domain import visible
from pytest_factorfair.errors import DetectorError, InputError, StoreError

if TYPE_CHECKING:
    from pytest_factorfair.protocols.faintbench.checklist import Faintbench, PromptCase

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name

WRONG_INPUT = 4
FAINTBENCH = "faintbench"
"""The checklist that pictures are of where no other is named."""


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
    sys.stdout.write(f"{visible(line)}\n")


def write(path: Path, content: str | bytes) -> str:
    """Write a file whole, in a folder that may have to be made; return its path.

    Raises:
        InputError: it cannot be written; what was there before is there still.
    """
    from pytest_factorfair.reports.files import write_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def faintbench(name: str, truth: str) -> Faintbench:
    """A checklist of FAIntbench, by name or path, as a report does not hold it.

    Raises:
        InputError: there is none of that name, or it is of another protocol.
    """
    from pytest_factorfair import protocols
    from pytest_factorfair.protocols.faintbench.checklist import Faintbench

    found = protocols.load(name, truth=truth, base=Path.cwd())
    if not isinstance(found, Faintbench):
        raise InputError(f"checklist '{found.name}' is not one of FAIntbench: name that of the run")
    return found


def same_content(where: Path | str, digest: str | None, checklist: Faintbench) -> None:
    """Refuse a checklist that is not the one a run asked.

    Raises:
        InputError: its hash is another one, or the run asked no checklist of that name.
    """
    if digest is None:
        raise InputError(f"{where}: checklist {checklist.name} is not in it; name its own by --checklist")
    if digest != checklist.digest:
        raise InputError(
            f"{where}: checklist {checklist.name} is {digest[:12]}, here it is {checklist.digest[:12]}: "
            "its content has changed"
        )


def every_prompt(checklist: Faintbench) -> dict[str, PromptCase]:
    """Every prompt of the checklist by its id."""
    from pytest_factorfair.domain import Sampling
    from pytest_factorfair.protocols import cases
    from pytest_factorfair.protocols.faintbench.checklist import prompt_cases

    every = Sampling(design="balanced", samples=1, objective=1, seed=0, prompts="all")
    return {case.id: case for case in prompt_cases(cases(checklist, every))}
