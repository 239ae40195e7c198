"""One asyncio loop in one thread, started at its first use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other threads; cancels those still running when it closes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        """Run a coroutine; a closed loop returns a cancelled future."""
        with self._lock:
            if not self._closed:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="factorfair-loop", daemon=True)
                    self._thread.start()
                    self._ready.wait()
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        future: Future[T] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future

    @property
    def running(self) -> bool:
        return self._thread is not None and not self._closed

    def close(self, timeout: float) -> None:
        """End loop and thread; waits at most ``timeout`` seconds for them."""
        with self._lock:
            thread = self._thread if self.running else None
            self._closed = True
        if thread is not None:
            self._loop.call_soon_threadsafe(self._end.set)
            thread.join(timeout)

    def _run(self) -> None:
        new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
        with suppress(ImportError):
            import uvloop  # if it is installed: a call takes a quarter less CPU

            new_loop = uvloop.new_event_loop
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._ready.set()
        await self._end.wait()
        # A cancelled task may start another one, which commits a response that has arrived.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
