"""The cases that a process has submitted to its engine: ahead of the tests that ask them, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from pytest_factorfair.domain import CaseKey, Exchange
from pytest_factorfair.errors import StoreError

if TYPE_CHECKING:
    from pytest_factorfair.engine import Engine
    from pytest_factorfair.models import Model
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment, Run

Submitted: TypeAlias = Future[tuple[Exchange, ...]]
"""The future of a case's exchanges."""


class Submissions:
    """Submits the cases of a run to the ``engine``, which the first submission starts."""

    def __init__(self, run: Run, engine: Callable[[], Engine]) -> None:
        self._run = run
        self._engine = engine
        self._ahead: dict[CaseKey, Submitted] = {}

    def prefetch(self, assignment: Assignment) -> None:
        """Start asking a case that a later item needs; ``submit`` returns its result."""
        if assignment.key not in self._ahead:
            with suppress(StoreError):  # the test that asks reports it
                self._ahead[assignment.key] = self.submit(assignment, self._run.models[assignment.model])

    def submit(self, assignment: Assignment, model: Model) -> Submitted:
        """Ask all queries of a case, or take the future of a prefetch for this very model."""
        if model is self._run.models[assignment.model] and assignment.key in self._ahead:
            return self._ahead.pop(assignment.key)
        return self._engine().submit(model, self._run.queries(assignment))


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
        calls = self._execution.connections.per_endpoint
        if (assignment := self._assignments[position]) is not None:
            calls = min(calls, self._execution.run.models[assignment.model].parallel or calls)
        most_calls = MOST * calls if self._ahead(position) < LEAST * calls else 0
        while self._next < len(self._assignments) and (
            self._next <= position + 1 or self._ahead(position) < most_calls
        ):
            if (assignment := self._assignments[self._next]) is not None:
                self._execution.submissions.prefetch(assignment)
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
        model = execution.run.models[assignment.model]
        yield assignment, meter.wait(execution.submissions.submit(assignment, model))
