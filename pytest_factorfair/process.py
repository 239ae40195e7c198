"""Processes and their files: which run, how many files they may open, drafts that dead ones left, and folders
that survive a power cut.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]  # asked for before every use

_DRAFT = re.compile(r"\.partial-(?P<host>[0-9a-f]{8})-(?P<pid>\d{1,9})-\d+$")
_ABANDONED = 86_400.0  # seconds after which a draft of another host, or of this one's last start, is removed
_COUNT = count()
POSIX = os.name == "posix"


@cache
def host() -> str:
    """Identifies this machine since its last start and, on Linux, its PID namespace."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # not Linux
    return " ".join(parts)


def alive(pid: int) -> bool:
    """Whether a process of this host is running; a zombie is not.

    Only POSIX allows this check: elsewhere ``os.kill`` ends the process, so every process counts as alive.
    """
    if not POSIX:
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's process
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
    except OSError:
        return True
    return not state.strip().startswith("Z")


FEW = 64
"""Files that a process has open before it asks, where the system does not tell."""


class OpenFiles:
    """The limit on this process's open files, raised as far as ``needed`` more of them require it.

    ``limit`` is the limit now, and ``left`` how many more files may be opened; None means any number.
    """

    def __init__(self, needed: int) -> None:
        self.limit: int | None = None
        self.left: int | None = None
        self._former: int | None = None
        if resource is None:
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        unlimited = resource.RLIM_INFINITY
        if soft == unlimited:
            return
        try:
            already_open = sum(1 for _ in Path("/dev/fd").iterdir())
        except OSError:
            already_open = FEW
        raised_limit = already_open + needed if hard == unlimited else min(already_open + needed, hard)
        if raised_limit > soft:
            with suppress(ValueError, OSError):  # the system may allow less than the hard limit
                resource.setrlimit(resource.RLIMIT_NOFILE, (raised_limit, hard))
                self._former, soft = soft, raised_limit
        self.limit, self.left = soft, soft - already_open

    def give_back(self) -> None:
        """Restore the former limit, unless somebody else has changed it since."""
        if self._former is None:
            return
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == self.limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self._former, hard))
        self._former = None


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """A name next to ``path`` for its unfinished content; a file left there at the end is removed."""
    unfinished = path.with_name(f"{path.name}.partial-{_tag()}-{os.getpid()}-{next(_COUNT)}")
    try:
        yield unfinished
    finally:
        _remove(unfinished)


def sweep(folder: Path, *names: str) -> None:
    """Remove what dead processes left in a folder: drafts of files of these names.

    Nothing tells whether a process of another host is alive, so its drafts are left for a day.
    """
    for path in [path for name in names for path in folder.glob(f"{name}.partial-*")]:
        owner = _DRAFT.search(path.name)
        with suppress(OSError):  # another process was first
            if owner is not None and (
                not alive(int(owner["pid"]))
                if owner["host"] == _tag()
                else time.time() - path.stat().st_mtime > _ABANDONED
            ):
                _remove(path)


HOME = ".factorfair"
"""The default folder of everything that a run writes."""


FILE_MODE, FOLDER_MODE = 0o640, 0o750
"""The most permissions of what a run writes: replies may be confidential. The umask may allow less."""


def private(path: str, flags: int) -> int:
    """The ``opener`` of files that others than the user and the group must not read."""
    return os.open(path, flags, FILE_MODE)


def make_folder(folder: Path, *, ignored: bool = True) -> None:
    """Make a folder, with a .gitignore that keeps what a model made out of commits.

    Others than the user and the group cannot enter it. ``ignored`` applies to folders that the user named;
    ``.factorfair`` always has a .gitignore.
    """
    unseen = {ancestor for ancestor in (folder, *folder.parents) if ancestor.name == HOME}
    if ignored and not folder.is_dir():
        unseen.add(folder)
    for missing in reversed([path for path in (folder, *folder.parents) if not path.is_dir()]):
        missing.mkdir(FOLDER_MODE, exist_ok=True)
    for unseen_folder in unseen:
        if not (unseen_folder / ".gitignore").exists():
            (unseen_folder / ".gitignore").write_text("# Made by pytest-factorfair.\n*\n", encoding="utf-8")


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    with suppress(PermissionError):  # Windows opens no folders
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _tag() -> str:
    """The host tag in temporary file names."""
    return hashlib.sha256(host().encode()).hexdigest()[:8]


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
