"""Fixtures for the stub server, which runs in a separate process and gets a new script for every test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


class StubServer:
    """A running ``tests.stub_server``; see its ``Script`` for what ``script`` takes."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def script(self, **fields: object) -> dict[str, Any]:
        """Set a new script and reset the statistics; returns those until now."""
        return dict(json.loads(self._call("PUT", "/script", json.dumps(fields))))

    def release(self) -> None:
        """Answer the requests that the script holds, and hold no more; the statistics go on."""
        self._call("PUT", "/release")

    def script_batches(self, **fields: object) -> None:
        """Change the script of batches (``tests.batch_server``), and switch them on."""
        self._call("PUT", "/batches", json.dumps(fields))

    def batches(self) -> dict[str, Any]:
        """What happened in batches since the last script: calls, completions, ledger, and others."""
        return dict(json.loads(self._call("GET", "/batches")))

    def stats(self) -> dict[str, Any]:
        """The statistics since the last script: requests, most_in_flight, last (the last body), and others."""
        return dict(json.loads(self._call("GET", "/stats")))

    def _call(self, method: str, path: str, body: str | None = None) -> str:
        connection = HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            assert reply.status == 200, (method, path, reply.status)
            return reply.read().decode()
        finally:
            connection.close()


@contextmanager
def llama_server(*arguments: object) -> Iterator[str]:
    """The address of llama.cpp's server; the arguments are those of ``llama_server.py``."""
    program = ROOT / "tests" / "data" / "programs" / "llama_server.py"
    with subprocess.Popen(
        [sys.executable, str(program), *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/v1"
        server.stdin.close()
        server.kill()


@contextmanager
def started() -> Iterator[StubServer]:
    """Start a server in a separate process; it ends with the block, or when this process is killed."""
    command = [sys.executable, "-m", "tests.stub_server", "--attached"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield StubServer(int(process.stdout.readline()))
        process.kill()


@pytest.fixture(scope="session")
def stub_process() -> Iterator[StubServer]:
    with started() as server:
        yield server


@pytest.fixture
def stub(stub_process: StubServer) -> StubServer:
    """An OpenAI-compatible server; without another script it answers ``{"answer": "A"}``."""
    stub_process.script()
    return stub_process
