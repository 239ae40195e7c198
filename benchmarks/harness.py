"""Shared by the benchmarks: runs in a separate process, and tables."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[1]
# Plugins of our tests and of the extras' packages, each of which takes 0.1 s whether or not we are there.
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:anyio")
CONNECTIONS = 64
LATENCY = 0.05


@dataclass(frozen=True)
class Cost:
    """The cost of a process: ``wall`` and ``cpu`` in seconds (including children), ``peak`` in MiB.

    The peak is at least the memory of the measuring process when it started the command.
    """

    began: float
    wall: float
    cpu: float
    peak: float
    output: str


def measured(command: Sequence[str], *, cwd: Path) -> Cost:
    """Run a command, and measure its cost.

    Raises:
        RuntimeError: the command failed.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as captured:
        # Allow bytecode to be written: an installed package has it, a checkout gets it in the first run.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPATH"] = str(ROOT)
        process = subprocess.Popen(command, cwd=cwd, stdout=captured, stderr=captured, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        captured.seek(0)
        output = captured.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output[-3000:]}")
    return Cost(began, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output)


def run(model: str, *arguments: str, base_url: str = "") -> Cost:
    """Run the plugin as a user would, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*PYTEST, f"--factorfair-model={model}", *arguments]
        if base_url:
            command.append(f"--factorfair-model-arg=base_url={base_url}")
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        return measured(command, cwd=Path(folder))


def table(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print the measurements."""
    width = max(len(name) for name, _ in rows)
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:<{width}}  {value}", flush=True)


def limited(value: float, limit: float) -> str:
    """Format a figure with the most that it may be."""
    return f"{value:.2f}  (at most {limit:g}: {'kept' if value <= limit else 'MISSED'})"


def at_least(value: float, limit: float) -> str:
    """Format a figure with the least that it may be."""
    return f"{value:.2f}  (at least {limit:g}: {'kept' if value >= limit else 'MISSED'})"


class Judged(Protocol):
    """A row of a table of error rates; ``held`` is whether its rates are within their limits."""

    @property
    def held(self) -> bool: ...


def print_rows(rows: Iterable[Judged]) -> bool:
    """Print each row as soon as it is known; return whether all are held."""
    held = []
    for row in rows:
        print(row, flush=True)
        held.append(row.held)
    return all(held)
