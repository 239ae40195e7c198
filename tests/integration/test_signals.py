"""Signals stop a run, and a 429 to one worker pauses all of them, counted at the server."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tests import forkserver
from tests.project import GATHERING, Project, program, split
from tests.servers import StubServer

CONNECTIONS = 4
SUBJECTIVE = 4 * 2 * 24
ANSWERS = 6 * 4 + SUBJECTIVE
TOLD = 3 * CONNECTIONS

RUN = """
import fcntl, os, signal, sys, termios, pytest
# A job in the background of a shell inherits SIGINT as ignored, one under nohup SIGHUP.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if os.isatty(0):
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
%s
sys.exit(pytest.main(sys.argv[1:]))
"""


def start(
    project: Project, stub: StubServer, *options: str, python: str = "", before: str = "", **files: Any
) -> subprocess.Popen[str]:
    """A run in a process group of its own, after a line of Python."""
    arguments = (
        *project.arguments("hosted_vllm/m"),
        f"--factorfair-model-arg=base_url={stub.base_url}",
        "--factorfair-model-arg=price_in=1",
        "--factorfair-model-arg=price_out=1",
        f"--factorfair-max-connections={CONNECTIONS}",
        *options,
    )
    variables, arguments = split(arguments)
    command = [python or forkserver.python(), "-c", RUN % before, *arguments]
    files["env"] = os.environ | variables
    return subprocess.Popen(command, cwd=project.path, text=True, start_new_session=True, **files)


def await_requests(stub: StubServer, process: subprocess.Popen[str]) -> None:
    while stub.stats()["requests"] < TOLD:
        time.sleep(0.01)
        assert process.poll() is None


def check_kept(project: Project, stub: StubServer) -> None:
    """Every call that the server received is in the store, in the report and on its bill."""
    received = stub.stats()["requests"]
    usage = project.report()["usage"]
    assert project.stored() == usage["calls"] == received < ANSWERS
    assert (usage["tokens_in"], usage["tokens_out"]) == (10 * received, 2 * received)
    assert usage["cost"] == pytest.approx(12e-6 * received)
    assert project.rows_of_runs() == 0


def test_workers_ask_no_more_after_a_signal(project: Project, stub: StubServer) -> None:
    """Calls are under way as the controller ends the run, and are answered while it waits for them."""
    project.write("conftest.py", GATHERING % (CONNECTIONS // 2))
    stub.script(held=TOLD)
    process = start(project, stub, "-n2", "-k", "subjective", stdout=subprocess.DEVNULL)
    while stub.stats()["requests"] < TOLD + CONNECTIONS:
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    while process.poll() is None and not project.count("process_accounts WHERE ended IS NOT NULL"):
        time.sleep(0.01)
    stub.script()
    assert process.wait() == pytest.ExitCode.INTERRUPTED
    assert stub.stats()["requests"] == 0


SLOW = {"latency": 0.4, "reply": {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}}


@pytest.mark.parametrize(
    ("dist", "number", "to_all"),
    [("-n0", signal.SIGTERM, False), ("-n2", signal.SIGTERM, True), ("-n2", signal.SIGHUP, False)],
)
def test_a_cancelled_run_keeps_replies_in_flight_and_reports(
    project: Project, stub: StubServer, dist: str, number: int, *, to_all: bool
) -> None:
    """A scheduler signals one process, or all of them at once."""
    stub.script(**SLOW)
    process = start(project, stub, dist, stdout=subprocess.PIPE)
    await_requests(stub, process)
    (os.killpg if to_all else os.kill)(process.pid, number)
    output, _ = process.communicate()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    name = signal.Signals(number).name
    assert "missing." in next(
        line for line in output.splitlines() if f"Not judged: ended by {name}: " in line
    )
    assert "Traceback" not in output
    assert project.report()["incomplete"].startswith(f"ended by {name}: ")
    check_kept(project, stub)


def test_a_closed_terminal_ends_the_run_with_its_reports(project: Project, stub: StubServer) -> None:
    """Nothing can be written to it any more."""
    stub.script(**SLOW)
    terminal, its_end = pty.openpty()
    # A terminal controls no fork of the server: the controller is a new interpreter, and its workers are forks.
    forks = f"sys.executable = {forkserver.python()!r}"
    process = start(
        project,
        stub,
        "-n2",
        python=sys.executable,
        before=forks,
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
    )
    os.close(its_end)
    await_requests(stub, process)
    os.close(terminal)
    assert process.wait() != 0
    check_kept(project, stub)


def test_cancelled_while_it_warms_up_it_reports_too(project: Project, stub: StubServer) -> None:
    stub.script(**SLOW)
    process = start(project, stub, "-n0", "FACTORFAIR_WARM=true", stdout=subprocess.DEVNULL)
    await_requests(stub, process)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == pytest.ExitCode.INTERRUPTED
    check_kept(project, stub)


@pytest.fixture
def host(project: Project) -> Project:
    """A project that handles SIGTERM itself, and notes whether its handler is given back."""
    project.write("conftest.py", program("host_with_handler"))
    return project


def test_nohup_is_respected(host: Project, stub: StubServer) -> None:
    stub.script(held=TOLD)
    ignoring = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    process = start(host, stub, "-n0", "-k", "objective", before=ignoring, stdout=subprocess.DEVNULL)
    await_requests(stub, process)
    os.kill(process.pid, signal.SIGHUP)
    stub.release()
    assert process.wait() == 0
    assert host.report()["usage"]["calls"] == stub.stats()["requests"] == 6 * 4
    assert not (host.path / "host.txt").exists()
    assert (host.path / "after.txt").read_text() == "given back"


def test_the_hosts_handler_is_called_and_given_back(host: Project, stub: StubServer) -> None:
    stub.script(**SLOW)
    process = start(host, stub, "-n0", stdout=subprocess.DEVNULL)
    await_requests(stub, process)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == pytest.ExitCode.INTERRUPTED
    assert (host.path / "host.txt").exists()
    assert (host.path / "after.txt").read_text() == "given back"


WITHOUT_PYTEST = program("run_without_pytest")


def test_a_run_without_pytest_is_cancelled_alike(project: Project, stub: StubServer) -> None:
    stub.script(**SLOW)
    command = [forkserver.python(), "-c", WITHOUT_PYTEST, stub.base_url]
    process = subprocess.Popen([*command, "main"], cwd=project.path, stdout=subprocess.PIPE, text=True)
    await_requests(stub, process)
    os.kill(process.pid, signal.SIGTERM)
    output, _ = process.communicate()
    assert (process.returncode, output) == (0, "ended by SIGTERM True\n")
    check_kept(project, stub)


def test_a_run_in_another_thread_leaves_signals_alone(project: Project, stub: StubServer) -> None:
    stub.script(**SLOW)
    command = [forkserver.python(), "-c", WITHOUT_PYTEST, stub.base_url, "thread"]
    process = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL, text=True)
    await_requests(stub, process)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM


def test_a_pause_asked_of_one_worker_holds_for_all(project: Project, stub: StubServer) -> None:
    """Calls are under way as it becomes known; once they are answered, nobody asks until it is over."""
    pause = 2
    stub.script(healthy=TOLD, fail=TOLD + 1, status=429, headers={"Retry-After": str(pause)}, held=TOLD)
    process = start(project, stub, "-n2", "-k", "subjective", stdout=subprocess.DEVNULL)
    while stub.stats()["requests"] <= TOLD or not project.count("endpoints WHERE closed_until > 0"):
        time.sleep(0.01)
    before = stub.script()["arrived"]
    assert process.wait() == 0
    after = stub.stats()["arrived"]
    opens = before[TOLD] + pause  # the server's clock is the machine's, as the callers' is
    assert len(before) + sum(moment < opens for moment in after) <= TOLD + CONNECTIONS
    assert project.report()["usage"]["calls"] == len(before) + len(after) == SUBJECTIVE + 1
    assert all(topic["errors"] == 0 for topic in project.report()["topics"])
