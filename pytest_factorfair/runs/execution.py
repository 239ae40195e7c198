"""The open resources of one process of a run: its responses, account, connections and engine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import process
from pytest_factorfair.domain import Usage, plural
from pytest_factorfair.errors import PendingError, StoreError
from pytest_factorfair.models.prices import estimates
from pytest_factorfair.runs import replicas, shards, transport
from pytest_factorfair.runs.account import Account
from pytest_factorfair.runs.batches import Batches
from pytest_factorfair.runs.connections import Connections
from pytest_factorfair.runs.planning import preflight
from pytest_factorfair.runs.planning.outlook import Outlook
from pytest_factorfair.runs.responses import Responses
from pytest_factorfair.runs.submissions import Submissions

if TYPE_CHECKING:
    from pytest_factorfair.engine import Engine, Judge
    from pytest_factorfair.engine.dispatcher import Counters, Failure
    from pytest_factorfair.runs.answering import ReadAnswer
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.store import ShardRow, Store


class Execution:
    """A run in one of its processes. Its parts open on first use, and are closed together.

    ``session`` is the controller's name in the account of the run, if this process is one of its workers;
    ``workers`` is how many this controller has. ``read`` is the user's reader of replies.
    """

    def __init__(
        self, run: Run, *, session: str = "", workers: int = 0, read: ReadAnswer | None = None
    ) -> None:
        self.run = run
        self.read = read
        self.responses = Responses(run.settings)
        self.account = Account(run.settings, self.responses, session=session, workers=workers)
        self.connections = Connections(run)
        self.batches = Batches(self)
        self.submissions = Submissions(run, lambda: self.engine)
        self.shards: tuple[ShardRow, ...] = ()
        """The shards that this run judges together, known once it has stopped."""
        self._workers = workers
        self._engine: Engine | None = None
        self._judge: Judge | None = None
        self._stopped = False
        self._pending: PendingError | None = None  # in one of its workers
        self._shard: ShardRow  # in the process that began a shard

    @property
    def store(self) -> Store:
        """The response store.

        Raises:
            StoreError: it cannot be opened or created.
        """
        return self.responses.store

    @cached_property
    def outlook(self) -> Outlook:
        """The planned answers, and how many of them are stored."""
        return Outlook.of(self.run, self.store)

    def header(self, *, sized: bool = True) -> list[str]:
        """The lines that announce the run to the user, with its size if that is known.

        Raises:
            StoreError: the store cannot be opened or read.
        """
        lines = self.outlook.lines(sized=sized)
        if taken_up := self.responses.taken_up:
            responses = plural(taken_up, "response")
            lines.append(f"factorfair: note: {responses} that an earlier run rescued are now in the store")
        if note := self.connections.note(self._workers):
            lines.append(f"factorfair: note: {note}")
        return lines

    def begin(self) -> None:
        """Check all that can be checked before a call is paid, tidy up after dead processes, set the limits.

        Called in the process that controls the run, before any process asks.

        Raises:
            InputError: the checks find a mistake, or the run is in progress elsewhere with other limits.
            StoreError: the store cannot be opened or written, or the storage of pictures refuses them.
        """
        settings = self.run.settings
        preflight.check(self)
        self.store.sweep()
        process.sweep(Path(settings.report), "report.*", "responses.jsonl*", "pictures/*/*", "partial/*")
        if settings.reuse == "only":
            return
        self.account.begin()
        if settings.shard is not None:
            former = shards.begun(self.run, settings.shard, self.store)
            self._shard = replace(former, session=self.account.session)
            self.store.enter(self._shard).result()

    @property
    def engine(self) -> Engine:
        """The engine; a controller of workers never uses it."""
        if self._engine is None:
            self._engine = self._started()
        return self._engine

    @property
    def counters(self) -> Counters | None:
        """The counts of this process's queries and calls; None if it has not started."""
        return None if self._engine is None else self._engine.snapshot()

    @property
    def failure(self) -> Failure | None:
        """The error that ended the asking of this process for good."""
        return None if self._engine is None else self._engine.failure

    @property
    def pending(self) -> PendingError | None:
        """Why the asking ended, in any process, if it met questions that are in batches."""
        return self.failure if isinstance(self.failure, PendingError) else self._pending

    def prepare_reading(self) -> None:
        """Import what reads replies, in the main thread and while the first are on their way."""
        if self._judge is None:
            from pytest_factorfair.runs.answering import judge

            self._judge = judge(self.run, self.read)

    def cancellable(self) -> AbstractContextManager[None]:
        """A context in which SIGTERM and SIGHUP end the run as Ctrl-C does, until it is stopped."""
        from pytest_factorfair.engine import Cancellation

        return nullcontext() if self.run.settings.reuse == "only" else Cancellation(lambda: self._stopped)

    def interrupt(self, reason: str) -> None:
        """Stop without waiting for a store that is away."""
        self.responses.hurry()
        self.stop(reason)

    def stop(self, reason: str) -> None:
        """Ask nothing more, in any process: each checks before every call.

        Replies in flight are stored, or rescued.
        """
        self._stopped = True
        self.account.end(reason)
        if self._engine is None:
            self.account.settle()  # the workers
        else:
            self._engine.close()
        self.responses.recall(self.failure)
        if self.responses.opened and self.run.settings.shard is None:
            try:
                self.shards = shards.of_run(self.run, self.store)
            except StoreError as error:
                self.responses.trouble = self.responses.trouble or str(error)

    def enter_shard(self, usage: Usage, *, finished: bool) -> None:
        """Enter the usage of this shard, for the run that judges all shards.

        Raises:
            StoreError: the store cannot be written.
        """
        row = self._shard
        updated = replace(row, usage=row.usage + usage, finished=finished, session="")
        self.store.enter(updated).result()

    def worker_output(self) -> transport.WorkerOutput:
        """The output that a worker sends to its controller when it ends."""
        responses, pending = self.responses, self.pending
        return transport.WorkerOutput(
            *self.account.own_usage, responses.rescued, responses.trouble, str(pending or "")
        )

    def add_worker(self, worker: transport.WorkerOutput) -> None:
        """Add the usage and the troubles of a worker that ended to those of the run."""
        self.account.add_worker(worker.owner, worker.usage)
        self.responses.add_worker(worker.rescued, worker.trouble)
        if worker.pending:
            self._pending = PendingError(worker.pending)

    def close(self) -> None:
        """Stop asking, store what arrived, release everything."""
        if self._engine is not None:
            self._engine.close()
            self.responses.recall(self.failure)
        self.account.close()
        self.responses.close()
        self.connections.close()
        replicas.close(self.run)

    def _started(self) -> Engine:
        from pytest_factorfair.engine import Engine, Retry

        run, settings, limits = self.run, self.run.settings, self.account.limits
        if run.modality == "image":
            # Otherwise a thread of the loop would import it: pytest rewrites the modules of a plugin as they
            # are imported, and the parser of CPython 3.11 fails if two threads do so at once.
            import_module("pytest_factorfair.pictures.decode")
        retry = Retry(attempts=1 + settings.retries, patience=settings.patience)
        engine = Engine(
            self.store,
            connections=self.connections.per_endpoint,
            reuse=settings.reuse if settings.folder is None else "only",
            limits=limits,
            estimate=estimates(run.price, run.modality),
            retry=retry if limits is None else replace(retry, clock=limits.clock),
            price=run.price,
            batch_price=run.batch_price,
            batch_estimate=estimates(run.batch_price, run.modality),
            judge=lambda: self._judge,
            first_replies=settings.first_replies,
        )
        if run.looking is not None:
            run.looking.connect(engine.submit)
        return engine
