"""Transactions: lasting ones wait for the disk, others do not; and writers wait for each other."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.engine import make_url

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store, opening
from pytest_factorfair.store.durable import transactions as module
from pytest_factorfair.store.durable.transactions import Transactions
from tests import keeping


@pytest.fixture
def transactions(store: Store) -> Iterator[Transactions]:
    begun = Transactions(store.database)
    yield begun
    begun.close()


def insert(connection: Connection, name: str) -> None:
    connection.exec_driver_sql(f"INSERT INTO meta VALUES ('{name}', '1')")  # noqa: S608  # of ours


def test_server_is_waited_for_only_where_it_must_last(database: str) -> None:
    with Store.open(database) as store, closing(Transactions(store.database)) as begun:
        for lasting in (True, False, True):
            with begun.begin(lasting=lasting) as connection:
                if lasting:
                    connection.exec_driver_sql(
                        "SET synchronous_commit TO on"
                    )  # the tests' server never waits
                waits = connection.exec_driver_sql("SHOW synchronous_commit").scalar()
                assert waits == ("on" if lasting else "off")


def test_disk_is_waited_for_only_where_it_must_last_and_by_nobody_else(
    transactions: Transactions, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only lasting transactions wait for the disk; meanwhile their rows are visible, and others can write."""
    flushed: list[tuple[bool, int]] = []
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as observer:

        def flush(descriptor: int) -> None:
            rows = observer.execute("SELECT count(*) FROM meta WHERE value = '1'").fetchone()[0]
            observer.execute("INSERT INTO meta VALUES (?, '1')", [f"theirs {rows}"])
            log = Path(f"{file}-wal").stat()
            flushed.append((os.path.samestat(os.fstat(descriptor), log), rows))

        monkeypatch.setattr(module, "_to_disk", flush)
        for name, lasting in (("a", True), ("b", False), ("c", True)):
            with transactions.begin(lasting=lasting) as connection:
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1  # NORMAL
                insert(connection, name)
    assert flushed == [(True, 1), (True, 4)]


def test_a_failed_transaction_does_not_wait_for_the_disk(
    transactions: Transactions, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_to_disk", pytest.fail)

    def fail() -> None:
        with transactions.begin(lasting=True) as connection:
            insert(connection, "half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert file.exists()


def test_disk_that_fails_is_reported(store: Store, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    store.outage.patience = 0.1
    monkeypatch.setattr(module, "_to_disk", fail)
    with pytest.raises(StoreError, match=f"^{file}: .*Input/output error"):
        keeping.put(store, "k", Response("A"), model="m", prompt="p", repeat=0).result(30)


def test_database_without_such_a_log_waits_by_itself(
    store: Store, transactions: Transactions, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.database.dispose()  # nobody else may have it open
    with closing(sqlite3.connect(file)) as outside:
        assert outside.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    monkeypatch.setattr(module, "_to_disk", pytest.fail)
    with transactions.begin(lasting=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        insert(connection, "mine")


def test_one_writes_as_soon_as_the_other_has_committed(transactions: Transactions, file: Path) -> None:
    begun = threading.Event()

    def write() -> None:
        with transactions.begin(lasting=True) as connection:
            begun.set()
            connection.exec_driver_sql("INSERT INTO meta VALUES ('mine', '1')")

    with closing(sqlite3.connect(file, isolation_level=None)) as rival:
        rival.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=write)
        thread.start()
        assert not begun.wait(0.1)
        rival.execute("INSERT INTO meta VALUES ('theirs', '1')")
        rival.execute("COMMIT")
        thread.join(30)
        assert rival.execute("SELECT count(*) FROM meta WHERE name IN ('mine', 'theirs')").fetchone() == (2,)


def test_uncommitted_rows_are_not_visible(transactions: Transactions, store: Store) -> None:
    def fail() -> None:
        with transactions.begin(lasting=False) as connection:
            connection.exec_driver_sql("INSERT INTO meta VALUES ('half', '1')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.database.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM meta WHERE name = 'half'").scalar() == 0


def test_nobody_else_gets_the_connection_that_does_not_wait_for_the_disk(url: str, file: Path) -> None:
    database = opening.opened(make_url(url), read_only=False)
    transactions = Transactions(database)
    with transactions.begin(lasting=False) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1  # NORMAL
    transactions.close()
    with database.connect() as ordinary:
        assert ordinary.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    database.dispose()
    assert file.exists()
