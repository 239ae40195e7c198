"""Transactions on a database with a file that may be removed or damaged while it is open."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from pytest_factorfair.errors import RescuedError, StoreError
from pytest_factorfair.process import sync
from pytest_factorfair.store import opening
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.schema import (
    BATCH_ITEMS,
    BATCHES,
    DETECTIONS,
    META,
    RESPONSES,
    SHARDS,
    insert_new,
    upsert,
)

_to_disk = getattr(os, "fdatasync", os.fsync)  # faster where available, as it skips unneeded metadata
_PAUSE = 0.2  # seconds between two attempts at a checkpoint
_CHUNK = 500  # rows per statement
_SHARE = 0.05  # maximum share of the time spent on verifying the file after it has changed


class Transactions:
    """Runs transactions on a single connection: taking one from the pool costs more than a commit."""

    def __init__(self, database: sqlalchemy.Engine) -> None:
        self._database = database
        self._file = database.dialect.name == "sqlite"
        self._connection: sqlalchemy.Connection | None = None
        self._path = Path()
        self._log: Path | None = None  # the log to sync to disk; None if SQLite does so itself
        self._opened: int | None = None
        self._seen: dict[Path, os.stat_result] = {}
        self._next_check = 0.0  # by the monotonic clock

    @contextmanager
    def begin(self, *, lasting: bool) -> Iterator[sqlalchemy.Connection]:
        """A transaction that is committed at the end of the block; only a ``lasting`` one is synced to disk.

        Other transactions are visible to all processes, and lost only if the machine fails.

        Raises:
            RescuedError: the file was removed while open; it was written again, including this transaction.
            StoreError: the file was removed and cannot be written again, or it is damaged.
        """
        with self.read() as connection:
            if self._file:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                # Opened once, as the log stays the same file while there is a connection, and by the first
                # transaction, which claims keys: storing paid responses later needs no further open file.
                if self._log and self._opened is None:
                    self._opened = os.open(self._log, os.O_RDWR)
                    sync(self._log.parent)  # the log may be a new file
            elif not lasting:
                connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
            yield connection
        if lasting and self._opened is not None:
            # Synced after the commit, so that other processes can write meanwhile; SQLite would block them.
            _to_disk(self._opened)
        if self._file:
            if removed := self._removed():
                raise self._saved(connection, removed)
            if lasting:
                self._check()

    @contextmanager
    def read(self) -> Iterator[sqlalchemy.Connection]:
        """A transaction for reading, without locks; it also works if the file was removed while open."""
        connection = self._connected()
        try:
            with connection.begin():
                yield connection
        except DBAPIError as error:
            if error.connection_invalidated:
                self._connection = None
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None

    def _connected(self) -> sqlalchemy.Connection:
        if self._connection is None:
            self._connection = self._database.connect()
            self._connection.detach()  # no other gets it: it does not wait for the disk by itself
            if self._file:
                cursor = self._connection.connection.cursor()
                self._path = Path(cursor.execute("PRAGMA database_list").fetchone()[2])
                self._removed()  # from here on it must stay the same file
                if cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                    cursor.execute("PRAGMA synchronous=NORMAL")
                    self._log = self._path.with_name(f"{self._path.name}-wal")
        return self._connection

    def _removed(self) -> Path | None:
        """The path of the file or its log if another file, or none, is there now; otherwise None."""
        for path in filter(None, (self._path, self._log)):
            try:
                file_status = path.stat()
            except OSError:
                return path
            if not os.path.samestat(file_status, self._seen.setdefault(path, file_status)):
                return path
        return None

    def _check(self) -> None:
        """Verify the file if it has changed, because SQLite does not read pages again that are in memory.

        Checkpoints change the file, too, but only once in a thousand pages.
        """
        file_status, started = self._path.stat(), time.monotonic()
        if file_status.st_mtime_ns != self._seen[self._path].st_mtime_ns and started >= self._next_check:
            opening.verify(self._database, str(self._path))
            ended = time.monotonic()
            self._next_check = ended + (ended - started) / _SHARE
            self._seen[self._path] = file_status

    def _saved(self, connection: sqlalchemy.Connection, removed: Path) -> StoreError:
        """Write the open, removed file to its path again, and return an error that reports this.

        Other processes that have the file open do the same. The connection is not closed: with the last
        connection SQLite deletes the log by its name, which may be the log of a new store by then.
        """
        try:
            with connection.begin():
                if removed == self._path:
                    _copy(connection, removed)
                else:
                    _checkpoint(connection)
        except (StoreError, SQLAlchemyError) as error:
            return explained(str(removed), "was removed during the run and cannot be written again", error)
        return RescuedError(
            f"{removed}: removed during the run; the responses are written again, and the next run goes on "
            "from there"
        )


def _copy(connection: sqlalchemy.Connection, path: Path) -> None:
    """Copy an open file, except claims, into the store at a path, which is created if needed."""
    store = opening.opened(sqlalchemy.URL.create("sqlite", database=str(path)), read_only=False)
    statements = {
        table: insert_new("sqlite", table) for table in (META, DETECTIONS, SHARDS, BATCHES, BATCH_ITEMS)
    }
    statements[RESPONSES] = upsert("sqlite", replace=False)
    try:
        with store.begin() as target:
            for table, statement in statements.items():
                for rows in connection.execute(select(table)).mappings().partitions(_CHUNK):
                    target.execute(statement, [dict(row) for row in rows])
    finally:
        store.dispose()


def _checkpoint(connection: sqlalchemy.Connection) -> None:
    """Transfer the log to the file (a full checkpoint)."""
    end = time.monotonic() + opening.TIMEOUT
    while connection.exec_driver_sql("PRAGMA wal_checkpoint(FULL)").one()[0]:  # blocked by a reader
        if time.monotonic() > end:
            raise StoreError("another process keeps reading it")
        time.sleep(_PAUSE)
