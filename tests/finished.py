"""Finished runs to read reports of: each is made once, whoever asks for it."""

from __future__ import annotations

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
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    known: dict[tuple[str, ...], Path] = {}

    def run(*arguments: str) -> Path:
        if arguments not in known:
            known[arguments] = _run(tmp_path_factory.mktemp("finished"), arguments)
        return known[arguments]

    return run


def _run(folder: Path, arguments: tuple[str, ...]) -> Path:
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode in (0, GATES), done.stdout + done.stderr
    return folder / ".factorfair" / "report"
