"""A user's function that hangs: the run keeps its time, is judged and reported, and the process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from tests import forkserver
from tests.project import INTERRUPTIBLE, Project

ANSWERED = 30
"""Calls before the function hangs."""

MINUTES = 30
"""The limit of a run, for which the clock of its limits goes forward an hour once the function hangs."""

FUNCTIONS = f"""
import itertools, threading
from pathlib import Path
from pytest_factorfair.engine.limits import LocalLimits
from pytest_factorfair.store.sharing.limits import SharedLimits

for limits in (LocalLimits, SharedLimits):
    def clock(self, clock=limits.clock):
        return clock(self) + 3600 * Path("hangs").exists()
    limits.clock = clock

count = itertools.count(1)

def in_a_thread(prompt):
    if next(count) > {ANSWERED}:
        Path("hangs").touch()
        threading.Event().wait()
    return '{{"answer": "A"}}'

async def in_the_loop(prompt):
    if next(count) > {ANSWERED}:
        Path("hangs").touch()
        threading.Event().wait()
    return '{{"answer": "A"}}'
"""
GATE = "--factorfair-gate=s_fact[objective] >= 0.01"


def start(project: Project, function: str, *options: str) -> subprocess.Popen[str]:
    project.write("functions.py", FUNCTIONS)
    arguments = (*project.arguments(f"python:functions.py:{function}"), GATE, *options)
    command = [forkserver.python(), "-c", INTERRUPTIBLE, *arguments]
    environment = os.environ | {"FACTORFAIR_ESTIMATOR": "plugin"}
    return subprocess.Popen(
        command, cwd=project.path, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.parametrize(("function", "dist"), [("in_a_thread", "-n2"), ("in_the_loop", "-n0")])
def test_max_minutes_is_kept(project: Project, function: str, dist: str) -> None:
    """A thread that hangs in the process itself: ``test_a_run_without_pytest_ends_too``."""
    process = start(project, function, dist, f"--factorfair-max-minutes={MINUTES}")
    output, _ = process.communicate(timeout=300)
    assert (project.path / "hangs").exists()
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert f"the budget of {MINUTES} minutes is used up" in output
    assert "Traceback" not in output
    report = project.report()
    assert report["incomplete"].startswith(f"the budget of {MINUTES} minutes is used up: ")
    assert set(project.verdicts().values()) == {"not judged"}
    assert report["usage"]["calls"] > ANSWERED


@pytest.mark.parametrize(("function", "dist"), [("in_a_thread", "-n0"), ("in_the_loop", "-n0")])
def test_ctrl_c_ends_the_process(project: Project, function: str, dist: str) -> None:
    """The first waits for a moment for calls in flight, the second for nothing."""
    process = start(project, function, dist)
    while not (project.path / "hangs").exists():
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "the run was interrupted: " in output
    assert project.report()["usage"]["calls"] > ANSWERED


WITHOUT_PYTEST = f"""
from pytest_factorfair import run
from pytest_factorfair.errors import BudgetError
from functions import in_a_thread

try:
    run({{"mine": in_a_thread}}, checklist="small.yaml", samples="24,objective=4", max_minutes={MINUTES})
except BudgetError as error:
    print(error)
"""


def test_a_run_without_pytest_ends_too(project: Project) -> None:
    project.write("functions.py", FUNCTIONS)
    command = [forkserver.python(), "-c", WITHOUT_PYTEST]
    ended = subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=True, timeout=300)
    assert ended.stdout == f"the budget of {MINUTES} minutes is used up\n"
    assert project.report()["usage"]["calls"] > ANSWERED
