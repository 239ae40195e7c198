"""Ask everything from one process before any item runs: ``--factorfair-warm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.errors import BudgetError, FatalModelError, StoreError
from pytest_factorfair.plugin.prefetch import Window

if TYPE_CHECKING:
    from pytest_factorfair.session.progress import Meter
    from pytest_factorfair.session.run import Run


class Warm:
    """Registered in the controlling process: with all answers in the store, workers only read.

    It asks all cases, whatever ``-k`` selects: the selection is known only after the workers' collection.
    """

    def __init__(self, run: Run, progress: Meter) -> None:
        self._run = run
        self._progress = progress

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if session.config.option.collectonly:
            return
        try:
            self._ask()
        except (BudgetError, FatalModelError, StoreError):
            pass  # the first item that needs a missing answer fails with the same error and reports it
        finally:
            self._progress.clear()

    def _ask(self) -> None:
        """Ask all cases in their order."""
        window = Window(self._run, self._run.assignments)
        for place, assignment in enumerate(self._run.assignments):
            window.advance(place)
            model = self._run.models[assignment.model]
            self._progress.wait(self._run.submit(assignment, model))
