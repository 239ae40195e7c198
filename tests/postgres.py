"""A PostgreSQL server for the tests, on a Unix socket; it ends with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

UNPRIVILEGED = ("postgres", "nobody")
SETTINGS = ("listen_addresses=", "fsync=off", "full_page_writes=off", "synchronous_commit=off")


def binaries() -> Path | None:
    """The folder of ``initdb`` and ``postgres``: on PATH, or the one used by Debian and Ubuntu."""
    initdb = shutil.which("initdb")
    if initdb and shutil.which("postgres"):
        return Path(initdb).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return folders[-1] if folders else None


@contextmanager
def server() -> Iterator[str]:
    """Run a server; yield its folder, for ``postgresql+psycopg://ff@/postgres?host=FOLDER``."""
    where = binaries()
    assert where is not None
    with tempfile.TemporaryDirectory(prefix="ff") as folder:
        user = _user(Path(folder))
        _run([where / "initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "ff", "-E", "UTF8",
              "--no-locale", "--no-sync"], user)  # fmt: skip
        control(folder, "start")
        try:
            yield folder
        finally:
            control(folder, "stop", "-m", "immediate")


def control(folder: str, *action: str) -> None:
    """Start, stop or restart the server of a folder, and wait for it."""
    where = binaries()
    assert where is not None
    options = " ".join(f"-c {setting}" for setting in SETTINGS)
    log = ("-o", f"-k {folder} {options}", "-l", f"{folder}/log") if "stop" not in action else ()
    _run([where / "pg_ctl", *action, "-D", f"{folder}/data", "-w", *log], _user(Path(folder)))


def psql(folder: str, statement: str, *, database: str = "postgres") -> None:
    """Run a statement as the owner of the server."""
    import psycopg

    with psycopg.connect(f"host={folder} user=ff dbname={database}", autocommit=True) as connection:
        connection.execute(statement)


def _user(folder: Path) -> str | None:
    """The user to run the server as, because PostgreSQL refuses to run as root; None for the current user."""
    if os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = next(name for name in UNPRIVILEGED if name in names)
    shutil.chown(folder, user)
    return user


def _as(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def _run(command: list[Any], user: str | None) -> None:
    subprocess.run([str(part) for part in command], check=True, capture_output=True, cwd="/", **_as(user))
