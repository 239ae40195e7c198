"""Waiting in the loop for what other threads finish, many at a time."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Arrivals:
    """Wakes the loop once for all futures that are done by then: a commit finishes up to a hundred.

    ``asyncio.wrap_future`` wakes it once for each, which costs more than the commit.
    """

    def __init__(self) -> None:
        self._done: deque[tuple[Future[Any], asyncio.Future[Any]]] = deque()
        self._lock = threading.Lock()

    async def of(self, future: Future[T]) -> T:
        """Wait for a future; gives what it gives and raises what it raises."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[T] = loop.create_future()

        def arrived(done: Future[T]) -> None:
            with self._lock:
                first = not self._done
                self._done.append((done, waiter))
            # Who finds others there knows that the loop has been woken for them, and is not up yet.
            if first and not loop.is_closed():
                loop.call_soon_threadsafe(self._deliver)

        future.add_done_callback(arrived)
        return await waiter

    def _deliver(self) -> None:
        while self._done:
            # Taken out last, and under the lock: as long as one is in, nobody wakes the loop anew, so who
            # comes while it is taken out must be seen by the next look.
            done, waiter = self._done[0]
            if not waiter.done():
                error = done.exception()
                if error is None:
                    waiter.set_result(done.result())
                else:
                    waiter.set_exception(error)
            with self._lock:
                self._done.popleft()
