"""Permission to call: waits for the endpoint and the run's limits, and accounts for each call."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import BudgetError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import AccountEntry, Grant, Later, Limits, Over, Wish

Estimate = Callable[[Model, Request], float | None]
"""The most that a call may cost, in USD, before it is made; None if its price is unknown."""

AWAY = 0.1
"""Seconds after which it is checked again whether the store takes answers."""

RECHECK = 1.0
"""Seconds after which a closed endpoint is checked again: another process may have found it open."""

UNPRICED = "the price of an answer is unknown, so max-cost cannot be enforced; give --factorfair-max-calls"
ORPHANED = "the controlling process is gone"


DELAY = 0.5
"""Seconds until calls are entered on an account that no other process shares."""


class Budget:
    """Grants calls one by one under the limits of the run; at once if there are none."""

    def __init__(self, limits: Limits, retry: Retry, estimate: Estimate) -> None:
        self._limits = limits
        self._retry = retry
        self._estimate = estimate
        self._queues: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._settled: list[AccountEntry] = []
        self._wishes: list[tuple[Wish, asyncio.Future[Grant | Later | Over]]] = []
        self._accounting: asyncio.Task[None] | None = None
        self._delayed: asyncio.TimerHandle | None = None
        self._refused: BudgetError | None = None
        self._failing = False

    async def take(self, model: Model, request: Request) -> Grant:
        """Wait until the call may start.

        Calls that cannot start at once wait in order, and only the first of them asks, so that no process
        holds grants that it cannot use yet.

        Raises:
            BudgetError: no more calls are granted.
            StoreError: the limits cannot be kept.
        """
        estimate = self._estimate(model, request)
        while self._limits.away and not self._limits.gone:
            await self._retry.sleep(AWAY)
        if self._refused is None and not self._failing:
            grant = self._limits.free(model.endpoint, estimate, now=self._retry.clock())
            if grant is not None:
                self._enter(AccountEntry.sent(grant))
                return grant
        if self._limits.ceilings.rpm is None and not self._queues[model.endpoint].locked():
            reply = await self._taken(model.endpoint, estimate)
            if isinstance(reply, Grant):
                return reply
        async with self._queues[model.endpoint]:
            while isinstance(reply := await self._taken(model.endpoint, estimate), Later):
                await self._retry.sleep(min(reply.seconds, RECHECK))
            try:
                if reply.wait > 0:
                    await self._retry.sleep(reply.wait)
            except asyncio.CancelledError:
                self.give_back(reply)
                raise
            return reply

    async def _taken(self, endpoint: str, estimate: float | None) -> Grant | Later:
        if self._refused is None and self._limits.orphaned:
            self._refused = BudgetError(ORPHANED)
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        granted: asyncio.Future[Grant | Later | Over] = asyncio.get_running_loop().create_future()
        self._wishes.append((Wish(endpoint, estimate, self._retry.clock(), self._retry.probe), granted))
        self._account()
        try:
            reply = await granted
        except asyncio.CancelledError:
            if not granted.cancelled() and not granted.exception():  # it was granted at the same moment
                self.give_back(granted.result())
            raise
        if isinstance(reply, Over):
            self._refused = BudgetError(reply.reason)
            raise self._refused
        return reply

    def _account(self) -> None:
        """Enter settled calls and ask for the waiting ones; later ones follow in the next turn."""
        if self._delayed is not None:
            self._delayed.cancel()
            self._delayed = None
        if self._accounting is None:
            self._accounting = asyncio.create_task(self._accounted())

    async def _accounted(self) -> None:
        while self._settled or self._wishes:
            settled, self._settled = self._settled, []
            asked, self._wishes = self._wishes, []
            try:
                replies = await asyncio.wrap_future(
                    self._limits.account(settled, [wish for wish, _ in asked])
                )
            except Exception as error:  # noqa: BLE001 - whatever it is, no call may wait forever
                self._failing = True  # from now on each call asks first, and raises the error
                self._settled = settled + self._settled  # none was entered, so they are tried again
                for _, granted in asked:
                    if not granted.cancelled():
                        granted.set_exception(error)
                if self._wishes:
                    continue
                break
            for (_, granted), answer in zip(asked, replies, strict=True):
                if granted.cancelled():
                    self.give_back(answer)
                else:
                    granted.set_result(answer)
        self._accounting = None

    def give_back(self, taken: Grant | Later | Over) -> None:
        """Return a grant without a call."""
        if isinstance(taken, Grant):
            self._enter(AccountEntry.unused(taken))

    def _enter(self, entry: AccountEntry) -> None:
        self._limits.note(entry)
        self._settled.append(entry)
        if not self._limits.alone:
            self._account()
        elif self._delayed is None:
            self._delayed = asyncio.get_running_loop().call_later(DELAY, self._account)

    def settle(self, grant: Grant, response: Response | None, *, billable: bool) -> None:
        """Enter the cost of a call; without a response, the reserved amount if the call is ``billable``.

        If USD are limited, an answer of unknown cost ends the run.
        """
        if response is None:
            self._enter(AccountEntry.settled(grant, grant.reserved if billable else 0.0))
            return
        cost = grant.estimate if response.cost is None else response.cost
        if cost is None and self._limits.ceilings.cost is not None:
            self._limits.end_run(UNPRICED)
        tokens = response.tokens_in or 0, response.tokens_out or 0
        self._enter(AccountEntry.settled(grant, cost, *tokens, billed=response.cost))

    def end(self, reason: str) -> None:
        """Have no process of the session ask anything more."""
        self._limits.end(reason)

    async def close(self) -> None:
        """Wait until all calls are entered, and unused grants are returned."""
        if self._settled:
            self._account()
        if self._accounting is not None:
            await asyncio.wait([self._accounting])
