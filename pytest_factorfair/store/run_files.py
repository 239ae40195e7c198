"""The files of a run, and whose they are: what a dead controlling process has left is swept away.

Beside the run's lock there are its limits (``.sqlite``) and its places (``.places``).
"""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path

SUFFIXES = (".places", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".lock")


class Owner:
    """The controlling process's hold on the files of its run; the kernel lets go of it, however it ends.

    Raises:
        OSError: they cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")  # in its place only when it is locked: nobody takes it for abandoned
        self._file = new.open("wb")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        new.rename(path)
        path.with_suffix(".places").touch()

    def close(self) -> None:
        """Remove the files; closing twice does nothing."""
        _remove(self._path)
        self._file.close()


def sweep(folder: Path) -> None:
    """Remove the files of runs whose controlling process is gone."""
    for path in folder.glob("run-*.lock"):
        with suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)


def _remove(path: Path) -> None:
    for suffix in SUFFIXES:
        with suppress(OSError):
            path.with_suffix(suffix).unlink()
