"""Asking ahead: while one case is awaited, the next ones are already on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.collection import ASSIGNMENT
from pytest_factorfair.options import dry, worker

if TYPE_CHECKING:
    from pytest_factorfair.run import Assignment, Run


class Prefetch:
    """Registered in every process that runs items.

    Without workers the whole plan is known, and a window of cases that keeps the connections busy
    twice over is kept ahead. A worker knows only its next item: that one is asked ahead.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._dry = False
        self._plan: list[pytest.Item] = []
        self._place: dict[pytest.Item, int] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._dry = dry(session.config)
        if not worker(session.config):
            self._plan = session.items
            self._place = {item: place for place, item in enumerate(session.items)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        for one in () if self._dry else self._window(item, nextitem):
            if (assignment := _wanted(one)) is not None:
                self._run.prefetch(assignment)

    def _window(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.Item]:
        if item not in self._place:
            return [one for one in (item, nextitem) if one is not None]
        window, queries = [], 0
        for one in self._plan[self._place[item] :]:
            if queries >= 2 * self._run.settings.connections:
                break
            if (assignment := _wanted(one)) is not None:
                window.append(one)
                queries += assignment.case.samples
        return window


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
