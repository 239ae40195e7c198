"""What must last waits for the disk, what need not does not; and who wants to write waits for who does."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from pytest_factorfair.store import Store, opening
from pytest_factorfair.store.transactions import Transactions

WAITS = {"sqlite": ("PRAGMA synchronous", 2, 1), "postgresql": ("SHOW synchronous_commit", "on", "off")}


@pytest.fixture
def transactions(store: Store) -> Iterator[Transactions]:
    begun = Transactions(store.database)
    yield begun
    begun.close()


def test_only_what_must_last_waits_for_the_disk(transactions: Transactions, backend: str) -> None:
    asked, waits, does_not = WAITS[backend]
    with transactions.begin(lasting=True) as connection:
        if backend == "postgresql":
            connection.exec_driver_sql("SET synchronous_commit TO on")  # the tests' server never waits
        assert connection.exec_driver_sql(asked).scalar() == waits
    with transactions.begin(lasting=False) as connection:
        assert connection.exec_driver_sql(asked).scalar() == does_not
    with transactions.begin(lasting=True) as connection:
        assert connection.exec_driver_sql(asked).scalar() == waits


def test_one_writes_as_soon_as_the_other_has_committed(transactions: Transactions, file: Path) -> None:
    begun = threading.Event()

    def write() -> None:
        with transactions.begin(lasting=True) as connection:
            begun.set()
            connection.exec_driver_sql("INSERT INTO meta VALUES ('mine', '1')")

    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=write)
        thread.start()
        assert not begun.wait(0.1)
        other.execute("INSERT INTO meta VALUES ('theirs', '1')")
        other.execute("COMMIT")
        thread.join(30)
        assert other.execute("SELECT count(*) FROM meta WHERE name IN ('mine', 'theirs')").fetchone() == (2,)


def test_what_was_not_committed_is_not_there(transactions: Transactions, store: Store) -> None:
    def fail() -> None:
        with transactions.begin(lasting=False) as connection:
            connection.exec_driver_sql("INSERT INTO meta VALUES ('half', '1')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.database.connect() as other:
        assert other.exec_driver_sql("SELECT count(*) FROM meta WHERE name = 'half'").scalar() == 0


def test_nobody_else_gets_the_impatient_connection(url: str, file: Path) -> None:
    database = opening.opened(make_url(url), read_only=False)
    transactions = Transactions(database)
    with transactions.begin(lasting=False) as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1
    transactions.close()
    with database.connect() as other:
        assert other.exec_driver_sql("PRAGMA busy_timeout").scalar() == 1000 * opening.TIMEOUT
        assert other.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
    database.dispose()
    assert file.exists()
