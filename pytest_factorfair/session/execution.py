"""The open resources of one process of a run: store, engine, limits and account, cluster.

``Window`` submits cases to the engine before their tests ask for them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import process, protocols
from pytest_factorfair.domain import GRACE, Case, CaseKey, Exchange, Query, Usage, plural
from pytest_factorfair.errors import BudgetError, InputError, StoreError
from pytest_factorfair.models.prices import estimates
from pytest_factorfair.session import shards, transport
from pytest_factorfair.session.outlook import Outlook

if TYPE_CHECKING:
    from pytest_factorfair.engine import EndpointState, Engine, Limits
    from pytest_factorfair.models import Model
    from pytest_factorfair.session.progress import Meter
    from pytest_factorfair.session.run import Assignment, Run
    from pytest_factorfair.store import Said, ShardRow, SharedLimits, Store


SPARE_FILES = 96
"""Files that a run has open besides its connections: the store, its log, reports, the user's own."""

SPARE_FILES_FOR_PICTURES = 160
"""Pictures of a batch that are written at once, or connections to a bucket."""


class Execution:
    """The resources of a run in one process: opened on first use, closed once.

    ``session`` is the controller's name in the account of the run, if this process is one of its workers;
    ``workers`` is how many this controller has.
    """

    def __init__(self, run: Run, *, session: str = "", workers: int = 0) -> None:
        self.run = run
        self._session = session
        self._workers = workers
        self._controller = os.getppid()
        self._pending: dict[CaseKey, Future[tuple[Exchange, ...]]] = {}
        self._larger: dict[tuple[str, int], dict[str, Case]] = {}
        self._endpoints: tuple[EndpointState, ...] = ()
        self._usage = Usage()
        self._stopped = False
        self._taken_up = 0
        self._rescued = 0
        self._recalled = False
        self.trouble = ""
        """Why the store has lost responses, or could not take some, as far as any process knows."""
        self.shards: tuple[ShardRow, ...] = ()
        """The shards whose merged answers this run judges, once it has stopped."""
        self._shard: ShardRow  # in the process that began a shard

    @cached_property
    def store(self) -> Store:
        """The response store.

        Raises:
            StoreError: it cannot be opened or created.
        """
        from pytest_factorfair.store import PATIENCE, Store

        settings, since = self.run.settings, ""
        if settings.max_age is not None and not settings.replay:
            since = (datetime.now(UTC) - timedelta(seconds=settings.max_age)).isoformat(timespec="seconds")
        opened = Store.open(
            settings.store,
            read_only=settings.replay,
            pictures=settings.pictures or "",
            folder=Path(settings.own_pictures),
            rescue=Path(settings.own_pictures).parent,
            patience=min(PATIENCE, settings.patience),
            since=since,
        )
        try:
            self._taken_up = opened.take_up()
        except StoreError:
            opened.close()
            raise
        return opened

    @cached_property
    def engine(self) -> Engine:
        """The engine; a controller of workers never uses it."""
        from pytest_factorfair.engine import Engine, Retry

        if self.run.modality == "image":
            # Otherwise a thread of the loop would import it: pytest rewrites the modules of a plugin as they
            # are imported, and the parser of CPython 3.11 fails if two threads do so at once.
            import_module("pytest_factorfair.pictures.decode")
        settings, limits = self.run.settings, self.limits
        retry = Retry(attempts=1 + settings.retries, patience=settings.patience)
        engine = Engine(
            self.store,
            connections=self.connections,
            replay=self.run.settings.replay,
            refresh=self.run.settings.refresh,
            limits=limits,
            estimate=estimates(self.run.price, self.run.modality),
            retry=retry if limits is None else replace(retry, clock=limits.clock),
            price=self.run.price,
        )
        if self.run.looking is not None:
            self.run.looking.connect(engine.submit)
        return engine

    @cached_property
    def connections(self) -> int:
        """Calls in flight to one endpoint: no more than this process may open files for."""
        if self._open_files.left is None:
            return self._wanted_connections
        per_endpoint = (self._open_files.left - self._spare_files) // self._endpoints_asked
        return max(1, min(self._wanted_connections, per_endpoint))

    @property
    def _wanted_connections(self) -> int:
        """As many as its replicas take, unless the user limits them."""
        settings = self.run.settings
        if self.run.cluster is None or "max-connections" in settings.origins:
            return settings.connections
        return max(settings.connections, *(model.parallel or 0 for model in self.run.models.values()))

    @cached_property
    def _open_files(self) -> process.OpenFiles:
        return process.OpenFiles(self._wanted_connections * self._endpoints_asked + self._spare_files)

    @property
    def _spare_files(self) -> int:
        return SPARE_FILES + (SPARE_FILES_FOR_PICTURES if self.run.modality == "image" else 0)

    @property
    def _endpoints_asked(self) -> int:
        looking = [] if self.run.looking is None else [self.run.looking.model]
        return len({model.endpoint for model in (*self.run.models.values(), *looking)})

    def header(self, *, sized: bool = True) -> list[str]:
        """What the run is about to do: lines for the user, with its size if that is known.

        Raises:
            StoreError: the store cannot be opened or read.
        """
        lines = self.outlook.lines(sized=sized)
        if self._taken_up:
            responses = plural(self._taken_up, "response")
            lines.append(f"factorfair: note: {responses} that an earlier run rescued are now in the store")
        processes = max(1, self._workers)
        wanted_per_process = self._wanted_connections // processes
        if self.connections < wanted_per_process:
            limit = self._open_files.limit
            needed = wanted_per_process * self._endpoints_asked + self._spare_files
            lines.append(
                f"factorfair: note: {self._wanted_connections:,} connections would need more than the "
                f"{limit:,} files that a process may open: {processes * self.connections:,} are used; "
                f"ulimit -n {needed + process.FEW} allows all"
            )
        return lines

    @cached_property
    def limits(self) -> Limits | None:
        """The limits and the account of the run, once it has begun.

        None if this process asks nothing, or is a worker on another machine with a store of its own.

        Raises:
            StoreError: such a worker cannot keep the limits, or the store cannot be written.
        """
        from pytest_factorfair.store import SharedLimits

        settings = self.run.settings
        if settings.replay or not self._session:
            return None
        joined = SharedLimits.join(
            self.store,
            settings.ceilings,
            run=settings.run,
            session=self._session,
            controller=self._controller,
        )
        if joined is None and settings.ceilings.any:
            raise StoreError(
                f"{self.store.place}: not the controller's store: on several machines, limits need a "
                "PostgreSQL store"
            )
        return joined

    @property
    def endpoints(self) -> tuple[EndpointState, ...]:
        """The endpoints that throttled or failed, in any process; the last known ones after ``close``."""
        from pytest_factorfair.engine import endpoint_states

        with suppress(StoreError):
            if self.limits is not None:
                self._endpoints = endpoint_states(self.limits.endpoints, now=self.limits.clock())
        return self._endpoints

    @property
    def waiting_for_store(self) -> bool:
        """Whether nothing is asked because the store is away."""
        return "store" in self.__dict__ and self.store.outage.away

    @property
    def asking(self) -> bool:
        """Whether this process has started to ask."""
        return "engine" in self.__dict__

    @cached_property
    def outlook(self) -> Outlook:
        """The planned answers, and how many of them are stored."""
        return Outlook.of(self.run, self.store)

    def check_report(self, *, make: bool) -> None:
        """Make sure that reports can be written; ``make`` their folder.

        Raises:
            InputError: they cannot be written.
        """
        settings = self.run.settings
        folder = Path(settings.report)
        try:
            if make:
                process.make_folder(folder, ignored=False)
            existing_folder = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
            with tempfile.TemporaryFile(dir=existing_folder):
                pass
        except OSError as error:
            where = f"{settings.where('report')} {settings.report}"
            raise InputError(f"{where}: cannot write there: {error.strerror}") from None

    def begin(self) -> None:
        """Check all that can be checked before a call is paid, tidy up after dead processes, set the limits.

        Called in the process that controls the run, before any process asks.

        Raises:
            InputError: reports cannot be written, there is nothing to replay, a price or host is unknown,
                the cluster cannot be used, or the run is in progress elsewhere with other limits.
            StoreError: the store cannot be opened or written, or the place for pictures refuses them.
        """
        settings = self.run.settings
        self.check_report(make=True)
        self.store.verify()
        if settings.replay and self.store.empty:
            where = settings.where("replay")
            raise InputError(f"{where}: {self.store.place} holds no answer; run once without replay")
        if not settings.replay:
            from pytest_factorfair.models.replicas import ReplicatedModel

            replicated = [model for model in self.run.models.values() if isinstance(model, ReplicatedModel)]
            if self.run.modality == "image":
                mark = self.store.settle_pictures()
                for model in replicated if mark else ():
                    model.keep_pictures(self.store.pictures.place, mark)
            self.run.check_prices()
            if self.outlook.calls:
                self.run.check_hosts()
                for model in replicated:
                    model.connect()
        self.store.sweep()
        process.sweep(
            Path(self.run.settings.report), "report.*", "responses.jsonl*", "pictures/*/*", "partial/*"
        )
        if settings.replay:
            return
        if not self._workers and not settings.run and settings.shard is None:
            from pytest_factorfair.engine import LocalLimits

            self.limits = LocalLimits(settings.ceilings)
            return
        from pytest_factorfair.store import SharedLimits

        self.limits = SharedLimits.begin(self.store, settings.ceilings, run=settings.run)
        if settings.shard is not None:
            former = shards.begun(self.run, settings.shard, self.store)
            self._shard = replace(former, session=self.session)
            self.store.enter(self._shard).result()

    @property
    def _shared(self) -> SharedLimits | None:
        """The limits, if other processes share them."""
        from pytest_factorfair.store import SharedLimits

        limits = self.__dict__.get("limits")
        return limits if isinstance(limits, SharedLimits) else None

    @property
    def session(self) -> str:
        """The session's name, for the workers of the controller that began it."""
        return self._shared.session if self._shared is not None else ""

    @property
    def ended(self) -> str | None:
        """The limit that ended the run, in the process that began it."""
        with suppress(StoreError):
            return None if self.limits is None else self.limits.ended
        return None

    @property
    def usage(self) -> Usage:
        """The usage of the whole session, in the process that began it; the last known after ``close``."""
        with suppress(StoreError):
            if self.limits is not None:
                self._usage = self.limits.usage
        return self._usage

    def enter_shard(self, usage: Usage, *, finished: bool) -> None:
        """Enter the usage of this shard, for the run that judges all shards.

        Raises:
            StoreError: the store cannot be written.
        """
        row = self._shard
        updated = replace(row, usage=row.usage + usage, finished=finished, session="")
        self.store.enter(updated).result()

    def check_time(self) -> None:
        """Check that max-minutes is kept by calls in flight: a user's function may hang.

        Raises:
            BudgetError: they have had time to end since, a service as much as its own timeout.
        """
        if "limits" in self.__dict__ and self.limits is not None:
            timeouts = [getattr(model, "timeout", None) for model in self.run.models.values()]
            numeric_timeouts = [timeout for timeout in timeouts if isinstance(timeout, int | float)]
            deadline, grace = self.limits.deadline, max(numeric_timeouts, default=GRACE)
            if deadline is not None and self.limits.clock() >= deadline + grace:
                self.limits.end(reason := self.limits.ceilings.out_of_time, whole_run=True)
                raise BudgetError(reason)

    def cancellable(self) -> AbstractContextManager[None]:
        """A context in which SIGTERM and SIGHUP end the run as Ctrl-C does, until it is stopped."""
        from pytest_factorfair.engine import Cancellation

        return nullcontext() if self.run.settings.replay else Cancellation(lambda: self._stopped)

    def stop(self, reason: str) -> None:
        """Ask nothing more, in any process: each checks before every call.

        Replies in flight are stored, or rescued.
        """
        self._stopped = True
        if self.limits is not None:
            with suppress(StoreError):  # a full disk: the verdict and the reports must still come out
                if (ended := self.limits.end(reason)) is not None:
                    ended.result()
        if self.asking:
            self.engine.close()
        elif self._shared is not None:
            with suppress(StoreError):
                self._shared.drain()  # the workers
        if "store" in self.__dict__:
            self._recall()
            if self.run.settings.shard is None:
                try:
                    self.shards = shards.of_run(self.run, self.store)
                except StoreError as error:
                    self.trouble = self.trouble or str(error)

    def interrupt(self, reason: str) -> None:
        """Stop without waiting for a store that is away."""
        if "store" in self.__dict__:
            self.store.outage.hurry()
        self.stop(reason)

    def _recall(self) -> None:
        """Rescue what this process has stored and the store has lost."""
        if self._recalled:
            return
        self._recalled = True
        rescued, why = self.store.recall()
        self._rescued += rescued
        failure = self.engine.failure if self.asking else None
        self.trouble = self.trouble or why or (str(failure) if isinstance(failure, StoreError) else "")

    @property
    def rescued(self) -> str:
        """Where responses are that the store could not take, or has lost; "" if there are none."""
        if not self._rescued:
            return ""
        folder = os.path.relpath(Path(self.run.settings.own_pictures).parent)
        return (
            f"{plural(self._rescued, 'paid response')} that the store does not have: rescued in "
            f"{folder}/rescued-*.jsonl. The same command takes them up once the store works."
        )

    def last_words(self) -> transport.LastWords:
        """What a worker tells its controller as it ends."""
        shared = self._shared
        owner, usage = ("", Usage()) if shared is None else (shared.owner, shared.own_usage)
        return transport.LastWords(owner, usage, self._rescued, self.trouble)

    def hear(self, worker: transport.LastWords) -> None:
        """Take note of the last words of a worker."""
        if self._shared is not None and worker.owner:
            self._shared.hear(worker.owner, worker.usage)
        self._rescued += worker.rescued
        if worker.trouble:
            self.trouble = self.trouble or worker.trouble
            self.store.outage.hurry()  # it has waited for all

    def unaccounted(self, exchanges: Iterable[Exchange]) -> Usage:
        """The usage of these exchanges that is not on the session's account."""
        usage = Usage.of(exchanges)
        return usage if self.limits is None else Usage(cached=usage.cached)

    def stored(self, asked: Iterable[tuple[str, Sequence[Query]]]) -> bool:
        """Whether the store has the responses of all these models, by spec, to these queries."""
        from pytest_factorfair import store

        keys = [key for spec, queries in asked for key in store.keys(self.run.models[spec].identity, queries)]
        return self.store.count(keys) == len(keys)

    def said(self, keys: Iterable[str]) -> Mapping[str, Said]:
        """Prompts and responses by key; without the store if that is in ``trouble``.

        Raises:
            StoreError: the store cannot be read, or a row is damaged.
        """
        requested_keys = tuple(keys)
        try:
            return self.store.said(requested_keys)
        except StoreError:
            if not self.trouble:
                raise
            return self.store.remembered(requested_keys)

    def picture(self, key: str) -> bytes:
        """The encoded picture of a response in the store.

        Raises:
            StoreError: it has none.
        """
        response = self.store.responses([key]).get(key)
        if response is None:
            raise StoreError(f"{self.store.place}: no response has the key {key}")
        return self.store.pictures.read(response.image_file)

    def prefetch(self, assignment: Assignment) -> None:
        """Start asking a case that a later item needs; ``submit`` returns its result."""
        if assignment.key not in self._pending:
            with suppress(StoreError):  # the test that asks reports it
                self._pending[assignment.key] = self.submit(assignment, self.run.models[assignment.model])

    def further(self, assignment: Assignment, times: int) -> tuple[Query, ...]:
        """The queries of a case at ``times`` its size; they begin with its own."""
        checklist, sampling = assignment.checklist, self.run.sampling.times(times)
        key = checklist.name, times
        if key not in self._larger:
            self._larger[key] = {case.id: case for case in protocols.cases(checklist, sampling)}
        return protocols.queries(checklist, self._larger[key][assignment.case.id], sampling)

    def submit(self, assignment: Assignment, model: Model) -> Future[tuple[Exchange, ...]]:
        """Ask all queries of a case, or take the future of a prefetch for this very model."""
        if model is self.run.models[assignment.model] and assignment.key in self._pending:
            return self._pending.pop(assignment.key)
        return self.engine.submit(model, self.run.queries(assignment))

    def close(self) -> None:
        """Stop asking, store what arrived, release everything."""
        if self.asking:
            self.engine.close()
            self._recall()
        if "limits" in self.__dict__ and self.limits is not None:
            self.limits.close()
        if "store" in self.__dict__:
            self.store.close()
        if "_open_files" in self.__dict__:
            self._open_files.give_back()
        if self.run.cluster is not None:
            from pytest_factorfair.detection.replicas import ReplicatedDetector

            if isinstance(self.run.detector, ReplicatedDetector):
                self.run.detector.close()
            self.run.cluster.close()


LEAST, MOST = 4, 8
"""The window in queries per call in flight; queries submitted together are claimed together in the store."""


class Window:
    """Submits coming cases, so that no connection idles; refilled to MOST once it is below LEAST.

    A model that answers few calls at once has a small window, which leaves keys for other hosts on the store.
    """

    def __init__(self, execution: Execution, assignments: Sequence[Assignment | None]) -> None:
        self._execution = execution
        self._assignments = assignments
        sizes = (assignment.case.samples if assignment else 0 for assignment in assignments)
        self._before = list(accumulate(sizes, initial=0))  # queries of the cases before each position
        self._next = 0  # the first position not submitted

    def advance(self, position: int) -> None:
        """Submit the case at this position, the one after it, and more until the window is full."""
        self._next = max(self._next, position)
        calls = self._execution.connections
        if (assignment := self._assignments[position]) is not None:
            calls = min(calls, self._execution.run.models[assignment.model].parallel or calls)
        most_calls = MOST * calls if self._ahead(position) < LEAST * calls else 0
        while self._next < len(self._assignments) and (
            self._next <= position + 1 or self._ahead(position) < most_calls
        ):
            if (assignment := self._assignments[self._next]) is not None:
                self._execution.prefetch(assignment)
            self._next += 1

    def _ahead(self, position: int) -> int:
        """The queries from a position to the end of the window."""
        return self._before[self._next] - self._before[position]


def ask_all(
    execution: Execution, assignments: Sequence[Assignment], meter: Meter
) -> Iterator[tuple[Assignment, tuple[Exchange, ...]]]:
    """Ask these cases, and yield each with its exchanges, in their order."""
    window = Window(execution, assignments)
    for position, assignment in enumerate(assignments):
        window.advance(position)
        yield assignment, meter.wait(execution.submit(assignment, execution.run.models[assignment.model]))
