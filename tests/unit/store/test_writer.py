from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store, opening
from pytest_factorfair.store.durable.outage import Outage
from pytest_factorfair.store.pictures import Folder
from pytest_factorfair.store.rows import Origin, Write, to_row
from pytest_factorfair.store.writer import Writer
from tests import keeping

WAIT = 30


def drafted(number: int) -> Write:
    response = Response("A")
    row = to_row(f"k{number}", response, Origin("m", "{}"), prompt="p", repeat=number, seed=0)
    return Write(response, row)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """A lock on the store, as if another process were writing."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("begin immediate")
        yield
        connection.execute("rollback")


def test_commits_when_idle_and_at_latest_every_hundred_rows(store: Store, file: Path) -> None:
    database = opening.opened(opening.parsed(f"sqlite:///{file}"), read_only=False)
    commits: list[int] = []
    event.listen(database, "commit", lambda _: commits.append(1))
    writer = Writer(database, "here", lambda: Folder(file.parent), Outage())
    writer.write([drafted(0)]).result(WAIT)
    assert len(commits) == 1  # nothing else was waiting: at once
    with locked(file):
        rows = [writer.write([drafted(number)]) for number in range(1, 301)]
    for row in rows:
        row.result(WAIT)
    writer.close()
    database.dispose()
    # The first batch is what was there when the lock was met: between 1 and 100 rows.
    assert len(commits) in {4, 5}
    assert store.count(f"k{number}" for number in range(301)) == 301


def test_rows_that_arrive_together_share_a_commit_of_bounded_size(store: Store, file: Path) -> None:
    database = opening.opened(opening.parsed(f"sqlite:///{file}"), read_only=False)
    commits: list[int] = []
    event.listen(database, "commit", lambda _: commits.append(store.count(f"k{n}" for n in range(301))))
    writer = Writer(database, "here", lambda: Folder(file.parent), Outage())
    writer.write([drafted(number) for number in range(301)]).result(WAIT)
    assert store.count(f"k{number}" for number in range(301)) == 301
    writer.close()
    database.dispose()
    assert commits == [0, 100, 200, 300]  # how many there were before each


def test_order_of_replacing_and_plain_rows_is_kept(store: Store, file: Path) -> None:
    with locked(file):
        waiting = [
            keeping.put(store, "k", Response("one"), model="m", prompt="p", repeat=0),
            keeping.put(store, "k", Response("two"), model="m", prompt="p", repeat=0, replace=True),
            keeping.put(store, "k", Response("three"), model="m", prompt="p", repeat=0),
        ]
    for row in waiting:
        row.result(WAIT)
    assert store.responses(["k"]) == {"k": Response("two")}


def test_failed_commit_reaches_its_rows_and_all_later_ones(store: Store, file: Path) -> None:
    keeping.put(store, "before", Response("A"), model="m", prompt="p", repeat=0).result(WAIT)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "create trigger full before insert on responses begin select raise(abort, 'disk full'); end",
        )
    for key in ("first", "second"):
        row = keeping.put(store, key, Response("A"), model="m", prompt="p", repeat=0)
        with pytest.raises(StoreError, match=r"responses\.sqlite: .* cannot be written: disk full"):
            row.result(WAIT)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("drop trigger full")
    with pytest.raises(StoreError, match="disk full"):
        keeping.put(store, "third", Response("A"), model="m", prompt="p", repeat=0).result(WAIT)
    assert store.count(["before", "first", "second", "third"]) == 1


def test_a_queued_row_cannot_be_cancelled(store: Store, file: Path) -> None:
    with locked(file):
        row = store.put(store.draft("k", Response("A"), Origin("m", "{}"), prompt="p", repeat=0))
        assert not row.cancel()
    row.result(WAIT)
    assert store.count(["k"]) == 1
