"""How many calls may be in flight at once, found out call by call."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext

from pytest_factorfair.engine.breaker import Breaker
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import StoreError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store.endpoints import Endpoints

RECHECK = 1.0
"""Seconds after which a closed endpoint is looked at again: another process may have found it open."""

COOL_DOWN = 1.0
"""Seconds after a decrease in which nothing is added: what was sent before it is still being answered."""


class Limiter:
    """The calls to one endpoint: at most ``most`` at once, fewer where it says that this is too many.

    Each also needs the ``breaker``'s leave. Every round of answers adds one slot; a 429 halves them, once
    for all calls that were in flight at that moment. Lives in the loop: slots are given in the order of
    asking.
    """

    def __init__(self, most: int, breaker: Breaker, retry: Retry) -> None:
        self.breaker = breaker
        self.width = float(most)
        self._most = most
        self._retry = retry
        self._waking: set[asyncio.Task[None]] = set()
        self._held = False
        self._active = 0
        self._slowed = float("-inf")
        self._queue: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        slot = asyncio.get_running_loop().create_future()
        self._queue.append(slot)
        self._admit()
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():  # it was given in the very moment
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def succeeded(self) -> None:
        """Widen, where all slots were in use and the last decrease is a while ago."""
        self.breaker.answered()
        if self._active >= int(self.width) < self._most and self._retry.clock() - self._slowed >= COOL_DOWN:
            self.width = min(float(self._most), self.width + 1 / self.width)

    def throttled(self, began: float) -> None:
        """The endpoint had no room for a call begun then; one begun before a decrease tells nothing new."""
        if began >= self._slowed:
            # Of what is in use: it was too much, however many slots there are.
            self.width = max(1.0, min(self.width, float(self._active or self.width)) / 2)
            self._slowed = self._retry.clock()

    def hold(self) -> None:
        """Give no slot until ``release``."""
        self._held = True

    def release(self) -> None:
        self._held = False
        self._admit()

    def _leave(self) -> None:
        self._active -= 1
        self._admit()

    def _admit(self) -> None:
        while self._queue and self._active < int(self.width) and not self._held:
            if self._queue[0].done():
                self._queue.popleft()
                continue
            # The breaker last: where the endpoint is down, its leave is for one call of all processes.
            try:
                wait = self.breaker.wait()
            except StoreError as error:
                self._turn_away(error)
                break
            if wait:
                self._look_again(min(wait, RECHECK))
                break
            self._active += 1
            self._queue.popleft().set_result(None)

    def _turn_away(self, error: StoreError) -> None:
        for slot in self._queue:
            if not slot.done():
                slot.set_exception(error)
        self._queue.clear()

    def _look_again(self, seconds: float) -> None:
        if not self._waking:
            task = asyncio.get_running_loop().create_task(self._wake(seconds))
            self._waking.add(task)

    async def _wake(self, seconds: float) -> None:
        await self._retry.sleep(seconds)
        self._waking.clear()
        self._admit()


class Limiters:
    """A limiter for each endpoint, and fewer slots where a model can use fewer."""

    def __init__(self, connections: int, retry: Retry, endpoints: Endpoints) -> None:
        self._connections = connections
        self._retry = retry
        self._endpoints = endpoints
        self._limiters: dict[str, Limiter] = {}
        self._models: dict[int, AbstractAsyncContextManager[None]] = {}

    def own(self, model: Model) -> AbstractAsyncContextManager[None]:
        """What a call must hold first: a slot of its model's own."""
        if id(model) not in self._models:
            few = model.parallel is not None and model.parallel < self._connections
            self._models[id(model)] = asyncio.Semaphore(model.parallel or 1) if few else nullcontext()
        return self._models[id(model)]

    def of(self, model: Model) -> Limiter:
        """What a call must hold next: a slot of its endpoint's."""
        if model.endpoint not in self._limiters:
            breaker = Breaker(model.endpoint, self._endpoints, self._retry)
            self._limiters[model.endpoint] = Limiter(self._connections, breaker, self._retry)
        return self._limiters[model.endpoint]
