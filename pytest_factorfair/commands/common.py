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
    from pytest_factorfair.domain import Case, Checklist

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name

WRONG_INPUT = 4


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


def loaded(name: str, truth: str) -> tuple[Checklist, dict[str, Case]]:
    """Load a checklist by name or path, which a report does not contain, with every case by its id.

    Raises:
        InputError: there is no such checklist.
    """
    from pytest_factorfair import protocols
    from pytest_factorfair.domain import Sampling

    checklist = protocols.load(name, truth=truth, base=Path.cwd())
    every = Sampling(design="balanced", samples=1, objective=1, seed=0, prompts="all")
    return checklist, {case.id: case for case in protocols.cases(checklist, every)}


def prompts(name: str, truth: str) -> tuple[Checklist, dict[str, Case]]:
    """Load a checklist by name or path with every prompt for a number of people by its id.

    Raises:
        InputError: there is no such checklist, or it has no prompts for a number of people.
    """
    from pytest_factorfair import protocols

    checklist, cases = loaded(name, truth)
    found = {id_: case for id_, case in cases.items() if protocols.people(checklist, case)}
    if not found:
        raise InputError(
            f"checklist '{checklist.name}' has no prompts for a number of people; name the one of the run"
        )
    return checklist, found


def same_content(where: Path | str, digest: str | None, checklist: Checklist) -> None:
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
