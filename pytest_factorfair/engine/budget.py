"""Grant calls when the store, the endpoint and the run's limits allow them, and account for each."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future

from pytest_factorfair.domain import (
    AccountEntry,
    CallRequest,
    Decision,
    Delay,
    Grant,
    Request,
    Response,
    Stop,
)
from pytest_factorfair.engine.limits import Limits
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import BudgetError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Store

Estimate = Callable[[Model, Request], float | None]
"""The most that a call may cost, in USD, before it is made; None if its price is unknown."""

RECHECK_STORE = 0.1
"""Seconds after which it is checked again whether the store takes answers."""

RECHECK = 1.0
"""Seconds after which a closed endpoint is checked again: another process may have found it open."""

UNPRICED = "the price of an answer is unknown, so max-cost cannot be enforced; give --factorfair-max-calls"


class Budget:
    """Grants calls one by one under the limits of the run."""

    def __init__(self, limits: Limits, store: Store, retry: Retry, estimate: Estimate) -> None:
        self._limits = limits
        self._store = store
        self._retry = retry
        self._estimate = estimate
        self._queues: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._abandoned: set[asyncio.Future[Decision]] = set()
        self._refused: BudgetError | None = None

    async def take(self, model: Model, request: Request) -> Grant:
        """Wait until the call may start.

        Calls that cannot start at once wait in order, and only the first of them asks, so that no process
        holds grants that it cannot use yet.

        Raises:
            BudgetError: no more calls are granted.
            StoreError: the limits cannot be kept, or the store takes no answers any more.
        """
        estimate = self._estimate(model, request)
        if self._limits.ceilings.rpm is None and not self._queues[model.endpoint].locked():
            decision = await self._asked(model.endpoint, estimate)
            if isinstance(decision, Grant):
                return decision
        async with self._queues[model.endpoint]:
            while isinstance(decision := await self._asked(model.endpoint, estimate), Delay):
                await self._retry.sleep(min(decision.seconds, RECHECK))
            try:
                if decision.wait > 0:
                    await self._retry.sleep(decision.wait)
            except asyncio.CancelledError:
                self.give_back(decision)
                raise
            return decision

    async def _asked(self, endpoint: str, estimate: float | None) -> Grant | Delay:
        while self._store.unavailable:  # no call is paid for if the store cannot take its answer
            await self._retry.sleep(RECHECK_STORE)
        if self._store.given_up:
            await asyncio.wrap_future(self._store.release(()))  # raises why
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        decision = self._limits.take(CallRequest(endpoint, estimate, self._retry.clock(), self._retry.probe))
        if isinstance(decision, Future):
            pending = asyncio.wrap_future(decision)
            try:
                decision = await asyncio.shield(pending)
            except asyncio.CancelledError:
                self._abandoned.add(pending)
                pending.add_done_callback(self._unused)
                raise
        if isinstance(decision, Stop):
            self._refused = BudgetError(decision.reason)
            raise self._refused
        return decision

    def _unused(self, pending: asyncio.Future[Decision]) -> None:
        self._abandoned.discard(pending)
        if not pending.cancelled() and pending.exception() is None:
            self.give_back(pending.result())

    def give_back(self, decision: Decision) -> None:
        """Return a grant without a call."""
        if isinstance(decision, Grant):
            self._limits.settle(AccountEntry.unused(decision))

    def settle(self, grant: Grant, response: Response | None, *, billable: bool) -> None:
        """Enter the cost of a call; without a response, the reserved amount if the call is ``billable``.

        If USD are limited, an answer of unknown cost ends the run.
        """
        if response is None:
            self._limits.settle(AccountEntry.settled(grant, grant.reserved if billable else 0.0))
            return
        if response.cost is None and grant.estimate is None and self._limits.ceilings.cost is not None:
            self._limits.end(UNPRICED, whole_run=True)
        self._limits.settle(AccountEntry.answered(grant, response))

    def end(self, reason: str) -> None:
        """Stop the calls of all processes of the session."""
        self._limits.end(reason)

    async def close(self) -> None:
        """Return the grants of calls that were cancelled while they waited for a grant."""
        while self._abandoned:
            await asyncio.wait(self._abandoned)
