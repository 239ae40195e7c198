"""Connections are the run's: its workers divide them, counted at the server."""

from __future__ import annotations

import signal

import pytest

from tests.project import Project
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, *arguments, model="hosted_vllm/m")


def test_workers_divide_the_connections_evenly(project: Project, stub: StubServer) -> None:
    stub.script(latency=0.03)
    assert run(project, stub, "-n2", "--factorfair-max-connections=7").ret == 0
    assert stub.stats()["most_in_flight"] == 2 * 3
    assert stub.stats()["requests"] == ANSWERS


def test_fewer_connections_than_workers(project: Project, stub: StubServer) -> None:
    result = run(project, stub, "-n4", "--factorfair-max-connections=3")
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line == (
        "ERROR: --factorfair-max-connections=3: each of 4 workers needs a connection of its own; "
        "allow more connections or start fewer workers"
    )
    assert stub.stats()["requests"] == 0


@pytest.mark.parametrize(("limit", "value"), [("max-calls", 100), ("max-minutes", 5)])
def test_a_worker_on_another_host_keeps_no_limit_through_a_file(
    project: Project, stub: StubServer, limit: str, value: int
) -> None:
    option = f"--factorfair-{limit}={value}"
    result = run(project, stub, "--dist=load", "--tx=ssh=nowhere.invalid", option)
    assert result.ret == 4
    (line,) = [line for line in result.errlines if line]
    assert line == (
        f"ERROR: --factorfair-{limit}: workers on other hosts cannot share it through a file; name a "
        "PostgreSQL store with --factorfair-store, or leave the limit out"
    )
    assert stub.stats()["requests"] == 0


def test_the_next_run_sweeps_up_after_a_killed_one(project: Project, stub: StubServer) -> None:
    project.write(
        "conftest.py",
        f"import os\ndef pytest_runtestloop():\n    os.kill(os.getpid(), {int(signal.SIGKILL)})\n",
    )
    options = (f"--factorfair-model-arg=base_url={stub.base_url}", "--factorfair-max-calls=100")
    assert project.run_apart(*options, "-n0", model="hosted_vllm/m").ret == -signal.SIGKILL
    assert project.rows_of_runs() > 0
    (project.path / "conftest.py").unlink()
    assert run(project, stub, "-n2").ret == 0
    assert project.rows_of_runs() == 0
