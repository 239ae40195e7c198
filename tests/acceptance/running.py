"""Runs as a user makes them in an otherwise empty folder: pytest in a process of its own, or from Python."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest_factorfair
from tests import forkserver
from tests.project import PYTEST, report_of, split


def pytest_in(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run pytest there, however it ends."""
    variables, arguments = split(arguments)
    command = [forkserver.python(), *PYTEST, "-p", "no:cacheprovider", f"--rootdir={folder}", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables | environment,
    )


def reported(
    folder: Path, *arguments: str, expect: int = 0, **environment: str
) -> tuple[dict[str, Any], str]:
    """Run pytest there to the exit code expected; its report, and what it printed."""
    done = pytest_in(folder, *arguments, **environment)
    assert done.returncode == expect, done.stdout[-4000:] + done.stderr[-2000:]
    return report_of(folder / ".factorfair/report/report.json"), done.stdout


def scored(folder: Path, checklist: str, models: Iterable[str], **settings: Any) -> dict[str, Any]:
    """The report on these models, run from Python."""
    pytest_factorfair.run(list(models), root=folder, checklist=[checklist], progress=False, **settings)
    return report_of(folder / ".factorfair/report/report.json")
