"""Cases submitted to the engine of this process: ahead of the tests that ask them, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pytest_factorfair import process
from pytest_factorfair.domain import CaseKey, Exchange, Query, Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.models.prices import estimates

if TYPE_CHECKING:
    from pytest_factorfair.engine import Engine
    from pytest_factorfair.engine.dispatcher import Counters, Failure
    from pytest_factorfair.engine.endpoint import Judge
    from pytest_factorfair.models import Model
    from pytest_factorfair.runs.account import Account
    from pytest_factorfair.runs.answering import AnswerReader, ReadAnswer
    from pytest_factorfair.runs.responses import Responses
    from pytest_factorfair.runs.run import Assignment, Run

T = TypeVar("T")

Submitted: TypeAlias = Future[tuple[Exchange, ...]]
"""The future of a case's exchanges."""

TICK = 0.1
"""Seconds between two ticks while something is awaited; Ctrl-C waits no longer than this."""


class Submissions:
    """Submits the cases of a run to an engine, which is started on first use.

    ``read`` is the user's reader of replies.
    """

    def __init__(
        self, run: Run, responses: Responses, account: Account, *, read: ReadAnswer | None = None
    ) -> None:
        self.connections = Connections(run)
        self._run = run
        self._responses = responses
        self._account = account
        self._read = read
        self._engine: Engine | None = None
        self._reader: AnswerReader | None = None
        self._prefetched: dict[CaseKey, Submitted] = {}

    @property
    def engine(self) -> Engine:
        """The engine; a controller of workers never uses it."""
        if self._engine is None:
            self._engine = self._started()
        return self._engine

    @property
    def started(self) -> bool:
        """Whether this process has asked anything."""
        return self._engine is not None

    @property
    def reader(self) -> AnswerReader:
        """What reads the answers; made on first use, because its imports take a while."""
        if self._reader is None:
            from pytest_factorfair.runs.answering import AnswerReader

            self._reader = AnswerReader(self._run, self._responses, self._read)
        return self._reader

    @property
    def counters(self) -> Counters | None:
        """The counts of this process's queries and calls; None if it has not started."""
        return None if self._engine is None else self._engine.snapshot()

    @property
    def failure(self) -> Failure | None:
        """The error that ended the asking of this process for good."""
        return None if self._engine is None else self._engine.failure

    def prefetch(self, assignment: Assignment) -> None:
        """Start asking a case that a later item needs; ``submit`` returns its result."""
        if assignment.key not in self._prefetched:
            with suppress(StoreError):  # the test that asks reports it
                self._prefetched[assignment.key] = self.submit(assignment, self._run.models[assignment.model])

    def submit(self, assignment: Assignment, model: Model) -> Submitted:
        """Ask all queries of a case, or take the future of a prefetch for this very model."""
        if model is self._run.models[assignment.model] and assignment.key in self._prefetched:
            return self._prefetched.pop(assignment.key)
        return self.engine.submit(model, self._run.queries(assignment))

    def parallel(self, assignment: Assignment) -> int | None:
        """The calls that the model of a case answers at once; None if any number."""
        return self._run.models[assignment.model].parallel

    def wait(self, future: Future[T], tick: Callable[[], None]) -> T:
        """The result of a future, or its exception; ``tick`` is called ten times a second.

        Raises:
            BudgetError: calls in flight outlast max-minutes.
        """
        reader = self.reader  # imports in the main thread, while the first replies are on their way
        while not future.done():
            reader.catch_up()
            try:
                future.result(TICK)
            except TimeoutError:
                tick()
                self._account.check_time(self._run.timeout)
        return future.result()

    def ask(
        self, assignments: Sequence[Assignment], tick: Callable[[], None]
    ) -> Iterator[tuple[Assignment, tuple[Exchange, ...]]]:
        """Ask these cases, and yield each with its exchanges, in their order."""
        window = Window(self, assignments)
        for position, assignment in enumerate(assignments):
            window.advance(position)
            yield assignment, self.wait(self.submit(assignment, self._run.models[assignment.model]), tick)

    def close(self) -> None:
        """Ask nothing more; what arrived is stored or rescued."""
        if self._engine is not None:
            self._engine.close()

    def _judge_of(self, query: Query, response: Response) -> Judge | None:
        """What judges a reply; None until the main thread has imported it."""
        reader = self._reader
        return reader.judge if reader is not None and reader.can_judge(query, response) else None

    def _started(self) -> Engine:
        from pytest_factorfair.engine import Engine, Retry

        run, settings, limits = self._run, self._run.settings, self._account.limits
        store = self._responses.store
        # Otherwise the thread of the loop would import these: pytest rewrites the modules of a plugin as they
        # are imported, and the parser of CPython 3.11 fails if two threads do so at once.
        if run.modality == "image":
            import_module("pytest_factorfair.pictures.decode")
            _ = store.pictures
        if store.has_open_batches:
            _ = store.batches
        retry = Retry(attempts=1 + settings.retries, patience=settings.patience)
        engine = Engine(
            store,
            connections=self.connections.per_endpoint,
            reuse=settings.reuse if settings.folder is None else "only",
            limits=limits,
            estimate=estimates(run.price, run.modality),
            retry=retry if limits is None else replace(retry, clock=limits.clock),
            price=run.price,
            judge=self._judge_of,
            first_replies=settings.first_replies,
        )
        if run.looking is not None:
            run.looking.connect(engine.submit)
        return engine


LEAST, MOST = 4, 8
"""The window in queries per call in flight; queries submitted together are claimed together in the store."""


class Window:
    """Submits coming cases, so that no connection idles; refilled to MOST once it is below LEAST.

    A model that answers few calls at once has a small window, which leaves keys for other hosts on the store.
    """

    def __init__(self, submissions: Submissions, assignments: Sequence[Assignment | None]) -> None:
        self._submissions = submissions
        self._assignments = assignments
        sizes = (assignment.case.samples if assignment else 0 for assignment in assignments)
        self._before = list(accumulate(sizes, initial=0))  # queries of the cases before each position
        self._next = 0  # the first position not submitted

    def advance(self, position: int) -> None:
        """Submit the case at this position, the one after it, and more until the window is full."""
        self._next = max(self._next, position)
        calls = self._submissions.connections.per_endpoint
        if (assignment := self._assignments[position]) is not None:
            calls = min(calls, self._submissions.parallel(assignment) or calls)
        most_calls = MOST * calls if self._queries_ahead(position) < LEAST * calls else 0
        while self._next < len(self._assignments) and (
            self._next <= position + 1 or self._queries_ahead(position) < most_calls
        ):
            if (assignment := self._assignments[self._next]) is not None:
                self._submissions.prefetch(assignment)
            self._next += 1

    def _queries_ahead(self, position: int) -> int:
        """The queries from a position to the end of the window."""
        return self._before[self._next] - self._before[position]


SPARE_FILES = 96
"""Files that a run has open besides its connections: the store, its log, reports, the user's own."""

SPARE_FILES_FOR_PICTURES = 160
"""Pictures of a batch that are written at once, or connections to a bucket."""


class Connections:
    """The connections of one process; the limit on its open files is raised on first use."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._files: process.OpenFiles | None = None

    @property
    def per_endpoint(self) -> int:
        """Calls in flight to one endpoint: no more than this process may open files for."""
        if (files_left := self._opened.left) is None:
            return self._requested
        return max(1, min(self._requested, (files_left - self._spare_files) // self._endpoints))

    def note(self, workers: int) -> str:
        """What the user can do if files limit the connections of this many workers; "" if they do not.

        The number in use is about right with workers, some of which have more files open than this process.
        """
        processes = max(1, workers)
        wanted_per_process = self._requested // processes
        if self.per_endpoint >= wanted_per_process:
            return ""
        needed = wanted_per_process * self._endpoints + self._spare_files
        return (
            f"{self._requested:,} connections would need more than the {self._opened.limit:,} files that a "
            f"process may open: {'about ' if workers else ''}{processes * self.per_endpoint:,} are used; "
            f"ulimit -n {needed + process.FEW} allows all"
        )

    def close(self) -> None:
        """Restore the limit on open files."""
        if self._files is not None:
            self._files.give_back()

    @property
    def _opened(self) -> process.OpenFiles:
        if self._files is None:
            self._files = process.OpenFiles(self._requested * self._endpoints + self._spare_files)
        return self._files

    @property
    def _requested(self) -> int:
        """The connections to open if files allow: as many as replicas take, unless the user limits them."""
        run, settings = self._run, self._run.settings
        if run.cluster is None or "max-connections" in settings.origins:
            return settings.connections
        return max(settings.connections, *(model.parallel or 0 for model in run.models.values()))

    @property
    def _spare_files(self) -> int:
        return SPARE_FILES + (SPARE_FILES_FOR_PICTURES if self._run.modality == "image" else 0)

    @property
    def _endpoints(self) -> int:
        looking = [] if self._run.looking is None else [self._run.looking.model]
        return len({model.endpoint for model in (*self._run.models.values(), *looking)})
