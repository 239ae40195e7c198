"""Whatever goes wrong, nothing that was had is lost and nothing is asked twice; counted at the server."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.project import Project
from tests.servers import StubServer, stub, stub_process

__all__ = ["stub", "stub_process"]  # fixtures

ANSWERS = 6 * 4 + 4 * 2 * 24
CONNECTIONS = 8
KILLS = int(os.environ.get("KILLS", "20"))


def arguments(stub: StubServer, *more: str) -> list[str]:
    return [
        "-p", "no:cacheprovider",
        "--factorfair-model=hosted_vllm/m",
        f"--factorfair-model-arg=base_url={stub.base_url}",
        "--factorfair-checklist=small.yaml",
        "--factorfair-samples=24,objective=4",
        *more,
    ]  # fmt: skip


def start(project: Project, stub: StubServer, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", *arguments(stub, *more)]
    return subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, start_new_session=True)


def run(project: Project, stub: StubServer, *more: str) -> pytest.RunResult:
    return project.pytester.runpytest_subprocess(*arguments(stub, *more))


def stored(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        return int(store.execute("select count(*) from responses where reusable").fetchone()[0])


def test_killed_at_any_moment_the_next_run_asks_only_what_is_missing(
    project: Project, stub: StubServer
) -> None:
    """The process is killed at random points of its work, and started anew on what it left."""
    stub.script(latency=0.1)
    samples = f"--factorfair-samples={24 * max(1, KILLS // 20)},objective=4"
    options = ("-p", "no:xdist", samples, f"--factorfair-max-connections={CONNECTIONS}")
    draw = random.Random(4)  # noqa: S311  # nothing secret
    had = again = 0
    for _ in range(KILLS):
        before = stub.stats()["requests"]
        process = start(project, stub, *options)
        target = before + draw.randrange(0, 8)
        while stub.stats()["requests"] < target:
            time.sleep(0.005)
        time.sleep(draw.random() * 0.1)
        process.kill()
        process.communicate()
        time.sleep(0.15)  # the server finishes what it had begun
        now = stored(project.path / ".factorfair" / "responses.sqlite")
        asked = stub.stats()["requests"] - before
        assert 0 <= asked - (now - had) <= CONNECTIONS + 100  # what was committed stayed
        again += asked - (now - had)
        had = now
    before = stub.stats()["requests"]
    assert run(project, stub, *options).ret == 0
    planned = sum(len(case["answers"]) for case in project.report()["cases"])
    assert stub.stats()["requests"] - before == planned - had
    assert stub.stats()["requests"] == planned + again


@pytest.mark.parametrize("victim", ["worker", "controller"])
def test_a_killed_worker_or_controller(project: Project, stub: StubServer, victim: str) -> None:
    stub.script(latency=0.1)
    process = start(project, stub, "-n2", "--factorfair-max-connections=4")
    while stub.stats()["requests"] < 40 and process.poll() is None:
        time.sleep(0.01)
    if victim == "worker":
        os.kill(_children(process.pid)[0], signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
    time.sleep(1)  # orphaned workers notice that they are alone
    assert run(project, stub, "-n0").ret == 0
    assert ANSWERS <= stub.stats()["requests"] <= ANSWERS + 8


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_machine_dies(project: Project, stub: StubServer) -> None:
    """Its files, copied at a moment, are what is left: the database and its log."""
    stub.script(latency=0.05)
    process = start(project, stub, "-n0", "--factorfair-max-connections=4")
    while stub.stats()["requests"] < 100:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGSTOP)
    folder = project.path / ".factorfair"
    left = {path.name: path.read_bytes() for path in folder.glob("responses.sqlite*")}
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    for path in folder.glob("*.sqlite*"):
        path.unlink()
    for name, content in left.items():
        if not name.endswith("-shm"):
            (folder / name).write_bytes(content)
    had = stored(folder / "responses.sqlite")
    assert had >= 80
    before = stub.stats()["requests"]
    assert run(project, stub, "-n0").ret == 0
    assert stub.stats()["requests"] - before == ANSWERS - had


def test_two_runs_at_once_ask_each_key_once(project: Project, stub: StubServer) -> None:
    stub.script(latency=0.05)
    options = ("--factorfair-max-connections=8", "-p", "no:xdist")
    processes = [start(project, stub, *options, f"--factorfair-report={name}") for name in ("one", "two")]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert stub.stats()["requests"] == ANSWERS


def test_overlapping_workers_ask_each_key_once(project: Project, stub: StubServer) -> None:
    stub.script(latency=0.05)
    assert run(project, stub, "-n2", "--dist=each").ret == 0
    assert stub.stats()["requests"] == ANSWERS


def test_too_many_requests(project: Project, stub: StubServer) -> None:
    """60 calls a second are let in: the run takes as long as that takes, and heeds what it is told."""
    stub.script(latency=0.02, rate=60, window=1.0)
    result = run(project, stub, "-n0", "--factorfair-max-connections=32")
    assert result.ret == 0
    stats = stub.stats()
    assert project.report()["usage"]["calls"] == stats["requests"] == ANSWERS + stats["throttled"]
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
    assert stats["throttled"] > 0
    assert stats["early"] == 0
    span = stats["arrived"][-1] - stats["arrived"][0]
    assert span <= 1.3 * ANSWERS / 60


def test_broken_connections_cut_bodies_and_stalls(project: Project, stub: StubServer) -> None:
    stub.script(resets=0.05, cuts=0.02, stalls=0.01, stall=1.0, latency=0.01)
    result = run(project, stub, "-n0")
    assert result.ret == 0
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
    assert project.report()["usage"]["calls"] == stub.stats()["requests"]
    assert ANSWERS < stub.stats()["requests"] < 1.25 * ANSWERS


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_cannot_get_better_is_not_tried_again(project: Project, stub: StubServer, status: int) -> None:
    stub.script(fail=-1, status=status)
    result = run(project, stub, "-n0", "--factorfair-max-connections=1", "-k", "objective-tea_rate-gender")
    assert result.ret != 0
    assert stub.stats()["requests"] == (8 if status == 400 else 1)


def test_a_wait_longer_than_anybody_waits_ends_the_run(project: Project, stub: StubServer) -> None:
    stub.script(fail=-1, status=429, headers={"Retry-After": "86400"})
    result = run(project, stub, "-n0", "--factorfair-max-connections=4")
    assert result.ret == 2
    assert stub.stats()["requests"] <= 4
    result.stdout.fnmatch_lines(["*429 Too Many Requests*told to wait 86400 s*"])


FULL = """
import resource

def pytest_collection_finish():
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))

def pytest_sessionfinish():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_a_full_disk_ends_the_run_and_what_was_kept_is_kept(project: Project, stub: StubServer) -> None:
    """No file may grow beyond 60 kB, as on a full disk."""
    stub.script(latency=0.01)
    project.write("conftest.py", FULL)
    result = run(project, stub, "-p", "no:xdist", "--factorfair-max-connections=4")
    assert result.ret == 2
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(["*responses.sqlite: the response store cannot be written: *"])
    had = stored(project.path / ".factorfair" / "responses.sqlite")
    asked = stub.stats()["requests"]
    assert asked - 20 <= had <= asked < ANSWERS
    (project.path / "conftest.py").unlink()
    assert run(project, stub, "-p", "no:xdist").ret == 0
    assert stub.stats()["requests"] == asked + ANSWERS - had
