"""What the benchmarks share: the stub server in a process of its own, the project under test in another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONNECTIONS = 64
LATENCY = 0.05


class Server:
    """A running ``tests.stub_server``."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def script(self, **fields: object) -> None:
        self._call("PUT", "/script", json.dumps(fields))

    def stats(self) -> dict[str, Any]:
        return dict(json.loads(self._call("GET", "/stats")))

    def _call(self, method: str, path: str, body: str | None = None) -> str:
        connection = HTTPConnection("127.0.0.1", self._port)
        try:
            connection.request(method, path, body)
            return connection.getresponse().read().decode()
        finally:
            connection.close()


@contextmanager
def server() -> Iterator[Server]:
    """A stub server that ends with the block."""
    command = [sys.executable, "-m", "tests.stub_server", "--attached"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdout is None:
            raise RuntimeError("the stub server has no output")
        yield Server(int(process.stdout.readline()))
        process.kill()


@dataclass(frozen=True)
class Cost:
    """What a process took: ``wall`` and ``cpu`` in seconds (its children's included), ``peak`` in MiB."""

    began: float
    wall: float
    cpu: float
    peak: float
    output: str


def measured(command: Sequence[str], *, cwd: Path) -> Cost:
    """Run a command to its end.

    Raises:
        RuntimeError: it failed.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as told:
        # An installed package comes compiled; a check-out is, from its first run on, if it may be.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPATH"] = str(ROOT)
        process = subprocess.Popen(command, cwd=cwd, stdout=told, stderr=told, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        told.seek(0)
        output = told.read()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output[-3000:]}")
    return Cost(began, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output)


def run(model: str, *arguments: str, base_url: str = "") -> Cost:
    """Run the plugin as a user would, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        # Plugins of our own tests and of packages of extras: they take 0.1 s each, with us or without.
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest", "-p", "no:anyio"]
        command += [f"--factorfair-model={model}", *arguments]
        if base_url:
            command.append(f"--factorfair-model-arg=base_url={base_url}")
        (Path(folder) / "pytest.ini").write_text("[pytest]\n")
        return measured(command, cwd=Path(folder))


def table(title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Print what was measured."""
    width = max(len(name) for name, _ in rows)
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:<{width}}  {value}", flush=True)


def limited(value: float, most: float) -> str:
    """A ratio beside its limit."""
    return f"{value:.2f}  (at most {most:g}: {'kept' if value <= most else 'MISSED'})"
