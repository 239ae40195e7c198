"""The line below pytest's: drawn on a terminal, gone at the end; quiet elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator

import pyte
import pytest

from pytest_factorfair import progress
from tests.project import Project

ROWS, COLUMNS = 60, 100
SLOW = """
import time

def respond(prompt):
    time.sleep(0.02)
    return '{"answer": "A"}'
"""


def on_a_terminal(project: Project, *arguments: str) -> Iterator[bytes]:
    """Run pytest on a pseudo-terminal and yield what it writes."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--factorfair-model=python:house:respond",
        "--factorfair-checklist=small.yaml", "--factorfair-samples=24,objective=4", "--factorfair-max-connections=4",
        *arguments,
    ]  # fmt: skip
    environment = os.environ | {"TERM": "xterm", "COLUMNS": str(COLUMNS)}
    with subprocess.Popen(
        command, cwd=project.path, stdin=slave, stdout=slave, stderr=slave, env=environment
    ) as process:
        os.close(slave)
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            yield chunk
    os.close(master)
    assert process.returncode == 0


@pytest.mark.parametrize(
    "arguments", [("-p", "no:xdist"), ("-p", "no:xdist", "-v"), ("-n2",)], ids=["plain", "v", "n2"]
)
def test_the_line_is_seen_during_the_run_and_gone_after_it(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.write("house.py", SLOW)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=1000)
    stream = pyte.ByteStream(screen)
    seen = set()
    for chunk in on_a_terminal(project, *arguments):
        stream.feed(chunk)
        seen |= {line.strip() for line in screen.display if " of 216 answers · " in line}
    assert seen
    assert all(line.startswith("factorfair: ") for line in seen)
    left = "\n".join(screen.display) + "".join(
        "".join(character.data for character in line.values()) for line in screen.history.top
    )
    assert " of 216 answers · " not in left
    assert "14 passed" in left


def test_elsewhere_nothing_is_printed_before_30_seconds(project: Project) -> None:
    result = project.run("-p", "no:xdist")
    assert " answers · " not in result.stdout.str()


def test_a_plain_line_every_30_seconds(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    now = [1000.0]
    monkeypatch.setenv("TERM", "dumb")  # wherever this test itself is run
    monkeypatch.setattr("pytest_factorfair.progress.time.monotonic", lambda: now[0])
    screen = progress.Screen(pytestconfig)
    due = []
    for second in (1, 29, 30, 31, 59, 60):
        now[0] = 1000.0 + second
        due.append(screen.due)
        if screen.due:
            screen._last = now[0]  # noqa: SLF001  # as drawing would, without writing to this very run's terminal
    assert due == [False, False, True, False, False, True]


@pytest.mark.parametrize(("seconds", "told"), [(0.4, "0:00"), (61, "1:01"), (3_725, "1:02:05")])
def test_time_left(seconds: float, told: str) -> None:
    assert progress._clock(seconds) == told  # noqa: SLF001  # the one place where it is written
