"""How many calls may be under way at once, found out call by call."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from pytest_factorfair.models.protocol import Model

LOOK = 0.01
"""Seconds between looks for a place that another process may have given back."""

COOL_DOWN = 1.0
"""Seconds after a decrease in which nothing is added: what was sent before it is still being answered."""


class Places(Protocol):
    """What the processes of a run have in common for one endpoint, beside what each may have by itself."""

    def take(self) -> bool:
        """Take a place, if there is one for this process now."""
        ...

    def give(self) -> None:
        """Give a place back."""
        ...

    def want(self, *, more: bool) -> None:
        """Say whether this process waits for a place."""
        ...


class Unshared:
    """Places without end: this process is the only one."""

    def take(self) -> bool:
        return True

    def give(self) -> None:
        pass

    def want(self, *, more: bool) -> None:
        pass


class Lane:
    """The calls to one endpoint: at most ``most`` at once, fewer where it says that this is too many.

    Each also needs one of the ``places`` that the processes of a run share. Every round of answers adds
    one place; being told to slow down halves them, once for all calls that were under way at that moment.
    A pause the endpoint asks for holds for all its calls. Lives in the loop: a place is waited for in the
    order of asking.
    """

    def __init__(
        self, most: int, *, places: Places | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.width = float(most)
        self._most = most
        self._places = places or Unshared()
        self._looking = False
        self._clock = clock
        self._active = 0
        self._slowed = self._closed_until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._free and not self._waiting and self._places.take():
            self._active += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._admit()
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
            # Of what is in use: all processes together are told, and each may hold but a part.
            self.width = max(1.0, min(self.width, float(self._active or self.width)) / 2)
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
        self._places.give()
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._free:
            if self._waiting[0].done():
                self._waiting.popleft()
            elif self._places.take():
                self._active += 1
                self._waiting.popleft().set_result(None)
            else:
                self._look()
                break
        self._places.want(more=self._looking)

    def _look(self) -> None:
        """Try again soon: another process does not tell when it gives a place back."""
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(LOOK, self._again)

    def _again(self) -> None:
        self._looking = False
        self._admit()


class Limits:
    """A lane for each endpoint, and fewer places where a model can use fewer."""

    def __init__(self, connections: int, places: Callable[[str], Places] | None = None) -> None:
        self._connections = connections
        self._places = places
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
            places = self._places(model.endpoint) if self._places is not None else None
            self._lanes[model.endpoint] = Lane(self._connections, places=places)
        return self._lanes[model.endpoint]
