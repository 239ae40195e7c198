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
    from pytest_factorfair.engine import EndpointState
    from pytest_factorfair.session.responses import Responses
    from pytest_factorfair.store import Limits


class Account:
    """What the processes of a run may still ask, and have asked.

    The controller begins it, and its workers join the ``session`` that it names. A replay has none.
    """

    def __init__(self, settings: Settings, responses: Responses, *, session: str = "") -> None:
        self._settings = settings
        self._responses = responses
        self._session = session
        self._controller = os.getppid()
        self._limits: Limits | None = None
        self._opened = False
        self._usage = Usage()
        self._endpoints: tuple[EndpointState, ...] = ()

    def begin(self) -> None:
        """Open the account, in the process that controls the run, before any process asks.

        Raises:
            InputError: the run is in progress elsewhere with other limits.
            StoreError: the store cannot be written.
        """
        from pytest_factorfair.store import Limits

        settings = self._settings
        lasting = settings.shard is not None
        self._limits = Limits.begin(
            self._responses.store, settings.ceilings, run=settings.run, lasting=lasting
        )
        self._opened = True

    @property
    def limits(self) -> Limits | None:
        """The limits, which a worker joins on first use.

        None if this process asks nothing, or is a worker on another machine with a store of its own.

        Raises:
            StoreError: such a worker cannot keep the limits, or the store cannot be written.
        """
        if self._opened or self._settings.replay or not self._session:
            return self._limits
        from pytest_factorfair.store import Limits

        store, ceilings = self._responses.store, self._settings.ceilings
        joined = Limits.join(
            store, ceilings, run=self._settings.run, session=self._session, controller=self._controller
        )
        if joined is None and ceilings.any:
            raise StoreError(
                f"{store.place}: not the controller's store: on several machines, limits need a "
                "PostgreSQL store"
            )
        self._limits, self._opened = joined, True
        return joined

    @property
    def session(self) -> str:
        """The session's name, for the workers of the controller that began it."""
        return self._limits.session if self._limits is not None else ""

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
            if self.limits is not None and not self.limits.away:
                self._endpoints = endpoint_states(self.limits.endpoints.all, now=self.limits.clock())
        return self._endpoints

    @property
    def own_usage(self) -> tuple[str, Usage]:
        """This process's name in the account, and what it has used; "" if it has not joined."""
        return ("", Usage()) if self._limits is None else (self._limits.owner, self._limits.own_usage)

    def unaccounted(self, exchanges: Iterable[Exchange]) -> Usage:
        """The usage of these exchanges that is not on the session's account."""
        usage = Usage.of(exchanges)
        return usage if self.limits is None else Usage(cached=usage.cached)

    def hear(self, owner: str, usage: Usage) -> None:
        """Take note of what a worker says that it has used."""
        if self.limits is not None and owner:
            self.limits.report(owner, usage)

    def check_time(self, timeout: float) -> None:
        """Check that max-minutes is kept by calls in flight: a user's function may hang.

        Raises:
            BudgetError: they have had ``timeout`` seconds to end since.
        """
        if self._limits is not None and (reason := self._limits.overtime(timeout)) is not None:
            raise BudgetError(reason)

    def end(self, reason: str) -> None:
        """Let no process of the session ask any more."""
        if self.limits is not None:
            with suppress(StoreError):  # a full disk: the verdict and the reports must still come out
                self.limits.end(reason).result()

    def settle(self) -> None:
        """Wait until the workers have settled their calls."""
        if self.limits is not None:
            with suppress(StoreError):
                self.limits.settle()

    def close(self) -> None:
        if self._limits is not None:
            self._limits.close()
