"""The line below pytest's: drawn on a terminal, gone at the end; quiet elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator
from typing import Any

import pyte
import pytest

from pytest_factorfair.engine import EndpointState
from pytest_factorfair.plugin.progress import Screen
from pytest_factorfair.runs.progress import Progress
from tests import forkserver
from tests.project import PYTEST, Project

ROWS, COLUMNS = 24, 80
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
        forkserver.python(), *PYTEST, "-p", "no:cacheprovider", "--factorfair-model=python:house:respond",
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


@pytest.mark.parametrize("arguments", [("-p", "no:xdist", "-v"), ("-n2",)], ids=["v", "n2"])
def test_the_line_is_seen_during_the_run_and_gone_after_it(
    project: Project, arguments: tuple[str, ...]
) -> None:
    """Below the lines of a verbose run, and below the dots of workers' items."""
    project.write("house.py", SLOW)
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=1000)
    stream = pyte.ByteStream(screen)
    seen = set()
    for chunk in on_a_terminal(project, *arguments):
        for piece in re.split(rb"(?=\x1b)", chunk):  # a late reader has a line and its end in one chunk
            stream.feed(piece)
            seen |= {line.strip() for line in screen.display if " of 216 answers" in line}
    assert seen
    begin = r"factorfair: (cost unknown|\$0\.00)( · [0-9:]+ left)? · [0-9]+ of 216 answers"
    assert all(re.match(begin, line) for line in seen)
    assert any(" left · " in line for line in seen)
    text = "\n".join(screen.display) + "".join(
        "".join(character.data for character in line.values()) for line in screen.history.top
    )
    assert " of 216 answers" not in text
    assert "14 passed" in text


def test_elsewhere_there_is_a_plain_line_every_half_minute_and_later_every_five(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [1000.0]
    monkeypatch.setenv("TERM", "dumb")  # wherever this test itself is run
    monkeypatch.setattr("pytest_factorfair.plugin.progress.time.monotonic", lambda: clock[0])
    screen = Screen(pytester.parseconfigure())
    for second in (1, 29, 30, 31, 59, 60, 3600, 3780, 3789, 3790, 36_000, 36_299, 36_300):
        clock[0] = 1000.0 + second
        if screen.due:
            screen.draw(f"at {second}")
    expected = [f"at {second}" for second in (30, 60, 3600, 3790, 36_000, 36_300)]
    assert capsys.readouterr().out.splitlines() == expected


def state(**fields: Any) -> EndpointState:
    return EndpointState("http://127.0.0.1/v1", **fields)


@pytest.mark.parametrize(
    ("endpoints", "shown"),
    [
        ((), ""),
        ((state(failing=3, cause="HTTP 500"),), ""),  # retries are nothing to worry about
        ((state(throttled=64),), "waiting: 429 × 64 · "),  # noqa: RUF001  # times
        (
            (state(throttled=64, opens_in=11.2, failing=64, cause="HTTP 429"),),
            "waiting: 429 × 64, next try in 12 s · ",  # noqa: RUF001  # times
        ),
        (
            (state(throttled=1_000), state(throttled=1, opens_in=1)),
            "waiting: 429 × 1,001, next try in 1 s · ",  # noqa: RUF001  # times
        ),
        (
            (state(opens_in=1), state(failing=20, cause="the connection failed\nlong " * 9, opens_in=3)),
            "waiting: the connection failed long the connec... × 20, next try in 3 s · ",  # noqa: RUF001  # times
        ),
    ],
)
def test_delays_come_before_counts(endpoints: tuple[EndpointState, ...], shown: str) -> None:
    line = str(Progress(0, 216, endpoints=endpoints))
    assert line == f"factorfair: $0.00 · {shown}0 of 216 answers · 0/s · 0 refused"


@pytest.mark.parametrize(
    ("cached", "seconds", "rate", "stored", "remaining"),
    [
        (250, 0.1, "7,500/s", "25%", "0:01"),
        (250, 15.25, "49/s", "25%", "1:21"),
        (250, 931.25, "0.8/s", "25%", "1:22:47"),
        (1_000, 10, "100/s", "100%", "0:40"),
    ],
)
def test_time_left(cached: int, seconds: float, rate: str, stored: str, remaining: str) -> None:
    """4,000 answers take as long as they took that were asked; if all were stored, as these."""
    progress = Progress(1_000, 5_000, cached=cached, refused=7, cost=None, seconds=seconds)
    assert str(progress) == (
        f"factorfair: cost unknown · {remaining} left · 1,000 of 5,000 answers · {rate} · 7 refused"
        f" · {stored} from the store"
    )


def test_lost_replies_are_counted_by_kind() -> None:
    progress = Progress(10, 20, refused=1, filtered=3, unparsed=5)
    assert str(progress) == (
        "factorfair: $0.00 · 10 of 20 answers · 0/s · 1 refused · 3 filtered · 5 unparsed"
    )


def test_cost_time_and_delays_fit_80_columns() -> None:
    """In the longest line: a third look at a dear, slow model whose endpoint fails."""
    failing = state(failing=20, cause="the connection failed", opens_in=30)
    progress = Progress(9_000, 99_000, cost=1_234.5, seconds=9_000, endpoints=(failing,), look="look 3 of 3")
    delay = "waiting: the connection failed × 20"  # noqa: RUF001  # times
    assert str(progress)[:76].startswith(f"factorfair: $1,234.50 · 25:00:00 left · {delay}")


GATES = ("s_e[base] >= 0.9", "s_fact[objective] >= 0.8", "s_e[base,gender] >= 0.9705", "refusal_rate <= 0.05")
LOOKS = ("FACTORFAIR_ESTIMATOR=corrected", "FACTORFAIR_LOOKS=3", "--factorfair-samples=72,objective=24")
CRASHING = """
import os, pytest
from pathlib import Path

@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    if "tea_rate-race-lowest" in item.name and os.environ.get("PYTEST_XDIST_WORKER") and not Path("crashed").exists():
        Path("crashed").touch()
        os._exit(1)
"""


@pytest.mark.parametrize(
    ("arguments", "conftest"),
    [
        (("-n0", "-v", "--durations=1"), ""),
        (("-p", "no:xdist", "-k", "tea_rate"), ""),
        (("-p", "no:xdist", "-o", "console_output_style=count", "--factorfair-model=sim:ideal"), ""),
        (("-s", "-o", "console_output_style=progress-even-when-capture-no"), ""),
        (("-n2", "--dist=worksteal", "-v"), CRASHING),
        (("-n0", "-v", "-x"), "def pytest_runtest_setup(item): assert 'race' not in item.name"),
    ],
    ids=["verbose", "selected", "count", "uncaptured", "crash", "exitfirst"],
)
def test_the_share_of_items_done_never_falls(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], conftest: str
) -> None:
    """Gates count from the first item on, the release when it fails in their place: all is done at the end."""
    monkeypatch.setenv("COLUMNS", "14")  # many lines of dots, each with its share
    project.write("conftest.py", conftest)
    gates = [f"--factorfair-gate={gate}" for gate in GATES]
    result = project.run(*LOOKS, *gates, *arguments, model="sim:stereotyped?strength=0.2")
    text = result.stdout.str()
    shares = [int(share) / 100 for share in re.findall(r"\[ *(\d+)%\]", text)]
    shares += [int(done) / int(total) for done, total in re.findall(r"\[ *(\d+)/(\d+)\]", text)]
    assert shares == sorted(shares)
    assert shares[-1] == 1 or ("-x" in arguments and 0 < shares[-1] < 1)
