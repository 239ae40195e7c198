"""A full disk, a read-only folder, a locked file: an error in one line, and committed rows are kept."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store, opening
from tests import forkserver, keeping
from tests.project import program

FILL = program("fill_disk")


def test_full_disk(url: str, file: Path) -> None:
    command = [forkserver.python(), "-c", FILL, url]
    completed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert completed.stderr == ""
    count, *lines = completed.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert line.startswith(f"{file}: the response store cannot be written: ")
    assert int(count) > 20
    with Store.open(url) as store:
        assert store.count(f"k{number}" for number in range(10_000)) == int(count)
        keeping.put(store, "more", Response("A"), model="m", prompt="p", repeat=0).result(30)


def test_a_folder_that_is_not_writable_is_reported() -> None:
    with pytest.raises(
        StoreError, match=r"^/proc/kept/responses\.sqlite: the response store cannot be opened"
    ):
        Store.open("sqlite:////proc/kept/responses.sqlite")


def test_file_that_stays_locked(store: Store, url: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "TIMEOUT", 0.1)
    with Store.open(url) as late, closing(sqlite3.connect(file, isolation_level=None)) as locker:
        keeping.put(late, "before", Response("A"), model="m", prompt="p", repeat=0).result(30)
        locker.execute("begin immediate")
        late.outage.patience = 0.1
        row = keeping.put(late, "k", Response("A"), model="m", prompt="p", repeat=0)
        with pytest.raises(StoreError, match="cannot be written: database is locked"):
            row.result(30)
        assert late.count(["before"]) == 1  # reading goes on
        with pytest.raises(StoreError, match="cannot be opened: database is locked"):
            Store.open(url)
        locker.execute("rollback")
    assert store.count(["before", "k"]) == 1


def test_detections_that_cannot_be_read(url: str, file: Path) -> None:
    with Store.open(url) as store:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("DROP TABLE detections")
        with pytest.raises(StoreError, match="cannot be read: no such table"):
            store.detections.found("detector", ["aa/picture.png"])
