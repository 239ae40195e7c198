"""Connections are the run's: its workers share them, counted at the server."""

from __future__ import annotations

import signal

import pytest

from tests.project import Project
from tests.servers import StubServer, stub, stub_process

__all__ = ["stub", "stub_process"]  # fixtures

ANSWERS = 6 * 4 + 4 * 2 * 24


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, *arguments, model="hosted_vllm/m")


def test_more_workers_than_connections(project: Project, stub: StubServer) -> None:
    stub.script(latency=0.03)
    assert run(project, stub, "-n4", "--factorfair-max-connections=3").ret == 0
    assert stub.stats()["most_in_flight"] == 3
    assert stub.stats()["requests"] == ANSWERS
    assert list((project.path / ".factorfair").glob("run-*")) == []


def test_what_an_idle_worker_does_not_use_another_does(project: Project, stub: StubServer) -> None:
    """One case is selected, so that one of the two workers has nothing to ask."""
    stub.script(latency=0.1)
    run(project, stub, "-n2", "--factorfair-max-connections=6", "-k", "subjective and baseline and highest")
    assert stub.stats()["most_in_flight"] == 6


def test_the_next_run_sweeps_up_after_a_killed_one(project: Project, stub: StubServer) -> None:
    project.write(
        "conftest.py",
        f"import os\ndef pytest_runtestloop():\n    os.kill(os.getpid(), {int(signal.SIGKILL)})\n",
    )
    assert run(project, stub, "-n0", "--factorfair-max-calls=100").ret == -signal.SIGKILL
    folder = project.path / ".factorfair"
    assert {path.suffix for path in folder.glob("run-*")} >= {".places", ".sqlite"}
    (project.path / "conftest.py").unlink()
    assert run(project, stub, "-n2").ret == 0
    assert list(folder.glob("run-*")) == []
