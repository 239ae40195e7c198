"""Prefetch ahead of items, and with the setting ``warm`` before all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.errors import TO_DO, BudgetError, FactorfairError, FatalModelError, StoreError
from pytest_factorfair.plugin.collection import ASSIGNMENT, dry
from pytest_factorfair.runs.submissions import Window

if TYPE_CHECKING:
    from pytest_factorfair.domain import CaseKey
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment
    from pytest_factorfair.runs.submissions import Submissions


class Prefetch:
    """Registered in every process that runs items.

    Without workers the order of all items is known, and a window moves over it. A worker knows only its next
    item and prefetches no other: xdist may send others to another worker, which would pay for them again.
    """

    def __init__(self, submissions: Submissions) -> None:
        self._submissions = submissions
        self._dry = False
        self._window: Window | None = None
        self._position: dict[pytest.Item, int] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._dry = dry(session.config)
        if not hasattr(session.config, "workerinput"):
            self._position = {item: position for position, item in enumerate(session.items)}
            self._window = Window(self._submissions, [_certain(item) for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if self._dry:
            return
        if self._window is not None and item in self._position:
            self._window.advance(self._position[item])
            return
        for scheduled in (item, nextitem):
            if scheduled is not None and (assignment := _certain(scheduled)) is not None:
                self._submissions.prefetch(assignment)


class StoreWarmup:
    """Registered in the controlling process: with all answers in the store, items and workers only read.

    It asks the selected cases before the first item, with workers after the collection of the first worker.
    Unless it ``warms``, it asks for one picture at most, which shows whether the detector works.
    """

    def __init__(self, execution: Execution, meter: Meter, *, warms: bool) -> None:
        self._execution = execution
        self._meter = meter
        self._warms = warms
        self._done: set[CaseKey] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        if not dry(session.config):
            self.ask([assignment for item in session.items if (assignment := _certain(item)) is not None])

    def ask_for_workers(self, selected: Iterable[Assignment]) -> None:
        """Ask these cases, unless they were asked before; the workers then take the answers from the store.

        Raises:
            pytest.Session.Interrupted: the workers would take answers of earlier runs for those missing.
            PendingError, InputError: as of ``ask``.
        """
        failure = self.ask(selected)
        reuse = self._execution.run.settings.reuse
        if failure is not None and self._warms and self._execution.workers_reuse != reuse:
            raise pytest.Session.Interrupted(str(failure).partition(TO_DO)[0])

    def ask(self, selected: Iterable[Assignment]) -> FactorfairError | None:
        """Ask these cases, unless they were asked before; why some have no answer.

        The first item that needs a missing answer fails with the same error.

        Raises:
            PendingError: answers are in batches that are not done.
            InputError: the service has no batches, the replies in a folder are wrong, or the detector cannot
                be used.
        """
        assignments = [assignment for assignment in selected if assignment.key not in self._done]
        self._done |= {assignment.key for assignment in assignments}
        try:
            self._execution.try_detector(assignments, self._meter)
            if self._warms:
                deque(self._execution.ask_cases(assignments, self._meter), maxlen=0)
        except (BudgetError, FatalModelError, StoreError) as error:
            return error
        finally:
            self._meter.clear()
        return None


def _certain(item: pytest.Item) -> Assignment | None:
    """The assignment that an item is certain to ask; None if it may not ask.

    An item may not ask, its marks may skip it, or a conftest.py may override its model: then a prefetch could
    pay for something else.
    """
    callspec = getattr(item, "callspec", None)
    if callspec is None or "factorfair_ask" not in getattr(item, "fixturenames", ()):
        return None
    # Only pytest itself evaluates the conditions of marks.
    if any(item.iter_markers("skip")) or any(item.iter_markers("skipif")):
        return None
    if any(not mark.kwargs.get("run", True) for mark in item.iter_markers("xfail")):
        return None
    # pytest has no public way to ask whether a fixture is overridden for an item.
    info = getattr(item, "_fixtureinfo", None)
    if info is None or len(info.name2fixturedefs.get("factorfair_model", ())) != 1:
        return None
    assignment: Assignment | None = callspec.params.get(ASSIGNMENT)
    return assignment
