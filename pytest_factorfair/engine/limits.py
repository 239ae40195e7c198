"""How many calls may be under way at once, found out call by call."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

from pytest_factorfair.models.protocol import Model

COOL_DOWN = 1.0
"""Seconds after a decrease in which nothing is added: what was sent before it is still being answered."""


class Lane:
    """The calls to one endpoint: at most ``most`` at once, fewer where it says that this is too many.

    Every round of answers adds one place; being told to slow down halves them, once for all calls
    that were under way at that moment. A pause the endpoint asks for holds for all its calls.
    Lives in the loop: a place is waited for in the order of asking.
    """

    def __init__(self, most: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.width = float(most)
        self._most = most
        self._clock = clock
        self._active = 0
        self._slowed = self._closed_until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free and not self._waiting:
            self._active += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it got a place in the very moment
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def succeeded(self) -> None:
        """Widen, where all places were in use and the last decrease is a while ago."""
        if self._active >= int(self.width) < self._most and self._clock() - self._slowed >= COOL_DOWN:
            self.width = min(float(self._most), self.width + 1 / self.width)

    def throttled(self, began: float) -> None:
        """The endpoint had no room for a call begun then; one begun before a decrease tells nothing new."""
        if began >= self._slowed:
            self.width = max(1.0, self.width / 2)
            self._slowed = self._clock()

    def pause(self, seconds: float) -> None:
        """Start no call for so long."""
        until = self._clock() + seconds
        if seconds > 0 and until > self._closed_until:
            self._closed_until = until
            asyncio.get_running_loop().call_later(seconds, self._admit)

    @property
    def _free(self) -> bool:
        return self._active < int(self.width) and self._clock() >= self._closed_until

    def _leave(self) -> None:
        self._active -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._free:
            turn = self._waiting.popleft()
            if not turn.done():
                self._active += 1
                turn.set_result(None)


class Limits:
    """A lane for each endpoint, and fewer places where a model can use fewer."""

    def __init__(self, connections: int) -> None:
        self._connections = connections
        self._lanes: dict[str, Lane] = {}
        self._models: dict[int, AbstractAsyncContextManager[None]] = {}

    def own(self, model: Model) -> AbstractAsyncContextManager[None]:
        """What a call must hold first: a place of its model's own."""
        if id(model) not in self._models:
            few = model.parallel is not None and model.parallel < self._connections
            self._models[id(model)] = asyncio.Semaphore(model.parallel or 1) if few else nullcontext()
        return self._models[id(model)]

    def lane(self, model: Model) -> Lane:
        """What a call must hold next: a place of its endpoint's."""
        if model.endpoint not in self._lanes:
            self._lanes[model.endpoint] = Lane(self._connections)
        return self._lanes[model.endpoint]
