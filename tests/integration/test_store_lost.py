"""A store that dies, stalls or loses rows while a run asks: what was paid for is stored or rescued, exactly."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from tests import forkserver, postgres
from tests.bucket import Service
from tests.project import FEW_PORTRAITS, PYTEST, Project, split
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24
TEXT = (
    "--factorfair-model=hosted_vllm/m",
    "--factorfair-checklist=small.yaml",
    "--factorfair-samples=24,objective=4",
)
PICTURES = 8 * 8
IMAGES = (
    "--factorfair-model=hosted_vllm/m", f"--factorfair-checklist={FEW_PORTRAITS}",
    "--factorfair-samples=images=8", "--factorfair-detector=sim",
    "FACTORFAIR_FIRST_REPLIES=0",  # the server's pictures show nobody
)  # fmt: skip
CONNECTIONS = 4
HELD = 60
"""Calls that are answered before a store is harmed; the others are answered after it."""
_NUMBERS = itertools.count()

ALONE, WORKERS = ("-p", "no:xdist"), ("-n2",)
"""Every process notices, waits and rescues alike; workers report it to a controller that asks nothing itself."""


class Started:
    """A run in a process of its own, with little patience, and the server that it asks."""

    def __init__(
        self,
        project: Project,
        stub: StubServer,
        dist: tuple[str, ...],
        *options: str,
        asks: Sequence[str] = TEXT,
        patience: float = 2,
    ) -> None:
        self.project = project
        self.stub = stub
        self._arguments = (
            "-p", "no:cacheprovider", *asks, f"--factorfair-model-arg=base_url={stub.base_url}",
            f"--factorfair-max-connections={CONNECTIONS}", *options,
        )  # fmt: skip
        variables, arguments = split(self._arguments)
        self._running = subprocess.Popen(
            [forkserver.python(), *PYTEST, *dist, *arguments],
            cwd=project.path,
            env=os.environ | variables | {"FACTORFAIR_PATIENCE": str(patience)},
            stdout=subprocess.PIPE,
            text=True,
        )

    @property
    def paid(self) -> int:
        return int(self.stub.stats()["requests"])

    def wait_for_calls(self, calls: int) -> None:
        self.wait_until(lambda: self.paid >= calls)

    def wait_until(self, happened: Callable[[], bool]) -> None:
        while not happened():
            assert self._running.poll() is None
            time.sleep(0.005)

    def wait_until_nothing_is_asked(self) -> int:
        """Release held calls, wait until none is in flight or has followed for a while, and return their number."""
        self.stub.release()
        still, calls = 0, -1
        while still < 20:
            stats = self.stub.stats()
            still = still + 1 if not stats["in_flight"] and stats["requests"] == calls else 0
            calls = stats["requests"]
            time.sleep(0.05)
        return calls

    def end(self) -> str:
        """Release held calls, and return what the run has printed once it has ended."""
        self.stub.release()
        output = self._running.communicate()[0]
        assert "INTERNALERROR" not in output
        assert "Traceback" not in output
        self.returncode = self._running.returncode
        return output

    @property
    def rescued(self) -> set[str]:
        """The keys of rescued responses, each of which is there once."""
        files = sorted((self.project.path / ".factorfair").glob("rescued-*.jsonl"))
        keys = [json.loads(line)["key"] for file in files for line in file.read_text().splitlines()]
        assert len(keys) == len(set(keys))
        return set(keys)

    @property
    def bill(self) -> int:
        """The calls of the report, whether or not a complete one is there."""
        return int(self.project.report()["usage"]["calls"])

    def go_on(self, answers: int = ANSWERS, *, ret: int = 0) -> str:
        """Run again to the end: what is paid for is in the store, and nothing is asked twice."""
        paid_before = self.paid
        self.stub.script()
        again = self.project.run_pytest(*ALONE, *self._arguments)
        assert again.ret == ret
        assert paid_before + self.paid == answers
        assert not self.rescued
        return again.stdout.str()


def file(project: Project) -> Path:
    return project.path / ".factorfair" / "responses.sqlite"


def stored(project: Project) -> set[str]:
    with closing(sqlite3.connect(f"file:{file(project)}?mode=ro", uri=True)) as store:
        return {key for (key,) in store.execute("select key from responses")}


def damage(file: Path) -> None:
    """Pages that SQLite has in memory: it would not notice before the run ends."""
    with file.open("r+b") as pages:
        for page in range(3, file.stat().st_size // 4096, 2):
            pages.seek(4096 * page)
            pages.write(b"\xa5" * 4096)


def truncate(file: Path) -> None:
    os.truncate(file, 3 * 4096)


@pytest.mark.parametrize(("harm", "dist"), [(damage, ALONE), (truncate, WORKERS)])
def test_a_damaged_file_is_noticed_and_all_replies_are_rescued(
    project: Project, stub: StubServer, harm: Callable[[Path], None], dist: tuple[str, ...]
) -> None:
    stub.script(latency=0.05, held=HELD)
    run = Started(project, stub, dist)
    run.wait_for_calls(HELD)
    harm(file(project))
    output = run.end()
    assert run.returncode == 2
    assert HELD <= run.paid < ANSWERS
    assert len(run.rescued) == run.paid == run.bill
    assert "the response store is damaged: " in output
    assert "; move the file away, then run the same command" in output
    assert f"{run.paid} paid responses that the store does not have: rescued in" in output
    file(project).rename(project.path / "damaged.sqlite")
    assert f"note: {run.paid} responses that an earlier run rescued are now in the store" in run.go_on()


def test_deleted_rows_are_noticed_at_the_end_and_rescued(project: Project, stub: StubServer) -> None:
    stub.script(held=HELD)
    run = Started(project, stub, WORKERS)
    run.wait_for_calls(HELD)
    run.wait_until(lambda: len(stored(project)) == HELD)
    with closing(sqlite3.connect(file(project), timeout=30)) as connection, connection:
        deleted = connection.execute("delete from responses").rowcount
    assert deleted == HELD
    output = run.end()
    assert run.returncode == 1
    assert run.paid == run.bill == ANSWERS
    assert len(run.rescued) == deleted
    assert len(stored(project) | run.rescued) == ANSWERS
    assert f"{deleted} paid responses that the store does not have: rescued in" in output
    assert "of this run were deleted from the store" in output
    run.go_on()


def test_a_locked_file_is_waited_for_and_no_call_is_made_meanwhile(
    project: Project, stub: StubServer
) -> None:
    stub.script(latency=0.02, held=HELD)
    run = Started(project, stub, WORKERS, patience=60)
    run.wait_for_calls(HELD)
    with closing(sqlite3.connect(file(project), timeout=30, isolation_level=None)) as connection:
        connection.execute("begin immediate")
        assert run.wait_until_nothing_is_asked() < ANSWERS
        connection.execute("rollback")
    run.end()
    assert run.returncode == 0
    assert run.paid == len(stored(project)) == ANSWERS


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with postgres.server() as folder:
        yield folder


@pytest.fixture
def database(server: str) -> str:
    """The name of a new database of the server."""
    name = f"d{next(_NUMBERS)}"
    postgres.psql(server, f"CREATE DATABASE {name}")
    return name


@contextmanager
def stopped(server: str, _: str) -> Iterator[None]:
    postgres.control(server, "stop", "-m", "fast")
    try:
        yield
    finally:
        postgres.control(server, "start")


@contextmanager
def read_only(server: str, database: str) -> Iterator[None]:
    """As after a failover; the connections that were open before are gone."""
    postgres.psql(server, f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    postgres.psql(
        server,
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'",  # noqa: S608  # ours
    )
    yield
    postgres.psql(server, f"ALTER DATABASE {database} RESET ALL")


def processes(server: str) -> list[int]:
    """The server's processes, of which the first starts the others."""
    postmaster = int(Path(server, "data", "postmaster.pid").read_text().split()[0])
    return forkserver.family(postmaster)


@contextmanager
def silent(server: str, _: str) -> Iterator[None]:
    """It takes connections and requests, and answers none."""
    pids = processes(server)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


Harm = Callable[[str, str], AbstractContextManager[None]]


def url(server: str, database: str) -> str:
    return f"--factorfair-store=postgresql+psycopg://ff@/{database}?host={server}"


def rows(server: str, database: str) -> set[str]:
    import psycopg

    with psycopg.connect(f"host={server} user=ff dbname={database}") as connection:
        return {key for (key,) in connection.execute("SELECT key FROM responses")}


@pytest.mark.parametrize(("harm", "dist"), [(stopped, ALONE), (read_only, ALONE), (silent, WORKERS)])
def test_a_server_that_is_gone_costs_no_reply(
    project: Project, stub: StubServer, server: str, database: str, harm: Harm, dist: tuple[str, ...]
) -> None:
    stub.script(latency=0.05, held=HELD)
    run = Started(project, stub, dist, url(server, database))
    run.wait_for_calls(HELD)
    with harm(server, database):
        output = run.end()
    assert run.returncode == 2
    assert HELD <= run.paid == run.bill < ANSWERS
    in_store, rescued = rows(server, database), run.rescued
    assert rescued
    if harm is not silent:  # a commit under way is finished when the server goes on: nobody could have known
        assert not in_store & rescued
    assert len(in_store | rescued) == run.paid
    assert f"{len(rescued)} paid response" in output
    assert f"note: {len(rescued)} response" in run.go_on()
    assert len(rows(server, database)) == ANSWERS


def test_a_server_that_does_not_answer_is_waited_for(
    project: Project, stub: StubServer, server: str, database: str
) -> None:
    stub.script(latency=0.02, held=HELD)
    run = Started(project, stub, ALONE, url(server, database), patience=60)
    run.wait_for_calls(HELD)
    with silent(server, database):
        assert run.wait_until_nothing_is_asked() < ANSWERS
    run.end()
    assert run.returncode == 0
    assert run.paid == len(rows(server, database)) == ANSWERS


def test_a_bucket_that_does_not_answer_is_waited_for(
    project: Project, stub: StubServer, s3: Service, bucket: str
) -> None:
    stub.script(latency=0.3, held=20)
    run = Started(project, stub, ALONE, f"--factorfair-pictures={bucket}", asks=IMAGES, patience=60)
    run.wait_for_calls(20)
    with s3.silent():
        assert run.wait_until_nothing_is_asked() < PICTURES
    run.end()
    assert run.paid == len(stored(project)) == run.bill == PICTURES
    assert not run.rescued


def test_a_bucket_that_is_gone_costs_no_picture(
    project: Project, stub: StubServer, s3: Service, bucket: str
) -> None:
    stub.script(latency=0.1, held=20)
    run = Started(project, stub, ALONE, f"--factorfair-pictures={bucket}", asks=IMAGES)
    run.wait_for_calls(20)
    with s3.silent():
        output = run.end()
    assert run.returncode == 2
    assert 20 <= run.paid == run.bill < PICTURES
    in_store, rescued = stored(project), run.rescued
    assert not in_store & rescued
    assert len(in_store | rescued) == run.paid
    # The next picture to write meets the outage, or one of a complete case that is read for its faces.
    assert re.search(rf"{re.escape(bucket)}\S*: pictures cannot be (written|read): ", output), output
    assert f"{len(rescued)} paid responses that the store does not have" in output
    again = run.go_on(PICTURES, ret=1)
    assert f"note: {len(rescued)} responses that an earlier run rescued" in again
    assert len(stored(project)) == PICTURES
