"""Kill runs at random moments, and count calls at the server.

Every round starts a run in the same folder and kills, with SIGKILL, its controller, one of its workers, the
whole group, or a single process; or one of two runs on the same store, and then the other. After a round, all
earlier rows must still exist. Some rounds also copy the folder at the moment of the kill and cut its log at a
random length, as a power failure does: a run on the copy must ask only what the copy lacks.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pytest_factorfair import process
from tests import forkserver
from tests.project import PYTEST
from tests.servers import StubServer

SMALL = Path(__file__).parent / "data" / "small.yaml"
CONNECTIONS = 8
LATENCY = 0.1
VICTIMS = ("single", "controller", "worker", "group", "two runs")
WORKERS = {"controller", "worker", "group"}
"""The kinds of victims for which a run needs workers."""


@dataclass
class Ground:
    """A folder in which runs are killed, with the server that they ask, and what was counted."""

    folder: Path
    at: StubServer
    samples: int
    draw: random.Random
    in_flight: int = 0
    """Calls in flight at the server, summed over all kills."""
    kills: Counter[str] = field(default_factory=Counter)
    queries: int = 0
    calls: int = 0
    """In total: the queries, and the calls that the server received until every query had a row."""
    copies: list[tuple[int, int]] = field(default_factory=list)
    """For each copy with a cut log: its rows, and the calls of the run on it."""

    @property
    def asked(self) -> int:
        """The number of calls that the server has received."""
        return int(self.at.stats()["requests"])

    def start(self, *options: str, folder: Path | None = None) -> subprocess.Popen[bytes]:
        command = [
            forkserver.python(), *PYTEST, "-q", "-p", "no:cacheprovider", "--factorfair-model=hosted_vllm/m",
            f"--factorfair-model-arg=base_url={self.at.base_url}", f"--factorfair-checklist={SMALL}",
            f"--factorfair-samples={self.samples},objective=4", f"--factorfair-max-connections={CONNECTIONS}",
            *options,
        ]  # fmt: skip
        where = folder or self.folder
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=where, stdout=nowhere, stderr=nowhere, start_new_session=True)

    def rows(self) -> dict[str, str]:
        """The bodies of all responses, by key."""
        return rows(self.folder)

    def kill(self, victim: str, *, copy: bool) -> None:
        """Do a round, and check that nothing is missing or changed that was stored before.

        Raises:
            AssertionError: a row is lost, or more calls have no row than were in flight.
        """
        rows_before, asked = self.rows(), self.asked
        options = ("-n2",) if victim in WORKERS else ("-p", "no:xdist")
        runs = [
            self.start(*options, f"--factorfair-report={number}")
            for number in range(1 + (victim == "two runs"))
        ]
        self._await(asked + self.draw.randrange(0, 16), runs)
        time.sleep(self.draw.random() * LATENCY)
        families = {run.pid: forkserver.family(run.pid) for run in runs}
        if copy:
            self._copy([pid for pids in families.values() for pid in pids])
        self._strike(victim, families[runs[0].pid])
        times = 1
        if victim in ("worker", "two runs"):  # a worker, or the other run, survives it
            self._await(self.asked + self.draw.randrange(0, 16), runs)
            families = {
                run.pid: [*dict.fromkeys(families[run.pid] + forkserver.family(run.pid))] for run in runs
            }
            for run in runs:
                self._strike("group", families[run.pid])
            times = 1 + len(runs)
        for run in runs:
            run.wait()
        while any(process.alive(pid) for pids in families.values() for pid in pids):
            time.sleep(0.01)  # let orphaned workers notice that the controller is gone
        time.sleep(1.5 * LATENCY)  # let the server finish its replies
        rows_after = self.rows()
        assert rows_before.items() <= rows_after.items(), (
            f"{len(rows_before.items() - rows_after.items())} rows are lost"
        )
        again = self.asked - asked - (len(rows_after) - len(rows_before))
        assert 0 <= again <= 2 * CONNECTIONS * times, (
            f"{again} calls without a row after the kill of {victim}"
        )

    def finish(self) -> None:
        """Run to the end, and run on each copy; check that only queries without a row are asked.

        Raises:
            AssertionError: a run failed, asked a query that had a row, or left one out.
        """
        stored, asked = len(self.rows()), self.asked
        assert self.start("-p", "no:xdist").wait() == 0
        self.queries, self.calls = len(self.rows()), self.asked
        assert self.calls - asked == self.queries - stored
        assert self.calls - self.queries <= 2 * CONNECTIONS * sum(self.kills.values())
        for copy in sorted(self.folder.glob("copy-*")):
            stored, asked = len(rows(copy)), self.asked
            assert self.start("-p", "no:xdist", folder=copy).wait() == 0
            assert self.asked - asked == self.queries - stored
            assert rows(copy).keys() == self.rows().keys()
            self.copies.append((stored, self.asked - asked))

    def _await(self, requests: int, runs: Sequence[subprocess.Popen[bytes]]) -> None:
        while self.asked < requests and any(run.poll() is None for run in runs):
            time.sleep(0.005)

    def _strike(self, victim: str, pids: Sequence[int]) -> None:
        """Kill the first process, one of the others, or all at once, depending on the victim."""
        workers = pids[1:] or pids
        victims = {"worker": [self.draw.choice(workers)], "group": pids}.get(victim, pids[:1])
        self.in_flight += self.at.stats()["in_flight"]
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.kills[victim] += 1

    def _copy(self, pids: Sequence[int]) -> None:
        """Copy what a power failure would leave: the file, and a part of its log."""
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        source = self.folder / ".factorfair"
        copy = self.folder / f"copy-{len(list(self.folder.glob('copy-*')))}"
        (copy / ".factorfair").mkdir(parents=True)
        for name in ("responses.sqlite", "responses.sqlite-wal"):
            if (source / name).exists():
                shutil.copy(source / name, copy / ".factorfair")
        log = copy / ".factorfair" / "responses.sqlite-wal"
        if log.exists():
            os.truncate(log, self.draw.randrange(0, log.stat().st_size + 1))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def rows(folder: Path) -> dict[str, str]:
    path = folder / ".factorfair" / "responses.sqlite"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return dict(store.execute("SELECT key, body FROM responses WHERE reusable"))


def run(kills: int, folder: Path, at: StubServer, *, copies: int) -> Ground:
    """Do ``kills`` rounds, the same number of each kind, and a final run.

    Raises:
        AssertionError: a row was lost, or a query was asked again that was not in flight.
    """
    draw = random.Random(4)  # noqa: S311  # nothing secret
    order = [VICTIMS[number % len(VICTIMS)] for number in range(kills)]
    draw.shuffle(order)
    copied = set(draw.sample(range(kills), copies))
    at.script(latency=LATENCY)
    ground = Ground(folder, at, samples=24 * max(1, kills // 12), draw=draw)
    for number, victim in enumerate(order):
        ground.kill(victim, copy=number in copied)
    ground.finish()
    return ground
