"""``--factorfair-batch``: whether a run has batches. Only then does it enter the wing ``batches``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.batches.run import Sender
    from pytest_factorfair.domain import Query, Reuse
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.responses import Responses
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.runs.submissions import Submissions


def check(run: Run) -> None:
    """Check that every model can be asked by batch, if the run does that.

    Raises:
        InputError: one cannot.
    """
    if run.settings.batch:
        Wing.BATCHES.enter().check(run)


class Batches:
    """The batches of a run, in the process that controls it."""

    def __init__(self, run: Run, responses: Responses, submissions: Submissions) -> None:
        self._run = run
        self._settings = run.settings
        self._responses = responses
        self._submissions = submissions

    @property
    def needed(self) -> bool:
        """Whether batches are to be sent or collected: earlier runs may have left some."""
        if self._settings.reuse == "only":
            return False
        return bool(self._settings.batch or self._responses.store.batches.open())

    @property
    def workers_reuse(self) -> Reuse:
        """The answers that workers take from the store, once this process has fetched them."""
        if not self._settings.batch:
            return self._settings.reuse
        return "all" if self._settings.folder is None else "only"

    def fetch(self, queries: Iterable[tuple[str, Sequence[Query]]], meter: Meter) -> None:
        """Fetch the answers of batches to the queries of each model into the store.

        Raises:
            PendingError: batches are not done, and the run does not wait for them any longer.
            InputError: the service has no batches, or the replies in a folder are wrong.
            BudgetError, FatalModelError, StoreError: as for single calls.
        """
        if self.needed:
            self._sender.fetch(queries, meter)

    @cached_property
    def _sender(self) -> Sender:
        sender: Sender = Wing.BATCHES.enter().Sender(
            self._run, self._submissions.engine, self._responses.store
        )
        return sender
