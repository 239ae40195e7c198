"""Shared by the console commands: an error is one line and exit code 4; output is plain text."""

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
"""The default checklist for FAIntbench pictures."""


def one_line_errors(run: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], int]:
    """Wrap a command: print its error as one line and return exit code 4."""

    def command(arguments: argparse.Namespace) -> int:
        try:
            run(arguments)
        except (InputError, StoreError, DetectorError) as error:
            sys.stderr.write(f"{error}\n")
            return WRONG_INPUT
        return 0

    return command


def say(line: str) -> None:
    """Print a line, with control characters (for example in a model's name) made visible."""
    sys.stdout.write(f"{visible(line)}\n")


def write(path: Path, content: str | bytes) -> str:
    """Write a file atomically, create its folder if needed, and return its path.

    Raises:
        InputError: the file cannot be written; a file that was there before is unchanged.
    """
    from pytest_factorfair.reports.files import write_whole

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_whole(path, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def faintbench(name: str, truth: str) -> Faintbench:
    """Load a FAIntbench checklist by name or path; a report does not contain it.

    Raises:
        InputError: there is no such checklist, or it has another protocol.
    """
    from pytest_factorfair import protocols
    from pytest_factorfair.protocols.faintbench.checklist import Faintbench

    found = protocols.load(name, truth=truth, base=Path.cwd())
    if not isinstance(found, Faintbench):
        raise InputError(f"checklist '{found.name}' is not a FAIntbench checklist; name the one of the run")
    return found


def same_content(where: Path | str, digest: str | None, checklist: Faintbench) -> None:
    """Refuse a checklist that differs from the one of the run.

    Raises:
        InputError: its hash differs, or the run has no checklist of that name.
    """
    if digest is None:
        raise InputError(f"{where}: it has no checklist {checklist.name}; name its own with --checklist")
    if digest != checklist.digest:
        raise InputError(
            f"{where}: the content of checklist {checklist.name} has changed: {digest[:12]} there, "
            f"{checklist.digest[:12]} here"
        )


def every_prompt(checklist: Faintbench) -> dict[str, PromptCase]:
    """Every prompt of the checklist by its id."""
    from pytest_factorfair.domain import Sampling
    from pytest_factorfair.protocols import cases
    from pytest_factorfair.protocols.faintbench.checklist import prompt_cases

    every = Sampling(design="balanced", samples=1, objective=1, seed=0, prompts="all")
    return {case.id: case for case in prompt_cases(cases(checklist, every))}
