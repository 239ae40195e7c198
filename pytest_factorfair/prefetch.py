"""Asking ahead: while one case is awaited, the next ones are already on their way."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.collection import ASSIGNMENT
from pytest_factorfair.options import dry

if TYPE_CHECKING:
    from pytest_factorfair.composition import Assignment
    from pytest_factorfair.run import Run


LEAST, MOST = 4, 8
"""How many times this process's part of the connections is ahead in queries; what is asked together is
claimed together."""


class Prefetch:
    """Registered in every process that runs items.

    A window of cases, in the order they were collected, keeps this process's part of the connections busy,
    and is filled again where it has become too short for that. A worker is sent runs of neighbours: where
    its next item is none, that one alone is asked ahead, and a new window begins there. What was ahead in
    the old one is for other workers to run, who find it asked for.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._busy = max(1, run.settings.connections // run.settings.workers)
        self._dry = False
        self._place: dict[pytest.Item, int] = {}
        self._wanted: list[Assignment | None] = []
        self._before: list[int] = [0]  # queries of the cases before each place
        self._now = self._next = 0  # the place of the item that runs, and the first one not asked ahead

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._dry = dry(session.config)
        self._place = {item: place for place, item in enumerate(session.items)}
        self._wanted = [_wanted(item) for item in session.items]
        sizes = (one.case.samples if one else 0 for one in self._wanted)
        self._before = list(accumulate(sizes, initial=0))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self._dry or item not in self._place:
            return
        self._move(self._place[item])
        following = None if nextitem is None else self._place.get(nextitem)
        if following == self._now + 1:
            self._fill()
        else:
            self._ask(self._now)
            self._ask(following)

    def _move(self, place: int) -> None:
        """Run the item of a place; what was ahead of the last one is given up unless this is part of it."""
        if not self._now <= place <= self._next:
            for passed in filter(None, self._wanted[self._now : self._next]):
                self._run.forget(passed)
            self._next = place
        self._now = place
        self._next = max(self._next, place)

    def _fill(self) -> None:
        """Ask more if the window is too short, and in any case the next item."""
        most = MOST * self._busy if self._queries < LEAST * self._busy else 0
        while self._next < len(self._wanted) and (self._queries < most or self._next < self._now + 2):
            self._ask(self._next)
            self._next += 1

    @property
    def _queries(self) -> int:
        """How many there are from the item that runs to the end of the window."""
        return self._before[self._next] - self._before[self._now]

    def _ask(self, place: int | None) -> None:
        if place is not None and (one := self._wanted[place]) is not None:
            self._run.prefetch(one)


def _wanted(item: pytest.Item) -> Assignment | None:
    """The assignment an item is sure to ask as it stands.

    None for an item that does not ask, that is skipped by its mark, or whose model a conftest.py
    overrides (the override may ask something else, and what is asked ahead is paid for).
    """
    callspec = getattr(item, "callspec", None)
    if callspec is None or "factorfair_ask" not in getattr(item, "fixturenames", ()):
        return None
    if any(item.iter_markers("skip")) or len(_definitions(item)) != 1:
        return None
    assignment: Assignment | None = callspec.params.get(ASSIGNMENT)
    return assignment


def _definitions(item: pytest.Item) -> tuple[object, ...]:
    # pytest has no public way to ask whether a fixture is overridden for an item.
    info = getattr(item, "_fixtureinfo", None)
    return tuple(info.name2fixturedefs.get("factorfair_model", ())) if info else ()
