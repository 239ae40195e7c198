"""Making folders, and having their names outlive a power cut."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make the folder, with a .gitignore so that nobody commits what a model made."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        (folder / ".gitignore").write_text("# Made by pytest-factorfair.\n*\n", encoding="utf-8")


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    with suppress(PermissionError):  # Windows opens no folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
