"""Requests in batches through a model in this process, in a thread of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Protocol

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import ModelError

Waiting = tuple[Request, "asyncio.Future[Response]"]


class Generator(Protocol):
    """A loaded model: ``batch`` is how many requests fit at once, ``closing`` ends what is under way."""

    closing: Event

    @property
    def batch(self) -> int: ...

    def __call__(self, requests: Sequence[Request], /) -> list[Response | ModelError]:
        """The outcome of each request, in their order."""
        ...


class Batches:
    """What is asked while a batch is under way becomes the next; ``alike`` requests share one.

    ``load`` is called in the model's own thread, when it is first asked.
    """

    def __init__(
        self,
        load: Callable[[], Generator],
        *,
        batch: int,
        alike: Callable[[Request], object] = lambda _: None,
    ) -> None:
        self._load = load
        self._batch = batch
        self._alike = alike
        self._generator: Generator | None = None
        self._waiting: deque[Waiting] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="factorfair-generator")

    async def ask(self, request: Request) -> Response:
        """Wait for the batch that the request will be part of."""
        outcome: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, outcome))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await outcome

    async def close(self) -> None:
        if self._generator is not None:
            self._generator.closing.set()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._generator = None

    async def _work(self) -> None:
        """Generate batch after batch until nobody waits; whoever is left if that fails is told."""
        taken: list[Waiting] = []
        try:
            await asyncio.sleep(0)  # all who ask in this turn of the loop belong to the first batch
            while self._waiting:
                taken = self._next_batch()
                run = asyncio.get_running_loop().run_in_executor
                outcomes = await run(self._thread, self._generate, [request for request, _ in taken])
                for (_, waiting), outcome in zip(taken, outcomes, strict=True):
                    _settle(waiting, outcome)
        except BaseException as error:  # the end of this task in any way must not leave anyone waiting
            for _, waiting in (*taken, *self._waiting):
                _settle(waiting, error)
            self._waiting.clear()
            if not isinstance(error, Exception):
                raise

    def _next_batch(self) -> list[Waiting]:
        """As many as fit of those that are like the one that has waited longest."""
        size = self._generator.batch if self._generator else self._batch
        kind = self._alike(self._waiting[0][0])
        taken: list[Waiting] = []
        others: deque[Waiting] = deque()
        while self._waiting and len(taken) < size:
            entry = self._waiting.popleft()
            (taken if self._alike(entry[0]) == kind else others).append(entry)
        self._waiting.extendleft(reversed(others))
        return taken

    def _generate(self, requests: list[Request]) -> list[Response | ModelError]:
        """Runs in the model's own thread, which also loads it."""
        if self._generator is None:
            self._generator = self._load()
        return self._generator(requests)


def _settle(waiting: asyncio.Future[Response], outcome: Response | BaseException) -> None:
    if waiting.done():
        return
    if isinstance(outcome, Response):
        waiting.set_result(outcome)
    elif isinstance(outcome, asyncio.CancelledError):
        waiting.cancel()
    else:
        waiting.set_exception(outcome)
