"""Helpers of the tests: forks that end with their programs, and finished runs that never hide a failure."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests import forkserver
from tests.finished import Finished
from tests.project import DATA

NONSENSE = (
    "--factorfair-model=sim:uniform?nonsense=0.9", f"--factorfair-checklist={DATA / 'small.yaml'}",
    "--factorfair-samples=4,objective=4",
)  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="forks cannot be watched here")
def test_killing_a_program_kills_its_fork() -> None:
    wait = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    command = [forkserver.python(), "-c", wait]
    for _ in range(2):  # the server survives it
        with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
            assert program.stdout is not None
            fork = os.pidfd_open(int(program.stdout.readline()))
            assert select.select([fork], [], [], 0) == ([], [], [])
            program.kill()
            assert select.select([fork], [], [], 30) == ([fork], [], [])
        os.close(fork)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="forks cannot be watched here")
def test_a_signal_to_a_programs_group_reaches_its_fork_and_its_children() -> None:
    wait = "import os, time; os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"
    command = [forkserver.python(), "-c", wait]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout is not None
        pids = sorted(int(program.stdout.readline()) for _ in range(2))
        assert sorted(forkserver.family(program.pid)) == pids
        forks = [os.pidfd_open(pid) for pid in pids]
        os.killpg(program.pid, signal.SIGTERM)
        for fork in forks:
            assert select.select([fork], [], [], 30) == ([fork], [], [])
            os.close(fork)
        assert program.wait() == -signal.SIGTERM


def test_the_killed_fork_ends_its_program() -> None:
    wait = "import time; print(flush=True); time.sleep(60)"
    with subprocess.Popen([forkserver.python(), "-c", wait], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        forkserver.kill(program)  # which asserts how the program ends


def test_a_fork_has_the_parent_and_the_path_of_its_program(tmp_path: Path) -> None:
    (tmp_path / "added.py").write_text("")
    command = [forkserver.python(), "-c", "import added, os; print(os.getppid())"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    assert int(subprocess.check_output(command, env=environment)) == os.getpid()


def test_distributions_are_those_that_python_finds() -> None:
    def found(names: dict[str, Any]) -> list[tuple[str, str]]:
        cached, real = forkserver.distributions(**names), metadata.distributions(**names)
        cached_names, real_names = (
            [(distribution.name, distribution.version) for distribution in distributions]
            for distributions in (cached, real)
        )
        assert cached_names == real_names
        return cached_names

    assert len(found({})) > 1
    assert found({"name": "pytest"}) == [("pytest", pytest.__version__)]


def test_a_failed_finished_run_fails_every_test_that_reads_it(finished: Finished) -> None:
    """With the output of the one attempt: its duration is the same."""
    messages = []
    for _ in range(2):
        with pytest.raises(AssertionError, match="exit code 1\n") as caught:
            finished(*NONSENSE)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "FAILED factorfair::" in messages[0]
