"""The thread that writes to a store: it commits when its queue is empty, and at least every hundred rows."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.errors import LostPictureError, RescuedError, StoreError
from pytest_factorfair.store.durable.outage import SLOW_PICTURES, Outage
from pytest_factorfair.store.durable.rescue import Rescue
from pytest_factorfair.store.durable.transactions import Transactions
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.rows import Write
from pytest_factorfair.store.schema import UNBATCH, PreparedStatement, upsert
from pytest_factorfair.store.sharing.claims import BEAT, Claimant

if TYPE_CHECKING:
    from pytest_factorfair.store.pictures import Picture, Pictures

ArgumentT = TypeVar("ArgumentT")
ResultT = TypeVar("ResultT")
BATCH = 100
FLUSH = 60.0
"""How many seconds the last commits may take, in addition to the time limit of an outage."""

Begin = Callable[[], AbstractContextManager[sqlalchemy.Connection]]


class Batch(NamedTuple):
    """Responses that were put together; ``done`` is resolved once they are committed."""

    writes: Sequence[Write]
    done: Future[None]


class Task(NamedTuple):
    """Work to do in a transaction; ``done`` gets its result once it is committed.

    Consecutive tasks with the same function ``run`` are done in one call, with the list of their arguments.
    A task that is ``lasting`` is synced to disk.
    """

    run: Callable[[sqlalchemy.Connection, list[Any]], Sequence[Any]]
    argument: Any
    done: Future[Any]
    reads: bool = False
    lasting: bool = False


class Writer:
    """Commits rows in the order of their arrival, in a separate thread.

    After the first failure every later row fails, too, unless the file was removed: then rows in the queue
    are still written. Rows that fail are rescued. A process has one writer for responses and claims, and one
    for its limits (``limits.py``), so that limits never wait for the disk. A claim ends in the transaction
    that writes its response, and so does the item of a batch.
    """

    def __init__(  # as many as there are things to write, and to write to
        self,
        database: sqlalchemy.Engine,
        location: str,
        pictures: Callable[[], Pictures],
        outage: Outage,
        rescue: Rescue | None = None,
    ) -> None:
        self.claimant = Claimant(database.dialect)
        self._location = location
        self._pictures = pictures
        self._outage = outage
        self._rescue = rescue
        self._statements = {
            replace: PreparedStatement(upsert(database.dialect.name, replace=replace), database.dialect)
            for replace in (False, True)
        }
        self._unbatch = PreparedStatement(UNBATCH, database.dialect)
        self._queue: queue.SimpleQueue[Batch | Task | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failure: StoreError | None = None
        self._transactions = Transactions(database)
        self._cut_off = False  # whether the last transaction failed

    def write(self, writes: Sequence[Write]) -> Future[None]:
        """Queue rows; the future is done once all are committed, or fails with StoreError.

        It fails with RescuedError, a kind of StoreError, if the rows are safe in a file.
        """
        done: Future[None] = Future()
        self._enqueue(Batch(writes, done))
        return done

    def do(
        self,
        run: Callable[[sqlalchemy.Connection, list[ArgumentT]], Sequence[ResultT]],
        argument: ArgumentT,
        *,
        lasting: bool = False,
    ) -> Future[ResultT]:
        """Queue a task; the future gets its result once it is committed, or fails with StoreError."""
        done: Future[ResultT] = Future()
        self._enqueue(Task(run, argument, done, lasting=lasting))
        return done

    def read(self, ask: Callable[[sqlalchemy.Connection], ResultT]) -> ResultT:
        """Read the state after everything in the queue, even if the file was removed or is not writable.

        Raises:
            StoreError: the store cannot be read.
        """
        done: Future[ResultT] = Future()
        self._enqueue(Task(lambda connection, _: [ask(connection)], None, done, reads=True))
        return done.result()

    def close(self) -> None:
        """Commit or rescue everything in the queue, release all claims, and end the thread."""
        with self._lock:
            if not self._closed and self._thread is not None:
                self._queue.put(None)
            self._closed = True
        if self._thread is not None:
            self._thread.join(self._outage.patience + FLUSH)

    def _enqueue(self, entry: Batch | Task) -> None:
        entry.done.set_running_or_notify_cancel()  # so that it cannot be cancelled any more
        with self._lock:
            if self._closed:
                entry.done.set_exception(StoreError(f"{self._location}: the response store is closed"))
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="factorfair-writer", daemon=True)
                self._thread.start()
            self._queue.put(entry)

    def _run(self) -> None:
        last = False
        while not last:
            entries, last = self._gather()
            if self.claimant.due:  # before new claims: a process considered dead loses them
                entries.insert(0, Task(self._heartbeat, None, Future()))
            self._settle(entries)
            if self.claimant.active and last:

                def leave(connection: sqlalchemy.Connection, arguments: list[None]) -> list[None]:
                    self.claimant.leave(connection)
                    return arguments

                # After a failure, too (as a task that only reads): other processes wait for the claims.
                self._settle([Task(leave, None, Future(), reads=self._failure is not None)])
            del entries  # free pictures, which may be large, while waiting for the next entries
        self._transactions.close()
        if "_picture_thread" in self.__dict__:
            self._picture_thread.shutdown(wait=False)

    def _gather(self) -> tuple[list[Batch | Task], bool]:
        """Take entries from the queue, none if a heartbeat is due; also return whether they are the last."""
        entries: list[Batch | Task] = []
        rows = 0
        patience = BEAT if self.claimant.active else None
        while rows < BATCH:
            try:
                entry = self._queue.get_nowait() if entries else self._queue.get(timeout=patience)
            except queue.Empty:
                break
            if entry is None:
                return entries, True
            entries.append(entry)
            rows += len(entry.writes) if isinstance(entry, Batch) else 1
        return entries, False

    def _settle(self, entries: list[Batch | Task]) -> None:
        """Commit all rows together, then the tasks; each kind of task has its own transaction.

        Rows may come first, because no earlier task concerns their keys.
        """
        batches = [entry for entry in entries if isinstance(entry, Batch)]
        writes = [write for batch in batches for write in batch.writes]
        parts = (writes[start : start + BATCH] for start in range(0, len(writes), BATCH))
        failures = [failure for part in parts if (failure := self._written(part)) is not None]
        failure = min(failures, key=lambda error: isinstance(error, RescuedError), default=None)  # the worst
        for batch in batches:
            if failure is None:
                batch.done.set_result(None)
            else:
                batch.done.set_exception(failure)
        tasks = (entry for entry in entries if isinstance(entry, Task))
        for run, alike in groupby(tasks, key=lambda task: task.run):
            self._perform(run, list(alike))

    def _written(self, writes: list[Write]) -> StoreError | None:
        """Write rows, or rescue them; return the failure, if there is one."""
        failure = self._failure
        if failure is None:
            try:
                self._keep(writes)
            except (LostPictureError, RescuedError) as error:
                return error
            except StoreError as error:
                failure = error
            except Exception as error:  # noqa: BLE001  # passed on to the waiting callers
                failure = self._failure = explained(self._location, "cannot be written", error)
        if self._rescue is None:
            return failure
        if failure is None:
            self._rescue.remember(writes)
            return None
        try:
            self._rescue.write(writes)
        except OSError as error:
            return StoreError(f"{failure}; responses cannot be rescued: {error}; the next run asks again")
        return RescuedError(str(failure))

    def _keep(self, writes: list[Write]) -> None:
        """Write pictures, then rows, and end their claims."""

        def keep(connection: sqlalchemy.Connection) -> None:
            for replace, alike in groupby(writes, key=lambda write: write.replace):
                self._statements[replace].execute(connection, [write.row for write in alike])
            keys = [str(write.row["key"]) for write in writes]
            self._unbatch.execute(connection, [{"key_": key} for key in keys])
            if self.claimant.active:
                self.claimant.release(connection, keys)

        self._outage.with_retries(
            lambda: self._keep_pictures([write.picture for write in writes if write.picture]),
            writes=True,
            slow=SLOW_PICTURES,
        )
        # Stored by replicas: a row must not be written if its picture is missing.
        named = [write.row for write in writes if write.row["picture"] and not write.picture]
        sizes = self._pictures().sizes([str(row["picture"]) for row in named]) if named else ()
        for row, size in zip(named, sizes, strict=True):
            if size is None:
                where = f"{self._pictures().location}/{row['picture']}"
                raise LostPictureError(f"{where}: a replica reported it as stored, and it is missing")
            row["picture_size"] = size
        self._transact(keep, partial(self._transactions.begin, lasting=True))

    def _keep_pictures(self, pictures: Sequence[Picture]) -> None:
        """Write pictures, with heartbeats: without them, other processes would take the claims meanwhile."""
        if not pictures:
            return
        writing = self._picture_thread.submit(self._pictures().keep, pictures)
        while wait([writing], BEAT).not_done:
            if self.claimant.due:
                self._perform(self._heartbeat, [Task(self._heartbeat, None, Future())])
        writing.result()

    @cached_property
    def _picture_thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, "factorfair-keeper")

    def _transact(
        self, work: Callable[[sqlalchemy.Connection], ResultT], begin: Begin, *, writes: bool = True
    ) -> ResultT:
        """Do work in a transaction, and return its result once it is committed."""

        def attempt() -> ResultT:
            try:
                with begin() as connection:
                    if self._cut_off and self.claimant.active:
                        self.claimant.heartbeat(connection)  # the last heartbeat may be lost with it
                    result = work(connection)
            except SQLAlchemyError:
                self._cut_off = True
                raise
            self._cut_off = False
            return result

        return self._outage.with_retries(attempt, writes=writes)

    def _perform(
        self, run: Callable[[sqlalchemy.Connection, list[Any]], Sequence[Any]], tasks: Sequence[Task]
    ) -> None:
        results: Sequence[Any] = ()
        begin: Begin = partial(self._transactions.begin, lasting=tasks[0].lasting)
        failure, reads = self._failure, tasks[0].reads
        if reads:
            begin, failure = self._transactions.read, None
        if failure is None:
            try:
                arguments = [task.argument for task in tasks]
                results = self._transact(
                    lambda connection: run(connection, arguments), begin, writes=not reads
                )
            except StoreError as error:
                failure = error
            except Exception as error:  # noqa: BLE001  # passed on to the waiting callers
                failure = explained(self._location, "cannot be read" if reads else "cannot be written", error)
                self._failure = self._failure if reads else failure
        if failure is not None:
            for task in tasks:
                task.done.set_exception(failure)
            return
        for task, result in zip(tasks, results, strict=True):
            task.done.set_result(result)

    def _heartbeat(self, connection: sqlalchemy.Connection, arguments: list[None]) -> list[None]:
        self.claimant.heartbeat(connection)
        return arguments
