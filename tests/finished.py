"""Finished runs whose reports tests read: each runs once in a session, for all tests and workers."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests import forkserver
from tests.project import FEW, PYTEST

Finished: TypeAlias = Callable[..., Path]
"""From the arguments of a run to the folder of its reports."""

TEXT = (
    "--factorfair-model=sim:stereotyped", "--factorfair-model=sim:uniform", f"--factorfair-checklist={FEW}",
    "--factorfair-preset=smoke", "--factorfair-gate=s_e[base,gender] >= 0.9",
)  # fmt: skip
FAILING = (
    "--factorfair-model=sim:stereotyped?strength=0.6&refuse=0.02", f"--factorfair-checklist={FEW}",
    "--factorfair-gate=default", "--factorfair-looks=1",
)  # fmt: skip
REFUSING = (
    "--factorfair-model=sim:refusing?rate=0.2", f"--factorfair-checklist={FEW}", "--factorfair-preset=smoke",
    "--factorfair-gate=refusal_rate <= 0.05",
)  # fmt: skip
PICTURES = ("--factorfair-model=sim:ideal", "--factorfair-checklist=faintbench", "--factorfair-preset=smoke")
"""Runs that several modules read. That of text has two models."""

GATES = 1
"""The exit code of failed gates, which is expected here."""

OUTSIDE = ("FACTORFAIR_", "GITHUB_", "PYTEST_")
"""Variables of a developer's shell or a CI job must not reach these runs."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Finished:
    base = tmp_path_factory.getbasetemp()
    # The folder of a pytest-xdist worker is inside the folder that all workers share.
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
    command = [forkserver.python(), *PYTEST[1:], "-q", f"--rootdir={folder}", *arguments]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode in (0, GATES), done.stdout + done.stderr
