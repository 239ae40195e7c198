"""One thread that commits: as soon as its queue is empty, and at latest every hundred rows."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future
from itertools import groupby
from typing import NamedTuple

import sqlalchemy

from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.failure import explained
from pytest_factorfair.store.schema import upsert

BATCH = 100


class Write(NamedTuple):
    """A row on its way, and who waits for it to be committed."""

    row: dict[str, object]
    replace: bool
    done: Future[None]


class Writer:
    """Commits rows in the order they came; the first failure is also that of every later row."""

    def __init__(self, database: sqlalchemy.Engine, place: str) -> None:
        self._database = database
        self._place = place
        self._statements = {
            replace: upsert(database.dialect.name, replace=replace) for replace in (False, True)
        }
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failure: StoreError | None = None

    def write(self, row: dict[str, object], *, replace: bool) -> Future[None]:
        """Queue a row; the future is resolved once it is committed, or fails with StoreError."""
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # from now on nobody can cancel it: a row once here is written
        with self._lock:
            if self._closed:
                done.set_exception(StoreError(f"{self._place}: the response store is closed"))
            else:
                self._start()
                self._queue.put(Write(row, replace, done))
        return done

    def close(self, timeout: float) -> None:
        """Commit what is queued and end the thread; waits ``timeout`` seconds at most."""
        with self._lock:
            if not self._closed and self._thread is not None:
                self._queue.put(None)
            self._closed = True
        if self._thread is not None:
            self._thread.join(timeout)

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="factorfair-writer", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, last = self._gather(first)
            self._settle(batch)
            if last:
                return

    def _gather(self, first: Write) -> tuple[list[Write], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                break
            if write is None:
                return batch, True
            batch.append(write)
        return batch, False

    def _settle(self, batch: list[Write]) -> None:
        if self._failure is None:
            try:
                self._commit(batch)
            except Exception as error:  # noqa: BLE001  # whatever it is, those who wait must hear of it
                self._failure = explained(self._place, "cannot be written", error)
        for write in batch:
            if self._failure is None:
                write.done.set_result(None)
            else:
                write.done.set_exception(self._failure)

    def _commit(self, batch: list[Write]) -> None:
        with self._database.begin() as connection:
            for replace, writes in groupby(batch, key=lambda write: write.replace):
                connection.execute(self._statements[replace], [write.row for write in writes])
