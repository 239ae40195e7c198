"""Several hosts (simulated by processes) with one PostgreSQL store.

Without pytester, which would unload the driver that other tests use.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import pytest
import sqlalchemy

from pytest_factorfair.domain import CallRequest, Ceilings, Grant, Response
from pytest_factorfair.store import Store
from pytest_factorfair.store.pictures import Folder, Picture
from pytest_factorfair.store.sharing import claims
from pytest_factorfair.store.sharing.limits import SharedLimits
from tests import forkserver, keeping
from tests.bucket import Service
from tests.project import DATA, FEW_PORTRAITS, program

WAIT = 120
HOUR = 3600.0
SMALL: dict[str, Any] = {"checklist": [str(DATA / "small.yaml")], "samples": "48,objective=4"}
ANSWERS = 6 * 4 + 8 * 48
PORTRAITS: dict[str, Any] = {
    "checklist": [str(FEW_PORTRAITS)], "samples": "images=4", "detector": "sim",
}  # fmt: skip
PICTURES = 8 * 4

HOST = program("store_host")


class Ask(Protocol):
    def __call__(self, *hosts: dict[str, Any], **order: Any) -> list[str]: ...


@pytest.fixture
def ask(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Starts a run on each host at a time, with what they share; returns the line with which each ends."""
    monkeypatch.chdir(tmp_path)

    def asked(*hosts: dict[str, Any], **order: Any) -> list[str]:
        (tmp_path / "go").unlink(missing_ok=True)
        with ExitStack() as stack:
            processes = []
            for number, overrides in enumerate(hosts):
                settings = order | {"store": database} | overrides
                ahead = str(settings.pop("ahead", 0.0))
                command = [forkserver.python(), "-c", HOST, f"host-{number}", ahead, json.dumps(settings)]
                process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                stack.callback(process.kill)
                processes.append(stack.enter_context(process))
            while begun(database) < len(hosts) and all(process.poll() is None for process in processes):
                time.sleep(0.05)
            (tmp_path / "go").touch()
            return [process.communicate(timeout=WAIT)[0].strip() for process in processes]

    return asked


def begun(database: str) -> int:
    """The number of hosts that ask for the store's answers."""
    engine = sqlalchemy.create_engine(database)
    try:
        with engine.connect() as connection:
            if not sqlalchemy.inspect(connection).has_table("owners"):
                return 0
            statement = sqlalchemy.text("select count(distinct host) from owners")
            return int(connection.execute(statement).scalar_one())
    finally:
        engine.dispose()


def asked_for() -> Counter[str]:
    """How often each key was asked for, on all hosts."""
    return Counter(line.split()[1] for line in Path("asked").read_text().splitlines())


def rows(database: str) -> list[tuple[str, int]]:
    """The pictures and sizes in the rows of the store; "" for a row without a picture."""
    engine = sqlalchemy.create_engine(database)
    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.text("select picture, picture_size from responses")).all()
    engine.dispose()
    return [(row.picture, row.picture_size) for row in rows]


@pytest.mark.slow
def test_limits_are_shared_and_each_key_is_asked_once(ask: Ask, database: str) -> None:
    over = "the budget of 300 calls is used up"
    ended = ask({"shard": "1/2"}, {"shard": "2/2"}, run="nightly", max_calls=300, **SMALL)
    assert over in ended
    assert {*ended} <= {over, ""}  # one shard may be done before
    assert (asked_for().total(), len(asked_for()), len(rows(database))) == (300, 300, 300)
    assert ask({}, {}, **SMALL) == ["", ""]  # and without shards, which all ask the same first
    assert (asked_for().total(), len(asked_for()), len(rows(database))) == (ANSWERS, ANSWERS, ANSWERS)


@pytest.mark.slow
def test_pictures_are_drawn_once_and_found_by_url(ask: Ask, database: str, bucket: str, s3: Service) -> None:
    """Pictures are generated once and found by URL; no host considers the other dead or the run finished."""
    limits = {"run": "nightly", "max_minutes": 30, "max_rpm": 60_000}
    ended = ask({"ahead": HOUR}, {}, draws=True, pictures=bucket, **limits, **PORTRAITS)
    assert ended == ["", ""]
    assert (asked_for().total(), len(asked_for())) == (PICTURES, PICTURES)
    named = rows(database)
    assert len({file for file, _ in named}) == len(named) == PICTURES
    assert sorted(file for file, _ in named) == sorted(s3.files(bucket))
    with Store.open(database) as store:
        assert [len(store.pictures.read(file)) for file, _ in named] == [size for _, size in named]


@pytest.mark.slow
def test_responses_lost_by_a_full_disk_on_one_host_are_asked_again(ask: Ask, database: str) -> None:
    order: dict[str, Any] = {"draws": True, "pictures": "shared", "run": "nightly", **PORTRAITS}
    full, fine = ask({"shard": "1/2", "room": 10, "patience": 1}, {"shard": "2/2"}, **order)
    cause = "[Errno 28] No space left on device"
    assert full.endswith(
        f"cannot be written: {cause}; responses cannot be rescued: {cause}; the next run asks again"
    )
    assert fine == ""
    stored, before = len(rows(database)), asked_for().total()
    assert PICTURES // 2 <= stored < PICTURES
    assert ask({}, **order) == [""]
    assert asked_for().total() - before == PICTURES - stored
    named = rows(database)
    assert len(named) == PICTURES
    with Store.open(database) as store:
        assert [len(store.pictures.read(file)) for file, _ in named] == [size for _, size in named]


@pytest.mark.parametrize("ahead", [-HOUR, HOUR])
def test_claims_and_limits_by_the_clock_of_the_database(
    database: str, ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, limits = time.time, Ceilings(minutes=1, rpm=60)

    def take(session: SharedLimits) -> Grant:
        request = CallRequest("here", 0.0, session.clock(), lambda _: 1.0)
        grant = session.take(request).result(WAIT)
        assert isinstance(grant, Grant)
        return grant

    with Store.open(database) as store, Store.open(database) as rival, ExitStack() as stack:
        assert store.claim(["a"]).result(WAIT).claimed == ("a",)
        session = stack.enter_context(closing(SharedLimits.begin(store, limits, run="nightly")))
        take(session)
        with store.database.begin() as connection:
            connection.exec_driver_sql("update owners set host = 'elsewhere'")
        monkeypatch.setattr(time, "time", lambda: clock() + ahead)
        assert rival.claim(["a"]).result(WAIT).elsewhere == ("a",)
        rival_session = stack.enter_context(closing(SharedLimits.begin(rival, limits, run="nightly")))
        assert take(rival_session).wait == pytest.approx(1.0, abs=0.9)
        with store.database.begin() as connection:  # it was last heard of a minute ago
            connection.exec_driver_sql("update owners set until = until - 60.1 where host = 'elsewhere'")
        assert rival.claim(["a"]).result(WAIT).claimed == ("a",)


class Slow(Folder):
    """Storage that blocks until the test lets it take pictures."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ready = threading.Event()

    def keep(self, pictures: Iterable[Picture]) -> None:
        assert self.ready.wait(WAIT)
        super().keep(pictures)


def test_signs_of_life_while_pictures_are_slow(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_factorfair.store.writer.BEAT", 0.02)
    monkeypatch.setattr(claims, "BEAT", 0.02)
    engine = sqlalchemy.create_engine(database)
    Store.open(database).close()
    pictures = Slow(tmp_path)
    with Store(engine, "here", lambda: pictures) as store:
        store.claim(["a"]).result(WAIT)
        image = Response("", image=keeping.PNG)
        row = keeping.put(store, "a", image, model="m", prompt="p", repeat=0)
        with engine.begin() as connection:
            connection.exec_driver_sql("update owners set until = 0")
        heard, deadline = 0.0, time.monotonic() + 10
        while not heard and time.monotonic() < deadline:
            with engine.connect() as connection:
                heard = connection.exec_driver_sql("select until from owners").scalar_one()
            time.sleep(0.01)
        pictures.ready.set()
        assert heard
        assert row.result(WAIT).image_file
