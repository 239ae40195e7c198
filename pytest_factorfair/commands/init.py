"""``factorfair init``: write settings and a workflow to start from; existing files are not changed."""

from __future__ import annotations

import argparse
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import one_line_errors, say
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands

SETTINGS = "pyproject.toml"
WORKFLOW = ".github/workflows/factorfair.yml"


def add(commands: Commands) -> None:
    """Add the command; its exit code is 4 if one of the files cannot be written."""
    parser = commands.add_parser("init", help="write settings and a workflow", description=__doc__)
    parser.set_defaults(run=one_line_errors(_init))


def _init(_arguments: argparse.Namespace) -> None:
    refused = []
    for write in (_settings, _workflow):
        try:
            say(f"wrote {write(Path.cwd())}")
        except InputError as error:
            refused.append(str(error))
    if refused:
        raise InputError("\n".join(refused))
    say("next: pytest --factorfair-model=sim:ideal")
    say(f"then replace sim:ideal by your own model, such as openai/gpt-4o, here and in {WORKFLOW}")


def _settings(folder: Path) -> str:
    """Append the table to pyproject.toml, or create the file.

    Raises:
        InputError: the table exists, the file is not valid TOML, or it cannot be written.
    """
    path = folder / SETTINGS
    try:
        former = path.read_bytes() if path.exists() else b""
        table = _appended(former)
        with path.open("ab") as file:
            file.write(table)
    except OSError as error:
        raise InputError(f"{SETTINGS}: cannot be written: {error.strerror}") from None
    return f"[tool.factorfair] to {SETTINGS}"


def _appended(former: bytes) -> bytes:
    """The text to append, with the line endings of the file, which stays valid TOML."""
    if "factorfair" in _parsed(former).get("tool", {}):
        raise InputError(f"{SETTINGS}: [tool.factorfair] already exists; left unchanged")
    apart = b"" if not former else b"\n" if former.endswith(b"\n") else b"\n\n"
    table = apart + _template("pyproject.toml")
    table = table.replace(b"\n", b"\r\n") if b"\r\n" in former else table
    _parsed(former + table)
    return table


def _parsed(content: bytes) -> dict[str, dict[str, object]]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{SETTINGS}: {error}; left unchanged") from None


def _workflow(folder: Path) -> str:
    path = folder / WORKFLOW
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(_template("workflow.yml"))
    except FileExistsError:
        raise InputError(f"{WORKFLOW}: already exists; left unchanged") from None
    except OSError as error:
        raise InputError(f"{WORKFLOW}: cannot be written: {error.strerror}") from None
    return WORKFLOW


def _template(name: str) -> bytes:
    return (files("pytest_factorfair") / "starting_files" / name).read_bytes()
