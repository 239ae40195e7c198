"""Asking ahead: while one case is awaited, the next ones are already on their way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.collection import ASSIGNMENT
from pytest_factorfair.options import dry, worker

if TYPE_CHECKING:
    from pytest_factorfair.composition import Assignment
    from pytest_factorfair.run import Run


LEAST, MOST = 4, 8
"""How many times the connections' worth of queries is ahead; what is asked together is claimed together."""


class Prefetch:
    """Registered in every process that runs items.

    Without workers the whole plan is known: a window of cases is kept ahead that keeps the connections busy,
    and filled again where it has become too short for that. A worker knows only its next item, and asks no
    other ahead: it would be another worker's to run, and what was paid for it nobody's to count.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._dry = False
        self._place: dict[pytest.Item, int] = {}
        self._wanted: list[Assignment | None] = []
        self._before: list[int] = [0]  # queries of the cases before each place
        self._next = 0  # the first place not asked ahead

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._dry = dry(session.config)
        if not worker(session.config):
            self._place = {item: place for place, item in enumerate(session.items)}
            self._wanted = [_wanted(item) for item in session.items]
            sizes = (one.case.samples if one else 0 for one in self._wanted)
            self._before = list(accumulate(sizes, initial=0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        for assignment in () if self._dry else self._window(item, nextitem):
            self._run.prefetch(assignment)

    def _window(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[Assignment]:
        place = self._place.get(item)
        if place is None:
            yield from (one for each in (item, nextitem) if each and (one := _wanted(each)))
            return
        self._next = max(self._next, place)
        busy = self._run.settings.connections
        most = MOST * busy if self._ahead(place) < LEAST * busy else 0
        last = place + 1  # ahead in any case, however large the case is that runs
        while self._next < len(self._wanted) and (self._next <= last or self._ahead(place) < most):
            if (one := self._wanted[self._next]) is not None:
                yield one
            self._next += 1

    def _ahead(self, place: int) -> int:
        """The queries from a place to the end of the window."""
        return self._before[self._next] - self._before[place]


def _wanted(item: pytest.Item) -> Assignment | None:
    """The assignment an item is sure to ask as it stands.

    None for an item that does not ask, that its marks may keep from running, or whose model a conftest.py
    overrides (the override may ask something else, and what is asked ahead is paid for).
    """
    callspec = getattr(item, "callspec", None)
    if callspec is None or "factorfair_ask" not in getattr(item, "fixturenames", ()):
        return None
    if _may_not_run(item) or len(_definitions(item)) != 1:
        return None
    assignment: Assignment | None = callspec.params.get(ASSIGNMENT)
    return assignment


def _may_not_run(item: pytest.Item) -> bool:
    """Whether a mark may keep it from running; only pytest itself can tell whether a condition holds."""
    skipped = any(item.iter_markers("skip")) or any(item.iter_markers("skipif"))
    return skipped or any(not mark.kwargs.get("run", True) for mark in item.iter_markers("xfail"))


def _definitions(item: pytest.Item) -> tuple[object, ...]:
    # pytest has no public way to ask whether a fixture is overridden for an item.
    info = getattr(item, "_fixtureinfo", None)
    return tuple(info.name2fixturedefs.get("factorfair_model", ())) if info else ()
