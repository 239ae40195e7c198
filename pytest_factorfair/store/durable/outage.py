"""Outages of a store: retry until a time limit, shared by everything in this process that uses the store."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.opening import explained

PATIENCE = 60.0
"""How many seconds a store may be unavailable."""

SLOW = 0.5
"""After how many seconds an unfinished transaction counts as an outage, during which no calls are made."""

SLOW_PICTURES = 2.0
"""After how many seconds an unfinished writing of pictures counts as an outage."""

HASTE = 5.0
"""How many seconds an interrupted run waits for an unavailable store."""

_PAUSE = 0.2  # seconds between two attempts
_SQLITE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}
# Prefixes of SQLSTATE for temporary errors: connection, serialization, resources, intervention by an operator
# or the system, read-only server.
_POSTGRESQL = ("08", "40", "53", "57P", "58", "25006")

T = TypeVar("T")


class Outage:
    """The outage of a store: it begins with the first failure, and ends with the next success.

    After ``patience`` seconds the store is given up: nothing more is written, and it is read only until that
    fails, too. Permanent failures, such as a damaged file, are no outage.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._lock = threading.Lock()
        self._since: float | None = None  # beginning of the outage; all times by the monotonic clock
        self._write_failed = False  # whether a write has failed since then, which no read ends
        self._attempts: dict[object, tuple[float, float]] = {}  # start, and when it counts as slow
        self._final_error: Exception | None = None
        self._unreadable = False
        self._connections: WeakSet[Any] = WeakSet()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    @property
    def ongoing(self) -> bool:
        """Whether there is an outage: the store fails, or does not answer."""
        current_time = time.monotonic()
        with self._lock:
            return self._since is not None or any(current_time > slow for _, slow in self._attempts.values())

    @property
    def given_up(self) -> bool:
        """Whether the store has been given up."""
        return self._final_error is not None

    def hurry(self) -> None:
        """Shorten the time limit, because the run is being interrupted."""
        self.patience = min(self.patience, HASTE)

    def with_retries(self, attempt: Callable[[], T], *, writes: bool, slow: float = SLOW) -> T:
        """Return the result of an attempt, repeating it during an outage until the time limit."""
        began = time.monotonic()
        while True:
            if self._final_error is not None and (writes or self._unreadable):
                raise self._final_error.with_traceback(None)
            mark, started = object(), time.monotonic()
            with self._lock:
                self._attempts[mark] = started, started + slow
            try:
                result = attempt()
            except Exception as error:
                if not _may_return(error):
                    raise
                if self._failed(mark, error, began, writes=writes):
                    raise
            else:
                with self._lock:
                    if writes or not self._write_failed:
                        self._since, self._write_failed = None, False
                return result
            finally:
                with self._lock:
                    self._attempts.pop(mark, None)
            time.sleep(_PAUSE)

    def _failed(self, mark: object, error: Exception, began: float, *, writes: bool) -> bool:
        """Record a failure; return whether the store is now given up."""
        with self._lock:
            started, _ = self._attempts[mark]
            self._since = started if self._since is None else self._since
            self._write_failed |= writes
            if self._final_error is not None:
                self._unreadable |= not writes
            elif time.monotonic() - min(began, self._since) >= self.patience:
                self._final_error = error
            return self._final_error is not None

    def watch(self, database: sqlalchemy.Engine) -> None:
        """Watch a server's connections, and cut them if an attempt gets no reply within the time limit."""

        # Not the event "connect", because the first connection exists already.
        @event.listens_for(database, "checkout")
        def _taken(connection: Any, _record: object, _proxy: object) -> None:
            with self._lock:
                self._connections.add(connection)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="factorfair-watch", daemon=True)
                    self._thread.start()

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(min(1.0, self.patience / 4)):
            with self._lock:
                begins = [begin for begin, _ in self._attempts.values()]
                begins += [] if self._since is None or not begins else [self._since]
            if begins and time.monotonic() - min(begins) >= self.patience:
                self._unreadable = True
                if self._final_error is None:
                    self._final_error = TimeoutError(f"no reply for {self.patience:g} seconds")
                for connection in list(self._connections):
                    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as wire:
                        wire.shutdown(socket.SHUT_RDWR)  # an attempt that waits for a reply fails


def read(
    outage: Outage, database: sqlalchemy.Engine, location: str, ask: Callable[[sqlalchemy.Connection], T]
) -> T:
    """Run a query on a separate connection.

    Raises:
        StoreError: the store cannot be read.
    """

    def attempt() -> T:
        with database.connect() as connection:
            return ask(connection)

    try:
        return outage.with_retries(attempt, writes=False)
    except StoreError:
        raise
    except (SQLAlchemyError, OSError) as error:
        raise explained(location, "cannot be read", error) from error


def _may_return(error: Exception) -> bool:
    """Whether an error is temporary, so that the same attempt may succeed later."""
    if not isinstance(error, DBAPIError):  # from the disk or a folder of pictures
        return isinstance(error, OSError) and not isinstance(error, StoreError)
    if isinstance(error.orig, sqlite3.Error):
        code = getattr(error.orig, "sqlite_errorcode", 0)
        return code & 0xFF in _SQLITE and code != sqlite3.SQLITE_IOERR_SHORT_READ  # that is a truncated file
    state = getattr(error.orig, "sqlstate", None)  # None: no reply
    return error.connection_invalidated or state is None or state.startswith(_POSTGRESQL)
