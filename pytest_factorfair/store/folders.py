"""Making folders, and having their names outlive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

HOME = ".factorfair"
"""The folder of all that a run leaves behind, unless it was told another."""


def make_folder(folder: Path, *, ignored: bool = True) -> None:
    """Make a folder, with a .gitignore so that nobody commits what a model made.

    ``ignored`` is about folders with a name of the user's: whatever makes ``.factorfair``, git never sees it.
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
