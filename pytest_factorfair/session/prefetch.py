"""Prefetch: while one case is awaited, the next ones are already asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_factorfair.domain import Exchange
    from pytest_factorfair.session.execution import Execution
    from pytest_factorfair.session.progress import Meter
    from pytest_factorfair.session.run import Assignment

LEAST, MOST = 4, 8
"""The window in queries per call in flight; queries submitted together are claimed together in the store."""


class Window:
    """Submits coming cases, so that no connection idles; refilled to MOST once it is below LEAST.

    A model that answers few calls at once has a small window, which leaves keys for other hosts on the store.
    """

    def __init__(self, execution: Execution, wanted: Sequence[Assignment | None]) -> None:
        self._execution = execution
        self._wanted = wanted
        sizes = (one.case.samples if one else 0 for one in wanted)
        self._before = list(accumulate(sizes, initial=0))  # queries of the cases before each place
        self._next = 0  # the first place not submitted

    def advance(self, place: int) -> None:
        """Submit the case at this place, the one after it, and more until the window is full."""
        self._next = max(self._next, place)
        calls = self._execution.connections
        if (one := self._wanted[place]) is not None:
            calls = min(calls, self._execution.run.models[one.model].parallel or calls)
        most = MOST * calls if self._ahead(place) < LEAST * calls else 0
        while self._next < len(self._wanted) and (self._next <= place + 1 or self._ahead(place) < most):
            if (one := self._wanted[self._next]) is not None:
                self._execution.prefetch(one)
            self._next += 1

    def _ahead(self, place: int) -> int:
        """The queries from a place to the end of the window."""
        return self._before[self._next] - self._before[place]


def ask_all(
    execution: Execution, wanted: Sequence[Assignment], meter: Meter
) -> Iterator[tuple[Assignment, tuple[Exchange, ...]]]:
    """Ask these cases, and yield each with its exchanges, in their order."""
    window = Window(execution, wanted)
    for place, one in enumerate(wanted):
        window.advance(place)
        yield one, meter.wait(execution.submit(one, execution.run.models[one.model]))
