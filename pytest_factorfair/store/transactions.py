"""The writer's transactions, one after the other over one connection."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy

from pytest_factorfair.store import opening

_POLL = 1  # milliseconds; left alone, SQLite sleeps up to a hundred times as long while nobody writes


class Transactions:
    """Begins transactions; taking a connection from the pool for each would cost more than a commit."""

    def __init__(self, database: sqlalchemy.Engine) -> None:
        self._database = database
        self._file = database.dialect.name == "sqlite"
        self._connection: sqlalchemy.Connection | None = None
        self._lasting: bool | None = None

    @contextmanager
    def begin(self, *, lasting: bool) -> Iterator[sqlalchemy.Connection]:
        """A transaction, committed with the block; unless it is ``lasting``, the disk is not waited for.

        What is not lasting is seen by all processes, and lost only with the machine.
        """
        connection = self._connected()
        with connection.begin():
            if self._file:
                self._lock(connection, lasting=lasting)
            elif not lasting:
                connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
            yield connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> sqlalchemy.Connection:
        if self._connection is None:
            self._connection = self._database.connect()
            self._connection.detach()  # as impatient as it is made here it is for nobody else
            if self._file:
                self._connection.connection.cursor().execute(f"PRAGMA busy_timeout={_POLL}")
        return self._connection

    def _lock(self, connection: sqlalchemy.Connection, *, lasting: bool) -> None:
        """Become the one process that writes into the file."""
        cursor = connection.connection.cursor()
        if lasting is not self._lasting:
            cursor.execute(f"PRAGMA synchronous={'FULL' if lasting else 'NORMAL'}")
            self._lasting = lasting
        end = time.monotonic() + opening.TIMEOUT
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # whatever it is busy with
                if not busy or time.monotonic() > end:
                    raise
            else:
                return
