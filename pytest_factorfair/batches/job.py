"""The questions of one model that batches are to answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Query
from pytest_factorfair.errors import AGAIN, TO_DO, BudgetError, ModelError, PendingError, RetryableModelError

if TYPE_CHECKING:
    from pytest_factorfair.batches.protocol import BatchModel, BatchService
    from pytest_factorfair.engine.retry import Retry
    from pytest_factorfair.store import Store
    from pytest_factorfair.store.batches import BatchRow


@dataclass(slots=True)
class Job:
    """The questions of one model that batches are to answer, and how far that has come.

    ``services`` are those that may have batches of the job, by name. ``waits`` is whether the run waits for
    batches, and ``announce`` shows a line to the user. ``waiting`` are the questions without an answer, by
    key; ``tries`` counts the batches that did not answer a key, and ``errors`` are the final ones.

    ``most_lines`` is how many lines the service's quota allows, ``refusals`` how often in a row it refused
    even these, and ``pause`` the seconds to wait after the last refusal. ``late`` counts the polls for which
    a batch has had no results. ``failing_since`` is when services began to fail, and ``failed`` whether one
    failed in this round of polls. ``collects_alone`` is whether no other process collects these batches.
    ``stop`` is why no more may be sent, and ``progress`` a line about the last poll.
    """

    model: BatchModel
    services: Mapping[str, BatchService]
    waits: bool
    announce: Callable[[str], None]
    waiting: dict[str, Query]
    tries: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)
    most_lines: int | None = None
    refusals: int = 0
    pause: float = 0.0
    late: Counter[str] = field(default_factory=Counter)
    failing_since: float | None = None
    failed: bool = False
    collects_alone: bool = False
    stop: BudgetError | None = None
    progress: str = ""

    def endure(self, error: ModelError, state: str, retry: Retry) -> None:
        """Go on although a service fails; ``state`` says what that leaves.

        Raises:
            PendingError: the service has failed for a while or will always fail, or the run does not wait.
        """
        self.failed = True
        current_time = retry.clock()
        self.failing_since = current_time if self.failing_since is None else self.failing_since
        may_recover = isinstance(error, RetryableModelError) and self.waits
        if not may_recover or current_time - self.failing_since >= retry.patience:
            raise PendingError(f"{error}: {state}{TO_DO}{AGAIN}") from None
        self.progress = f"batch: {error}"

    def service_of(self, row: BatchRow, store: Store) -> BatchService:
        """The service of a batch.

        Raises:
            PendingError: this run does not reach it, or not with the key of that batch.
        """
        service = self.services.get(row.service)
        if service is not None and takes(service, row):
            return service
        where = row.service if service is None else f"another key of {row.service}"
        raise PendingError(
            f"batch {row.short} was submitted with {where}: run it again with that one, or "
            f"factorfair batch forget {store.location} {row.short}"
        )


def takes(service: BatchService, row: BatchRow) -> bool:
    """Whether a batch is at this service, and of the same account."""
    return (service.name, service.account) == (row.service, row.account)
