"""The writer's transactions, one after the other over one connection."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy

from pytest_factorfair.store import opening
from pytest_factorfair.store.folders import sync

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPICursor

_to_disk = getattr(os, "fdatasync", os.fsync)  # where there is one: it leaves out what nobody reads
_POLL = 1  # milliseconds; left alone, SQLite sleeps up to a hundred times as long while nobody writes


class Transactions:
    """Begins transactions; taking a connection from the pool for each would cost more than a commit."""

    def __init__(self, database: sqlalchemy.Engine) -> None:
        self._database = database
        self._file = database.dialect.name == "sqlite"
        self._connection: sqlalchemy.Connection | None = None
        self._log = ""  # what must reach the disk for a transaction to last; "" where SQLite sees to that
        self._opened: int | None = None

    @contextmanager
    def begin(self, *, lasting: bool) -> Iterator[sqlalchemy.Connection]:
        """A transaction, committed with the block; unless it is ``lasting``, the disk is not waited for.

        What is not lasting is seen by all processes, and lost only with the machine.
        """
        connection = self._connected()
        with connection.begin():
            if self._file:
                self._lock(connection)
            elif not lasting:
                connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
            yield connection
        if lasting and self._log:
            self._flush()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None

    def _connected(self) -> sqlalchemy.Connection:
        if self._connection is None:
            self._connection = self._database.connect()
            self._connection.detach()  # as impatient as it is made here it is for nobody else
            if self._file:
                self._prepare(self._connection.connection.cursor())
        return self._connection

    def _prepare(self, cursor: DBAPICursor) -> None:
        cursor.execute(f"PRAGMA busy_timeout={_POLL}")
        if cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            cursor.execute("PRAGMA synchronous=NORMAL")
            self._log = f"{cursor.execute('PRAGMA database_list').fetchone()[2]}-wal"

    def _flush(self) -> None:
        """Wait for the disk, where others may write meanwhile: SQLite itself would have them wait, too."""
        if self._opened is None:  # it stays the same file for as long as there is a connection
            self._opened = os.open(self._log, os.O_RDWR)
            sync(Path(self._log).parent)  # it may be new
        _to_disk(self._opened)

    def _lock(self, connection: sqlalchemy.Connection) -> None:
        """Become the one process that writes into the file."""
        cursor = connection.connection.cursor()
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
