"""Finished runs to read reports of: each is made once in a session, whichever tests and workers ask for it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Finished: TypeAlias = Callable[..., Path]
"""From the arguments of a run to the folder of its reports."""

GATES = 1
"""The exit code where gates failed, which is no accident here."""

OUTSIDE = ("FACTORFAIR_", "GITHUB_", "PYTEST_")
"""What the shell of a developer or a CI job exports must not reach these runs."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Finished:
    base = tmp_path_factory.getbasetemp()
    # A worker of pytest-xdist has a folder in the one that all workers share.
    shared = (base.parent if hasattr(pytestconfig, "workerinput") else base) / "finished"

    def run(*arguments: str) -> Path:
        folder = shared / hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "done").exists():
                _run(folder, arguments)
                (folder / "done").touch()
        return folder / ".factorfair" / "report"

    return run


def _run(folder: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={folder}", *arguments]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode in (0, GATES), done.stdout + done.stderr
