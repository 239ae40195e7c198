"""The limits of a run and its usage, as one of its processes sees them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Exchange, Usage
from pytest_factorfair.errors import BudgetError, StoreError

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Settings
    from pytest_factorfair.engine import EndpointState, Limits
    from pytest_factorfair.runs.responses import Responses
    from pytest_factorfair.store.sharing.limits import SharedLimits


class Account:
    """The limits of a run and the usage of its processes.

    The controller begins the account, and its ``workers`` join the ``session`` that it names. A replay has no
    account.
    """

    def __init__(
        self, settings: Settings, responses: Responses, *, session: str = "", workers: int = 0
    ) -> None:
        self._settings = settings
        self._responses = responses
        self._session = session
        self._workers = workers
        self._controller = os.getppid()
        self._shared: SharedLimits | None = None
        self._limits: Limits | None = None
        self._usage = Usage()
        self._endpoints: tuple[EndpointState, ...] = ()

    def begin(self) -> None:
        """Open the account, in the process that controls the run, before any process asks.

        Raises:
            InputError: the run is in progress elsewhere with other limits.
            StoreError: the store cannot be written.
        """
        settings = self._settings
        if not self._workers and not settings.run and settings.shard is None:
            from pytest_factorfair.engine import LocalLimits

            self._limits = LocalLimits(settings.ceilings)
            return
        from pytest_factorfair.store.sharing.limits import SharedLimits

        self._shared = SharedLimits.begin(self._responses.store, settings.ceilings, run=settings.run)
        self._limits = self._shared

    @property
    def limits(self) -> Limits | None:
        """The limits, which a worker joins on first use.

        None if this process asks nothing, or is a worker on another machine with a store of its own.

        Raises:
            StoreError: such a worker cannot keep the limits, or the store cannot be written.
        """
        if self._limits is None and self._session and self._settings.reuse != "only":
            self._join()
        return self._limits

    def _join(self) -> None:
        from pytest_factorfair.store.sharing.limits import SharedLimits

        store, ceilings = self._responses.store, self._settings.ceilings
        self._shared = SharedLimits.join(
            store, ceilings, run=self._settings.run, session=self._session, controller=self._controller
        )
        self._limits = self._shared
        if self._shared is not None:
            return
        if ceilings.any:
            raise StoreError(
                f"{store.location}: not the controller's store: on several machines, limits need a "
                "PostgreSQL store"
            )
        self._session = ""

    @property
    def session(self) -> str:
        """The session's name, for the workers of the controller that began it."""
        return self._shared.session if self._shared is not None else ""

    @property
    def ended(self) -> str | None:
        """The limit that ended the run, in the process that began it."""
        with suppress(StoreError):
            return None if self.limits is None else self.limits.ended
        return None

    @property
    def usage(self) -> Usage:
        """The usage of the whole session, in the process that began it; the last known after ``close``."""
        with suppress(StoreError):
            if self.limits is not None:
                self._usage = self.limits.usage
        return self._usage

    @property
    def endpoints(self) -> tuple[EndpointState, ...]:
        """The endpoints that throttled or failed, in any process; the last known ones after ``close``."""
        from pytest_factorfair.engine import endpoint_states

        with suppress(StoreError):
            if self.limits is not None:
                self._endpoints = endpoint_states(self.limits.endpoints, now=self.limits.clock())
        return self._endpoints

    @property
    def own_usage(self) -> tuple[str, Usage]:
        """This process's name in the account, and what it has used; "" if it shares none."""
        return ("", Usage()) if self._shared is None else (self._shared.owner, self._shared.own_usage)

    def unaccounted(self, exchanges: Iterable[Exchange]) -> Usage:
        """The usage of these exchanges that is not on the session's account."""
        usage = Usage.of(exchanges)
        if self.limits is None:
            return usage
        return Usage(cached=usage.cached, tokens_reasoning=usage.tokens_reasoning, retries=usage.retries)

    def add_worker(self, owner: str, usage: Usage) -> None:
        """Add what a worker reports to have used."""
        if self._shared is not None and owner:
            self._shared.add_worker(owner, usage)

    def check_time(self, timeout: float) -> None:
        """Check that max-minutes is kept by calls in flight: a user's function may hang.

        Raises:
            BudgetError: they have had ``timeout`` seconds to end since.
        """
        if (limits := self._limits) is None or limits.deadline is None:
            return
        if limits.clock() >= limits.deadline + timeout:
            limits.end(reason := limits.ceilings.out_of_time, whole_run=True)
            raise BudgetError(reason)

    def end(self, reason: str) -> None:
        """Stop the asking in all processes of the session."""
        if self.limits is not None:
            with suppress(StoreError):  # a full disk: the verdict and the reports must still come out
                if (ended := self.limits.end(reason)) is not None:
                    ended.result()

    def settle(self) -> None:
        """Wait until the workers have settled their calls."""
        if self._shared is not None:
            with suppress(StoreError):
                self._shared.drain()

    def close(self) -> None:
        if self._limits is not None:
            self._limits.close()
