"""Find the file of a checklist that is given by name or path."""

from __future__ import annotations

import difflib
import importlib.resources
import os
from importlib.metadata import metadata
from pathlib import Path

from pytest_factorfair.errors import InputError, nearest


def folder() -> Path:
    """The folder of the shipped checklists, in an installed wheel or next to the package in a source tree.

    Raises:
        InputError: the installation lacks them.
    """
    package = Path(str(importlib.resources.files("pytest_factorfair")))
    for candidate in (package / "_checklists", package.parent / "checklists"):
        if (candidate / "schema" / "checklist.schema.json").is_file():
            return candidate
    raise InputError("the shipped checklists are missing from this installation; install the package again")


def schema_id(file: str) -> str:
    """The ``$id`` of a published schema: the address of its file in the project's repository."""
    urls = dict(url.split(", ") for url in metadata("pytest-factorfair").get_all("Project-URL", []))
    return f"{urls['Source']}/raw/main/checklists/schema/{file}"


def shipped() -> tuple[str, ...]:
    """The names of the shipped checklists."""
    return tuple(sorted(file.stem for file in folder().glob("*.yaml")))


def locate(name_or_path: str, *, relative_to: Path, base: Path) -> Path:
    """Find the file of a checklist: a bare word is the name of a shipped one, anything else is a path.

    Paths are relative to the folder ``relative_to``, which is itself relative to ``base``. The result is
    relative to ``base``, too, as shown in messages.

    Raises:
        InputError: no shipped checklist has that name, or there is no such file.
    """
    names = shipped()
    if name_or_path in names:
        return folder() / f"{name_or_path}.yaml"
    file = relative_to / name_or_path
    if exists(base / file):
        return file
    if os.path.isdir(base / file):  # noqa: PTH112 - false for a path that the system cannot look up
        raise InputError(f"{file} is a folder: name a checklist in it, such as {file / 'own.yaml'}")
    if set(name_or_path) & set("./\\"):
        close = difflib.get_close_matches(Path(name_or_path).stem, names, n=1, cutoff=0.8)
        hint = f"; did you mean the shipped '{close[0]}'?" if close else ""
        raise InputError(f"there is no file {file}{hint}")
    raise InputError(
        f"no shipped checklist is called '{name_or_path}'{nearest(name_or_path, names)} "
        "(a file of your own is named with its ending: own.yaml)"
    )


def exists(file: Path) -> bool:
    """Whether the file exists; false, not an error, for a path that the system rejects."""
    try:
        return file.is_file()
    except OSError:
        return False
