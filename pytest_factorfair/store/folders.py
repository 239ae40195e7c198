"""Making folders, and having their names outlive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

HOME = ".factorfair"
"""The default folder of everything that a run writes."""


def make_folder(folder: Path, *, ignored: bool = True) -> None:
    """Make a folder, with a .gitignore that keeps what a model made out of commits.

    ``ignored`` applies to folders that the user named; ``.factorfair`` always has one.
    """
    unseen = {place for place in (folder, *folder.parents) if place.name == HOME}
    if ignored and not folder.is_dir():
        unseen.add(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for place in unseen:
        if not (place / ".gitignore").exists():
            (place / ".gitignore").write_text("# Made by pytest-factorfair.\n*\n", encoding="utf-8")


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    with suppress(PermissionError):  # Windows opens no folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
