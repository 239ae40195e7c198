"""The limits of a run: the interface that calls use, and the limits of a run in one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from pytest_factorfair.domain import AccountEntry, Allowance, CallRequest, Ceilings, Decision, Health, Usage


class Limits(Protocol):
    """The limits of a run, its account and its endpoints. Methods may be called from any thread.

    ``LocalLimits`` are those of one process, ``SharedLimits`` (``store/sharing``) those of several. Callers
    need not know which: a method returns its result if it is known, otherwise a future of it. Futures and
    properties of limits that are shared fail with StoreError.
    """

    ceilings: Ceilings
    deadline: float | None
    """When the run has used up its minutes, by ``clock``."""

    def clock(self) -> float:
        """Seconds since 1970, the same in all processes of the run, even if a host's clock is set."""

    def take(self, request: CallRequest) -> Decision | Future[Decision]:
        """Ask whether a call may start; a granted call is on the account before it is sent."""

    def settle(self, entry: AccountEntry) -> None:
        """Enter a call that has ended, or was not made."""

    def report(self, endpoint: str, change: Callable[[Health], Health]) -> Health | Future[Health]:
        """Change the state of an endpoint by the result of a call, and return the new state."""

    def health(self, endpoint: str) -> Health | Future[Health]:
        """The state of an endpoint after all reports so far."""

    def end(self, reason: str, *, whole_run: bool = False) -> Future[None] | None:
        """Grant no more calls to this session, or to any session of the run; the first reason is kept."""

    @property
    def ended(self) -> str | None:
        """Why no more calls are granted; None while some may be."""

    @property
    def usage(self) -> Usage:
        """The usage of the session; calls in flight count at the cost set aside for them."""

    @property
    def endpoints(self) -> tuple[Health, ...]:
        """Every endpoint that was called, by name."""

    def close(self) -> None:
        """End the session; closing twice does nothing."""


class LocalLimits:
    """The limits of a run that only this process asks, in its memory.

    If the process is killed, they go with it: responses are in the store, and the next run has an account of
    its own.
    """

    def __init__(self, ceilings: Ceilings | None = None, *, now: float | None = None) -> None:
        """Begin the run at ``now``, by default at this moment."""
        self.ceilings = ceilings or Ceilings()
        self._epoch = time.time() - time.monotonic()
        self._lock = threading.Lock()
        self._allowance = Allowance.since(self.clock() if now is None else now, self.ceilings)
        self.deadline = self._allowance.deadline
        self._health: dict[str, Health] = {}

    def clock(self) -> float:
        return self._epoch + time.monotonic()

    def take(self, request: CallRequest) -> Decision:
        with self._lock:
            health = self._health.get(request.endpoint) or Health(request.endpoint)
            self._allowance, self._health[request.endpoint], decision = self._allowance.take(request, health)
        return decision

    def settle(self, entry: AccountEntry) -> None:
        with self._lock:
            self._allowance = self._allowance.enter(entry)

    def report(self, endpoint: str, change: Callable[[Health], Health]) -> Health:
        with self._lock:
            health = change(self._health.get(endpoint) or Health(endpoint))
            self._health[endpoint] = health
        return health

    def health(self, endpoint: str) -> Health:
        return self.report(endpoint, lambda health: health)

    def end(self, reason: str, *, whole_run: bool = False) -> None:  # noqa: ARG002  # it has one session
        with self._lock:
            self._allowance = self._allowance._replace(ended=self._allowance.ended or reason)

    @property
    def ended(self) -> str | None:
        return self._allowance.ended

    @property
    def usage(self) -> Usage:
        return self._allowance.account.usage

    @property
    def endpoints(self) -> tuple[Health, ...]:
        with self._lock:
            return tuple(health for _, health in sorted(self._health.items()))

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
