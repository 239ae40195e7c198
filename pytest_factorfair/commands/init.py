"""``factorfair init``: settings and a workflow to start from; nothing that is there is altered."""

from __future__ import annotations

import argparse
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import say, told
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pytest_factorfair.commands.common import Commands

SETTINGS = "pyproject.toml"
WORKFLOW = ".github/workflows/factorfair.yml"


def add(commands: Commands) -> None:
    """Add the command; its exit code is 4 where one of the files cannot be written."""
    parser = commands.add_parser("init", help="write settings and a workflow", description=__doc__)
    parser.set_defaults(run=told(_init))


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
    say(f"then put your own model, such as openai/gpt-4o, in its place, here and in {WORKFLOW}")


def _settings(folder: Path) -> str:
    """Append the table to pyproject.toml, or begin one.

    Raises:
        InputError: there is such a table, the file is no TOML, or it cannot be written.
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
    """What to append; lines end as they do in the file, which stays valid TOML."""
    if "factorfair" in _parsed(former).get("tool", {}):
        raise InputError(f"{SETTINGS}: it has [tool.factorfair] already, and is left as it is")
    apart = b"" if not former else b"\n" if former.endswith(b"\n") else b"\n\n"
    table = apart + _template("pyproject.toml")
    table = table.replace(b"\n", b"\r\n") if b"\r\n" in former else table
    _parsed(former + table)
    return table


def _parsed(content: bytes) -> dict[str, dict[str, object]]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except ValueError as error:
        raise InputError(f"{SETTINGS}: {error}; it is left as it is") from None


def _workflow(folder: Path) -> str:
    path = folder / WORKFLOW
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(_template("workflow.yml"))
    except FileExistsError:
        raise InputError(f"{WORKFLOW}: it is there already, and is left as it is") from None
    except OSError as error:
        raise InputError(f"{WORKFLOW}: cannot be written: {error.strerror}") from None
    return WORKFLOW


def _template(name: str) -> bytes:
    return (files("pytest_factorfair") / "starting_files" / name).read_bytes()
