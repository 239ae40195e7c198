"""Shared by the console commands: an error is one line and exit code 4; output is plain text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.domain import visible
from pytest_factorfair.errors import DetectorError, InputError, StoreError

if TYPE_CHECKING:
    from pytest_factorfair.domain import Case, Checklist

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name

WRONG_INPUT = 4


def one_line_errors(
    run: Callable[[argparse.Namespace], int | None],
) -> Callable[[argparse.Namespace], int]:
    """Wrap a command, which may return an exit code: print its error as one line and return exit code 4."""

    def command(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments) or 0
        except (InputError, StoreError, DetectorError) as error:
            sys.stderr.write(f"{error}\n")
            return WRONG_INPUT

    return command


def read_conftest() -> None:
    """Import the conftest.py of the current folder, as pytest does: it may add benchmarks and metrics.

    One that cannot be imported is reported, and the command goes on without it: nothing that it could need
    of pytest is there.
    """
    file = Path.cwd() / "conftest.py"
    if not file.is_file() or getattr(sys.modules.get("conftest"), "__file__", None) == str(file):
        return
    spec = spec_from_file_location("conftest", file)
    if spec is None or spec.loader is None:
        return
    sys.path.insert(0, str(file.parent))
    sys.modules["conftest"] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # it is the user's, and pytest.skip raises no Exception
        del sys.modules["conftest"]
        reason = visible(" ".join(f"{type(error).__name__}: {error}".split()))
        sys.stderr.write(f"conftest.py: not used, as importing it raised {reason}\n")


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
