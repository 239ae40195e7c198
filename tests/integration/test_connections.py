"""The workers of a run divide its connections, counted at the server."""

from __future__ import annotations

import re
import signal
import sqlite3
from contextlib import closing

import pytest

from pytest_factorfair.runs.submissions import SPARE_FILES
from tests.project import GATHERING, Project
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, *arguments, model="hosted_vllm/m")


def test_workers_divide_the_connections_evenly(project: Project, stub: StubServer) -> None:
    project.write("conftest.py", GATHERING % 3)
    stub.script(latency=0.03)
    assert run(project, stub, "-n2", "--factorfair-max-connections=7").ret == 0
    assert stub.stats()["most_in_flight"] <= 2 * 3
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


def test_the_next_run_deletes_what_a_killed_run_left(project: Project, stub: StubServer) -> None:
    project.write(
        "conftest.py",
        f"import os\ndef pytest_runtestloop():\n    os.kill(os.getpid(), {int(signal.SIGKILL)})\n",
    )
    options = (f"--factorfair-model-arg=base_url={stub.base_url}", "--factorfair-run=killed")
    assert project.run_apart(*options, "-n0", model="hosted_vllm/m").ret == -signal.SIGKILL
    assert project.rows_of_runs() > 0
    (project.path / "conftest.py").unlink()
    assert run(project, stub, "-p", "no:xdist", "--factorfair-run=next").ret == 0
    assert project.rows_of_runs() == 0


FILES = """
import resource

def soft():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

resource.setrlimit(resource.RLIMIT_NOFILE, (160, %s))

def pytest_runtest_setup():
    print("during", soft())

def pytest_unconfigure():
    print("after", soft())
"""
HARD = "resource.getrlimit(resource.RLIMIT_NOFILE)[1]"


@pytest.mark.parametrize("dist", [("-p", "no:xdist"), ("-n2",)], ids=["alone", "n2"])
def test_no_more_connections_than_the_system_lets_files_be_open(
    project: Project, stub: StubServer, dist: tuple[str, ...]
) -> None:
    """Without a file of the store that could no longer be opened, every paid reply is stored."""
    stub.script(latency=0.1)
    project.write("conftest.py", FILES % 160)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    result = project.run_apart(url, *dist, "--factorfair-max-connections=5000", model="hosted_vllm/m")
    assert result.ret == 0
    assert stub.stats()["requests"] == project.report()["usage"]["calls"] == ANSWERS
    with closing(sqlite3.connect(project.path / ".factorfair" / "responses.sqlite")) as store:
        assert store.execute("select count(*) from responses").fetchone() == (ANSWERS,)
    match = re.search(
        r"note: 5,000 connections would need more than the 160 files that a process may open: (about )?(\d+) are "
        r"used; ulimit -n (\d+) allows all",
        result.stdout.str(),
    )
    assert match is not None
    used, processes = int(match[2]), 2 if dist == ("-n2",) else 1
    assert 0 < used <= (160 - SPARE_FILES) * processes
    if dist == ("-n2",):  # the number is the controller's: either worker may have fewer files open
        assert match[1]
        used = (160 - SPARE_FILES) * processes
    assert stub.stats()["most_in_flight"] <= used
    assert int(match[3]) > 5000 // processes


def test_the_limit_on_open_files_is_raised_for_the_run_and_given_back(
    project: Project, stub: StubServer
) -> None:
    project.write("conftest.py", FILES % HARD)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    options = (url, "-p", "no:xdist", "-s", "--factorfair-max-connections=300")
    result = project.run_apart(*options, model="hosted_vllm/m")
    assert result.ret == 0
    assert "files that a process may open" not in result.stdout.str()
    limits = [int(line.split()[-1]) for line in result.outlines if line.lstrip(".").startswith("during ")]
    assert limits
    assert all(300 < limit < 700 for limit in limits)
    assert "after 160" in result.outlines
