"""The number of calls that may be in flight at once, adapted call by call."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple

from pytest_factorfair.engine.breaker import Breaker
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Limits

COOL_DOWN = 1.0
"""Seconds without increase after a decrease: calls sent before it are still being answered."""


class Limiter:
    """Slots for the calls to one endpoint: at most ``most``, fewer if the endpoint throttles.

    Every round of answers adds one slot; a 429 halves them, once for all calls in flight at that moment.
    Slots are given in the order of asking. Used in the loop only.
    """

    def __init__(self, most: int, retry: Retry) -> None:
        self.width = float(most)
        self._most = most
        self._retry = retry
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
            if slot.done() and not slot.cancelled():  # it was given at the same moment
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def succeeded(self) -> None:
        """Add a slot, if all were in use and the last decrease was a while ago."""
        if self._active >= int(self.width) < self._most and self._retry.clock() - self._slowed >= COOL_DOWN:
            self.width = min(float(self._most), self.width + 1 / self.width)

    def throttled(self, began: float) -> None:
        """Halve the slots, unless the throttled call began before the last decrease."""
        if began >= self._slowed:
            # Of the slots in use: these were too many, whatever their limit.
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
            self._active += 1
            self._queue.popleft().set_result(None)


class Endpoint(NamedTuple):
    """The limiter and the circuit breaker of one endpoint."""

    limiter: Limiter
    breaker: Breaker


class Limiters:
    """A limiter for each endpoint, and fewer slots for a model that can use only fewer."""

    def __init__(self, connections: int, retry: Retry, limits: Limits) -> None:
        self._connections = connections
        self._retry = retry
        self._limits = limits
        self._endpoints: dict[str, Endpoint] = {}
        self._models: dict[int, AbstractAsyncContextManager[None]] = {}

    def own(self, model: Model) -> AbstractAsyncContextManager[None]:
        """The slot of a model, which a call must hold first."""
        if id(model) not in self._models:
            few = model.parallel is not None and model.parallel < self._connections
            self._models[id(model)] = asyncio.Semaphore(model.parallel or 1) if few else nullcontext()
        return self._models[id(model)]

    def of(self, model: Model) -> Endpoint:
        """The endpoint of a model; a call must hold a slot of it next."""
        name = model.endpoint
        if name not in self._endpoints:
            breaker = Breaker(name, self._limits, self._retry)
            self._endpoints[name] = Endpoint(Limiter(self._connections, self._retry), breaker)
        return self._endpoints[name]
