"""Faults of servers, stores and functions lose no answer and ask none twice, counted at the server."""

from __future__ import annotations

import json
import shutil
import subprocess
import time

import pytest

from tests import forkserver, postgres
from tests.project import PYTEST, Project
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24


def arguments(stub: StubServer, *extra: str) -> list[str]:
    return [
        "-p", "no:cacheprovider",
        "--factorfair-model=hosted_vllm/m",
        f"--factorfair-model-arg=base_url={stub.base_url}",
        "--factorfair-checklist=small.yaml",
        "--factorfair-samples=24,objective=4",
        *extra,
    ]  # fmt: skip


def start(project: Project, stub: StubServer, *extra: str) -> subprocess.Popen[bytes]:
    command = [forkserver.python(), *PYTEST, *arguments(stub, *extra)]
    return subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, start_new_session=True)


def run(project: Project, stub: StubServer, *extra: str) -> pytest.RunResult:
    return project.run_pytest(*arguments(stub, *extra))


def test_two_runs_at_once_ask_each_key_once(project: Project, stub: StubServer) -> None:
    stub.script(latency=0.05)
    options = ("--factorfair-max-connections=8", "-p", "no:xdist")
    processes = [start(project, stub, *options, f"--factorfair-report={name}") for name in ("one", "two")]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert stub.stats()["requests"] == ANSWERS


def test_too_many_requests(project: Project, stub: StubServer) -> None:
    """The server closes after every 60 calls. Whoever is under way then is told to wait, and nobody else comes."""
    stub.script(latency=0.02, rate=60, window=1.0)
    result = run(project, stub, "-n0", "--factorfair-max-connections=32")
    assert result.ret == 0
    stats = stub.stats()
    assert project.report()["usage"]["calls"] == stats["requests"] == ANSWERS + stats["throttled"]
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
    assert stats["throttled"] >= ANSWERS // 60
    assert stats["most_throttled"] <= 32


def test_broken_connections_cut_bodies_and_stalls(project: Project, stub: StubServer) -> None:
    stub.script(resets=0.05, cuts=0.02, stalls=0.01, stall=1.0, latency=0.01)
    result = run(project, stub, "-n0")
    assert result.ret == 0
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
    assert project.report()["usage"]["calls"] == stub.stats()["requests"]
    assert ANSWERS < stub.stats()["requests"] < 1.25 * ANSWERS


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (404, 1), (403, 20)])
def test_a_rejection_of_every_prompt_ends_the_run(
    project: Project, stub: StubServer, status: int, calls: int
) -> None:
    stub.script(fail=-1, status=status, latency=0.01)
    result = run(project, stub, "-pno:xdist")
    assert result.ret == 2
    assert stub.stats()["requests"] == calls
    result.stdout.fnmatch_lines([f"*; {calls} call*, cost $0.00*", f"*hosted_vllm/m: {status} *"])
    assert project.report()["usage"]["calls"] == calls
    if status == 403:
        result.stdout.fnmatch_lines(["*(20 queries in a row failed alike)*"])


def test_a_rejection_of_one_prompt_is_its_own_error(project: Project, stub: StubServer) -> None:
    """Once, and again in the run that has only these prompts left to ask."""
    stub.script(fail=-1, status=413, match="lowest Tea Rate")
    result = run(project, stub, "-pno:xdist")
    errors = 4 + 4  # two objective cases of four; the subjective cases do not name the rate
    assert stub.stats()["requests"] == ANSWERS
    assert sum(topic["errors"] for topic in project.report()["topics"]) == errors
    assert result.ret == 1
    run(project, stub, "-pno:xdist")
    assert stub.stats()["requests"] == ANSWERS + errors


BLOCKED = json.dumps({"error": {"message": "Content Exists Risk", "code": "invalid_request_error"}})


@pytest.mark.parametrize(("status", "body"), [(400, BLOCKED), (403, "<html>Request blocked</html>")])
def test_a_prompt_that_a_filter_stops_is_answered_for_good(
    project: Project, stub: StubServer, status: int, body: str
) -> None:
    """They are lost answers, stored like the others: the next run asks none of them."""
    stub.script(fail=-1, status=status, body=body, match="lowest Tea Rate")
    result = run(project, stub, "-n0", "--factorfair-gate=refusal_rate <= 0.01")
    assert result.ret == 1
    report = project.report()
    assert stub.stats()["requests"] == report["usage"]["calls"]
    assert project.stored() == ANSWERS
    assert sum(topic["errors"] for topic in report["topics"]) == 0
    assert sum(topic["refused"] for topic in report["topics"]) == 4 + 4
    stub.script(fail=-1, status=500)
    assert run(project, stub, "-n0", "--factorfair-gate=refusal_rate <= 0.01").ret == 1
    assert stub.stats()["requests"] == 0


def test_a_run_that_has_only_rejected_prompts_left_ends_as_the_one_before(
    project: Project, stub: StubServer
) -> None:
    """More of them than reject alike in an endpoint that is dead; one answer shows that it is not."""
    stub.script(fail=-1, status=413, match="descent")
    options, rejected = ("-n0", "--factorfair-samples=48,objective=4"), 8 * 48
    assert run(project, stub, *options).ret == 1
    stub.script(fail=-1, status=413, match="descent")
    assert run(project, stub, *options).ret == 1
    assert len(project.report()["cases"]) == 6 + 8
    assert stub.stats()["requests"] == project.report()["usage"]["calls"] == rejected + rejected // 200


def test_a_wait_longer_than_anybody_waits_ends_the_run(project: Project, stub: StubServer) -> None:
    stub.script(fail=-1, status=429, headers={"Retry-After": "86400"})
    result = run(project, stub, "-n0", "--factorfair-max-connections=4")
    assert result.ret == 2
    assert stub.stats()["requests"] <= 4
    result.stdout.fnmatch_lines(["*429 Too Many Requests*told to wait 86400 s*"])


def test_a_server_that_is_down_is_called_a_few_times(project: Project, stub: StubServer) -> None:
    """It drops every connection."""
    stub.script(resets=1.0)
    result = run(project, stub, "-pno:xdist", "--factorfair-max-connections=32", "FACTORFAIR_RETRIES=2")
    assert result.ret == 2
    assert stub.stats()["requests"] == 1 + 3  # the first call, and as many probes as a query has attempts
    result.stdout.fnmatch_lines(
        [
            "*the connection failed: * (* queries in a row failed, in * calls)*",
            "Next: check that the server is running and that base_url is correct, then run it again *",
        ]
    )
    assert result.stdout.str().count("the connection failed") <= 6


@pytest.mark.parametrize("workers", [1, 2])
def test_too_many_requests_for_ever(project: Project, stub: StubServer, workers: int) -> None:
    """One call at a time asks whether it is over, less and less often."""
    stub.script(fail=-1, status=429)
    result = run(project, stub, *(("-n2",) if workers > 1 else ("-pno:xdist",)), "FACTORFAIR_PATIENCE=4")
    assert result.ret == 2
    stats = stub.stats()
    assert stats["most_in_flight"] <= workers
    assert workers <= stats["requests"] <= 20
    result.stdout.fnmatch_lines(
        ["*429 Too Many Requests: scripted 429 (* queries in a row failed, in * calls)*"]
    )


def test_an_outage_costs_no_answers(project: Project, stub: StubServer) -> None:
    stub.script(healthy=50, fail=72, status=503, latency=0.01)
    result = run(project, stub, "-pno:xdist", "--factorfair-max-connections=16")
    assert result.ret == 0
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
    assert stub.stats()["requests"] == ANSWERS + 22


RAISING = """
def respond(prompt):
    with open("calls", "a") as file:
        file.write("x")
    raise ValueError("no such column")
"""


def test_a_function_that_always_raises_is_called_a_few_times(project: Project) -> None:
    project.write("house.py", RAISING)
    result = project.run("-pno:xdist", "--factorfair-max-connections=8", model="python:house.py:respond")
    assert result.ret == 2
    assert 20 <= len((project.path / "calls").read_text()) <= 20 + 8
    result.stdout.fnmatch_lines(
        [
            "*ValueError: no such column (* queries in a row failed alike, last at house.py:5 in respond)*",
            "Next: fix the function, then run it again to continue: *",
        ]
    )


def test_replies_on_their_way_are_kept_when_a_fatal_error_ends_the_run(
    project: Project, stub: StubServer
) -> None:
    """Seven calls are still being answered as another one finds out that the key is revoked."""
    stub.script(healthy=8, fail=9, status=401, latency=0.5, latency_of_failures=0.0)
    result = run(project, stub, "-pno:xdist", "--factorfair-max-connections=8")
    assert result.ret == 2
    assert stub.stats()["requests"] == project.report()["usage"]["calls"] == 9
    assert project.stored() == 8


def test_store_removed_in_mid_run_ends_the_run_and_nothing_is_lost(
    project: Project, stub: StubServer
) -> None:
    stub.script(latency=0.05, held=40)
    process = start(project, stub, "-n2", "--factorfair-max-connections=4")
    while stub.stats()["requests"] < 40:
        time.sleep(0.01)
        assert process.poll() is None
    (project.path / ".factorfair").rename(project.path / "gone")  # at once: the run makes it again
    shutil.rmtree(project.path / "gone")
    stub.release()
    output = process.communicate()[0].decode()
    assert process.returncode == 2
    message = (
        "responses.sqlite: removed during the run; the responses are written again, and the next run goes on"
    )
    assert message in output
    assert "Traceback" not in output
    asked = stub.stats()["requests"]
    stored = project.stored()
    assert asked - 2 * 4 <= stored <= asked < ANSWERS  # each worker had at most 4 calls under way
    assert run(project, stub, "-p", "no:xdist").ret == 0
    assert stub.stats()["requests"] == asked + ANSWERS - stored


def test_postgresql_restarts_in_mid_run(project: Project, stub: StubServer) -> None:
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    stub.script(latency=0.1)
    with postgres.server() as folder:
        url = f"--factorfair-store=postgresql+psycopg://ff@/postgres?host={folder}"
        process = start(project, stub, "-p", "no:xdist", "--factorfair-max-connections=4", url)
        for asked in (40, 100):
            while stub.stats()["requests"] < asked:
                time.sleep(0.01)
            postgres.control(folder, "restart", "-m", "fast")
        process.communicate()
        assert process.returncode == 0
        assert ANSWERS <= stub.stats()["requests"] <= ANSWERS + 4
        assert all(topic["errors"] == 0 for topic in project.report()["topics"])


FULL = """
import resource
import sys

sys.dont_write_bytecode = True  # what is imported under the limit would be cached cut off

def pytest_collection_finish():
    resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

def pytest_sessionfinish():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_a_full_disk_ends_the_run_and_what_was_kept_is_kept(project: Project, stub: StubServer) -> None:
    """No file may grow beyond 120 kB, as on a full disk."""
    stub.script(latency=0.01)
    project.write("conftest.py", FULL)
    options = ("-p", "no:xdist", "--factorfair-max-connections=4", "FACTORFAIR_PATIENCE=1")
    # The limit is its process's.
    result = project.run_process(forkserver.python(), *arguments(stub, *options))
    assert result.ret == 2
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    # the account of the run is a file as well, and either may be the first that is full
    result.stdout.fnmatch_lines(["Not judged: *.sqlite: the * cannot be *: *: * of 14 cases are missing."])
    stored = project.stored()
    rescued = [path.read_text() for path in (project.path / ".factorfair").glob("rescued-*.jsonl")]
    asked = stub.stats()["requests"]
    assert stored + sum(text.count("\n") for text in rescued) == asked < ANSWERS
    assert project.report()["usage"]["calls"] == asked
    (project.path / "conftest.py").unlink()
    assert run(project, stub, "-p", "no:xdist").ret == 0
    assert stub.stats()["requests"] == ANSWERS
