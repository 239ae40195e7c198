"""``factorfair init``: write settings and a workflow to start from, without changing existing ones."""

from __future__ import annotations

import argparse
import tomllib
from importlib.resources import files
from pathlib import Path

from pytest_factorfair.commands.common import Commands, say
from pytest_factorfair.errors import InputError

SETTINGS = "pyproject.toml"
WORKFLOW = ".github/workflows/factorfair.yml"

STEPS = (
    "export OPENAI_API_KEY=...",
    "pytest --factorfair-model=openai/gpt-4o --factorfair-plan",
    "pytest --factorfair-model=openai/gpt-4o --factorfair-preset=tiny",
    "pytest --factorfair-model=openai/gpt-4o",
)
"""What to type next: a plan, a first look, and the run that is judged."""


def add(commands: Commands) -> None:
    """Add the command ``init``; its exit code is 4 if one of the files was not written."""
    parser = commands.add_parser(
        "init",
        help="write settings and a workflow",
        description="Write settings and a workflow to start from; existing files are not changed.",
    )
    parser.set_defaults(run=run)


def run(_arguments: argparse.Namespace) -> None:
    """Write settings and workflow, unless they exist; neither if pyproject.toml cannot be extended.

    Raises:
        InputError: a file cannot be read or written, or one of them exists already.
    """
    settings, workflow = Path(SETTINGS), Path(WORKFLOW)
    unchanged = []
    try:
        if table := _table(settings):
            with settings.open("ab") as file:
                file.write(table)
            say(f"wrote [tool.factorfair] to {SETTINGS}")
        else:
            unchanged.append(f"{SETTINGS}: [tool.factorfair] already exists; left unchanged")
    except OSError as error:
        raise InputError(f"{SETTINGS}: cannot be written: {error.strerror}") from None
    try:
        workflow.parent.mkdir(parents=True, exist_ok=True)
        with workflow.open("xb") as file:
            file.write(_template("workflow.yml"))
        say(f"wrote {WORKFLOW}")
    except FileExistsError:
        unchanged.append(f"{WORKFLOW}: already exists; left unchanged")
    except OSError as error:
        raise InputError(f"{WORKFLOW}: cannot be written: {error.strerror}") from None
    if unchanged:
        raise InputError("; ".join(unchanged))
    say("next, with your own model in place of openai/gpt-4o (sim:ideal needs no key):")
    for step in STEPS:
        say(f"  {step}")
    say(f"then name the model and its key in {WORKFLOW}")


def _table(path: Path) -> bytes:
    """The table to append to pyproject.toml, with the file's line endings; empty if it has the table.

    Raises:
        InputError: the file is not valid TOML, or would not be with the table.
    """
    former = path.read_bytes() if path.exists() else b""
    apart = b"" if not former else b"\n" if former.endswith(b"\n") else b"\n\n"
    table = apart + _template("pyproject.toml")
    table = table.replace(b"\n", b"\r\n") if b"\r\n" in former else table
    try:
        tools = tomllib.loads(former.decode()).get("tool", {})
        if not isinstance(tools, dict):
            raise InputError(f"{SETTINGS}: tool must be a table; left unchanged")
        if "factorfair" in tools:
            return b""
        tomllib.loads((former + table).decode())
    except ValueError as error:
        raise InputError(f"{SETTINGS}: {error}; left unchanged") from None
    return table


def _template(name: str) -> bytes:
    return (files("pytest_factorfair") / "starting_files" / name).read_bytes()
