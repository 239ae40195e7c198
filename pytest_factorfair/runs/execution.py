"""A run in one of its processes: what it holds open, and how that is closed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import process
from pytest_factorfair.domain import Usage, plural
from pytest_factorfair.errors import PendingError, StoreError
from pytest_factorfair.runs.account import Account
from pytest_factorfair.runs.planning import preflight
from pytest_factorfair.runs.planning.outlook import Outlook
from pytest_factorfair.runs.responses import Responses
from pytest_factorfair.runs.submissions import Submissions
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.batches.run import Sender
    from pytest_factorfair.domain import Exchange, Query, Record, Reuse
    from pytest_factorfair.runs.answering import ReadAnswer
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment, Run
    from pytest_factorfair.runs.transport import WorkerOutput
    from pytest_factorfair.store import Store
    from pytest_factorfair.store.sharing.shards import ShardRow


class Execution:
    """A run in one of its processes. Its parts open on first use, and are closed together.

    ``session`` is the controller's name in the account of the run, if this process is one of its workers;
    ``workers`` is how many this controller has. ``read`` is the user's reader of replies.
    """

    notes: tuple[str, ...] = ()
    """What its reports say about how it got its answers."""
    without_answers = (
        "the store has no answers for another look",
        "to ask for them, run it again without --factorfair-reuse=only",
    )
    """Why it takes no further look if it may not ask, and what to do."""
    archived = False
    """Whether its answers come from a report, which has no pictures."""

    def __init__(
        self, run: Run, *, session: str = "", workers: int = 0, read: ReadAnswer | None = None
    ) -> None:
        self.run = run
        self.responses = Responses(run.settings)
        self.account = Account(run.settings, self.responses, session=session, workers=workers)
        self.submissions = Submissions(run, self.responses, self.account, read=read)
        self.shards_usage = Usage()
        """What the shards that this run judges together have used, known once it has stopped."""
        self.missing_shards: tuple[str, ...] = ()
        """A note for each of these shards that is missing or unfinished."""
        self._workers = workers
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
        if note := self.submissions.connections.note(self._workers):
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
        preflight.check_report(settings, make=True)
        preflight.check(self.run, self.store)
        if settings.reuse != "only" and settings.folder is None and self.outlook.calls:
            preflight.check_services(self.run)
        self.store.sweep()
        process.sweep(Path(settings.report), "report.*", "responses.jsonl*", "pictures/*/*", "partial/*")
        if settings.reuse == "only":
            return
        self.account.begin()
        if settings.shard is not None:
            from pytest_factorfair.runs import shards

            former = shards.begun(self.run, settings.shard, self.store)
            self._shard = replace(former, session=self.account.session)
            self.store.enter(self._shard).result()

    @property
    def needs_batches(self) -> bool:
        """Whether batches are to be sent or collected: earlier runs may have left some."""
        settings = self.run.settings
        return settings.reuse != "only" and (bool(settings.batch) or self.store.has_open_batches)

    @property
    def workers_reuse(self) -> Reuse:
        """The answers that workers take from the store, once this process has fetched those of batches."""
        settings = self.run.settings
        if not settings.batch:
            return settings.reuse
        return "all" if settings.folder is None else "only"

    def fetch_batches(self, queries: Iterable[tuple[str, Sequence[Query]]], meter: Meter) -> None:
        """Fetch the answers of batches to the queries of each model into the store.

        Raises:
            PendingError: batches are not done, and the run does not wait for them any longer.
            InputError: the service has no batches, or the replies in a folder are wrong.
            BudgetError, FatalModelError, StoreError: as for single calls.
        """
        if self.needs_batches:
            self._sender.fetch(queries, meter)

    @cached_property
    def _sender(self) -> Sender:
        sender: Sender = Wing.BATCHES.enter().Sender(self.run, self.submissions, self.store)
        return sender

    @property
    def pending(self) -> PendingError | None:
        """Why the asking ended, in any process, if it met questions that are in batches."""
        failure = self.submissions.failure
        return failure if isinstance(failure, PendingError) else self._pending

    def ask(
        self, queries: Iterable[tuple[str, Sequence[Query]]], meter: Meter
    ) -> Iterator[tuple[Exchange, ...]]:
        """Ask queries that belong to no item, by the spec of the model; yield the exchanges of each sequence.

        Raises:
            PendingError, InputError, BudgetError, FatalModelError, StoreError: see ``fetch_batches``.
        """
        asked = tuple(queries)
        self.fetch_batches(asked, meter)
        submit = self.submissions.engine.submit
        under_way = [submit(self.run.models[spec], model_queries) for spec, model_queries in asked]
        for future in under_way:
            yield self.submissions.wait(future, meter.tick)

    def ask_cases(
        self, assignments: Sequence[Assignment], meter: Meter
    ) -> Iterator[tuple[Assignment, tuple[Exchange, ...]]]:
        """Ask these cases in this process, and yield each with its exchanges, in their order.

        Raises:
            PendingError, InputError, BudgetError, FatalModelError, StoreError: see ``fetch_batches``.
        """
        queries = ((assignment.model, self.run.queries(assignment)) for assignment in assignments)
        self.fetch_batches(queries, meter)
        yield from self.submissions.ask(assignments, meter.tick)

    @property
    def tries_detector(self) -> bool:
        """Whether the detector must see a picture before others are paid for: only that shows if it works."""
        if self.run.detector is None or self.run.settings.reuse == "only":
            return False
        from pytest_factorfair import detection

        return detection.needs_look(self.run.detector)

    def try_detector(self, assignments: Sequence[Assignment], meter: Meter) -> None:
        """Ask for one picture before all others if ``tries_detector``, and show it to the detector.

        Raises:
            InputError: the detector cannot be used.
            BudgetError, FatalModelError, StoreError: as of ``ask``.
        """
        run, detector = self.run, self.run.detector
        if detector is None or not self.tries_detector:
            return
        from pytest_factorfair import detection

        for assignment in assignments:
            queries = run.queries(assignment)
            if run.settings.reuse == "all" and self.has([(assignment.model, queries)]):
                continue
            ((exchange,),) = self.ask([(assignment.model, queries[:1])], meter)
            if exchange.response is not None and exchange.response.image_file:
                picture = self.store.pictures.read(exchange.response.image_file)
                for checklist in run.checklists:
                    detection.first_look(detector, picture, checklist.uncrossed)
            return

    def has(self, queries: Iterable[tuple[str, Sequence[Query]]]) -> bool:
        """Whether the answers of these models, by spec, to these queries are stored.

        Raises:
            StoreError: the store cannot be read.
        """
        return self.responses.has(self.run.keys(queries))

    def record(self, assignment: Assignment, exchanges: Sequence[Exchange]) -> Record:
        """The record of a case's exchanges; see ``AnswerReader.record``."""
        return self.submissions.reader.record(assignment, exchanges, detector=self.run.detector)

    def cancellable(self) -> AbstractContextManager[None]:
        """A context in which SIGTERM and SIGHUP end the run as Ctrl-C does, until it is stopped."""
        from pytest_factorfair.engine import Cancellation

        return nullcontext() if self.run.settings.reuse == "only" else Cancellation(lambda: self._stopped)

    def interrupt(self, reason: str) -> None:
        """Stop without waiting for a store that fails."""
        self.responses.stop_waiting()
        self.stop(reason)

    def stop(self, reason: str) -> None:
        """Ask nothing more, in any process: each checks before every call.

        Replies in flight are stored, or rescued.
        """
        self._stopped = True
        self.account.end(reason)
        if self.submissions.started:
            self.submissions.close()
        else:
            self.account.settle()  # the workers
        self.responses.recall(self.submissions.failure)
        if self.responses.opened and self.run.settings.shard is None:
            try:
                if rows := self.store.shards():
                    from pytest_factorfair.runs import shards

                    of_run = shards.of_run(self.run, rows)
                    self.shards_usage = shards.usage(of_run)
                    self.missing_shards = tuple(shards.missing(of_run))
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

    def worker_output(self) -> WorkerOutput:
        """The output that a worker sends to its controller when it ends."""
        from pytest_factorfair.runs.transport import WorkerOutput

        responses, pending = self.responses, self.pending
        return WorkerOutput(*self.account.own_usage, responses.rescued, responses.trouble, str(pending or ""))

    def add_worker(self, worker: WorkerOutput) -> None:
        """Add the usage of a worker that ended to that of the run, and what it could not store."""
        self.account.add_worker(worker.owner, worker.usage)
        self.responses.add_worker(worker.rescued, worker.trouble)
        if worker.pending:
            self._pending = PendingError(worker.pending)

    def close(self) -> None:
        """Stop asking, store what arrived, release everything."""
        if self.submissions.started:
            self.submissions.close()
            self.responses.recall(self.submissions.failure)
        self.account.close()
        self.responses.close()
        self.submissions.connections.close()
        if self.run.cluster is not None:
            self.run.cluster.close()
