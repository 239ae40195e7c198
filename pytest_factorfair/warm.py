"""Asking everything from one loop, before any item runs: ``--factorfair-warm``."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import Exchange
from pytest_factorfair.errors import BudgetError, FatalModelError, StoreError

if TYPE_CHECKING:
    from pytest_factorfair.progress import Progress
    from pytest_factorfair.run import Run

AHEAD = 4
"""How many times the connections' worth of queries is under way: enough that none of them idles."""


class Warm:
    """Registered in the controlling process: with all answers in the store, workers only read.

    It asks all cases, whatever ``-k`` selects: what that is, is known only once workers have collected.
    """

    def __init__(self, run: Run, progress: Progress) -> None:
        self._run = run
        self._progress = progress

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            return
        try:
            self._ask()
        except (BudgetError, FatalModelError, StoreError):
            pass  # the first item that needs what is missing meets the same, and tells it
        finally:
            self._progress.clear()

    def _ask(self) -> None:
        """Ask all cases in their order, a window of them under way at a time."""
        under_way: deque[tuple[int, Future[tuple[Exchange, ...]]]] = deque()
        queries, most = 0, AHEAD * self._run.settings.connections
        for assignment in self._run.assignments:
            while under_way and queries >= most:
                size, future = under_way.popleft()
                self._progress.wait(future)
                queries -= size
            future = self._run.submit(assignment, self._run.models[assignment.model])
            under_way.append((assignment.case.samples, future))
            queries += assignment.case.samples
        for _, future in under_way:
            self._progress.wait(future)
