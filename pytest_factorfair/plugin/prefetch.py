"""Prefetch: while one case is awaited, the next ones are under way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.plugin.collection import ASSIGNMENT, dry

if TYPE_CHECKING:
    from pytest_factorfair.session.composition import Assignment
    from pytest_factorfair.session.run import Run


LEAST, MOST = 4, 8
"""The window in queries per connection: what is submitted together is claimed together in the store."""


class Window:
    """Keeps coming cases under way, so that no connection idles; refilled to MOST once it is below LEAST."""

    def __init__(self, run: Run, wanted: Sequence[Assignment | None]) -> None:
        self._run = run
        self._wanted = wanted
        sizes = (one.case.samples if one else 0 for one in wanted)
        self._before = list(accumulate(sizes, initial=0))  # queries of the cases before each place
        self._next = 0  # the first place not submitted

    def advance(self, place: int) -> None:
        """Submit the case at this place, the one after it, and more until the window is full."""
        self._next = max(self._next, place)
        connections = self._run.settings.connections
        most = MOST * connections if self._ahead(place) < LEAST * connections else 0
        while self._next < len(self._wanted) and (self._next <= place + 1 or self._ahead(place) < most):
            if (one := self._wanted[self._next]) is not None:
                self._run.prefetch(one)
            self._next += 1

    def _ahead(self, place: int) -> int:
        """The queries from a place to the end of the window."""
        return self._before[self._next] - self._before[place]


class Prefetch:
    """Registered in every process that runs items.

    Without workers the order of all items is known, and a window moves over it. A worker knows only its next
    item and prefetches no other: xdist may send that to another worker, which would pay for it again.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._dry = False
        self._window: Window | None = None
        self._place: dict[pytest.Item, int] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._dry = dry(session.config)
        if not hasattr(session.config, "workerinput"):
            self._place = {item: place for place, item in enumerate(session.items)}
            self._window = Window(self._run, [_wanted(item) for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self._dry:
            return
        if self._window is not None and item in self._place:
            self._window.advance(self._place[item])
            return
        for each in (item, nextitem):
            if each is not None and (assignment := _wanted(each)) is not None:
                self._run.prefetch(assignment)


def _wanted(item: pytest.Item) -> Assignment | None:
    """The assignment that an item is certain to ask.

    None for an item that does not ask, that its marks may skip, or whose model a conftest.py overrides: the
    override may ask something else, and what is prefetched is paid for.
    """
    callspec = getattr(item, "callspec", None)
    if callspec is None or "factorfair_ask" not in getattr(item, "fixturenames", ()):
        return None
    if _may_not_run(item) or len(_definitions(item)) != 1:
        return None
    assignment: Assignment | None = callspec.params.get(ASSIGNMENT)
    return assignment


def _may_not_run(item: pytest.Item) -> bool:
    """Whether a mark may skip the item; only pytest itself evaluates conditions."""
    skipped = any(item.iter_markers("skip")) or any(item.iter_markers("skipif"))
    return skipped or any(not mark.kwargs.get("run", True) for mark in item.iter_markers("xfail"))


def _definitions(item: pytest.Item) -> tuple[object, ...]:
    # pytest has no public way to ask whether a fixture is overridden for an item.
    info = getattr(item, "_fixtureinfo", None)
    return tuple(info.name2fixturedefs.get("factorfair_model", ())) if info else ()
