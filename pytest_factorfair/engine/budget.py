"""Leave to call: what the run as a whole may still use, asked for call by call, and what it has come to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Protocol

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import BudgetError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store.run_file import Ceilings, Entry, Grant, RunFile

Estimate = Callable[[Model, Request], float | None]
"""What a call may cost at most, in USD, before it is made; None where its price is unknown."""

LOOK = 0.05
"""Seconds between looks whether calls under way have left enough for another."""

UNPRICED = "what an answer costs is unknown, so max-cost cannot be kept; give --factorfair-max-calls"


class Budget(Protocol):
    """Grants calls one by one."""

    async def take(self, model: Model, request: Request) -> Grant:
        """Wait until the call may start.

        Raises:
            BudgetError: no more calls are granted.
            StoreError: the run's file is gone.
        """
        ...

    def settle(self, grant: Grant, response: Response | None, *, billable: bool) -> None:
        """Say what a granted call came to; ``billable`` is whether it may have cost without a response."""
        ...

    async def spent(self) -> bool:
        """Whether a limit of the run is used up."""
        ...

    def close(self) -> None: ...


class Unlimited:
    """Grants everything at once, and keeps no account."""

    async def take(self, model: Model, request: Request) -> Grant:  # noqa: ARG002  # as the protocol has it
        return Grant()

    def settle(self, grant: Grant, response: Response | None, *, billable: bool) -> None:
        pass

    async def spent(self) -> bool:
        return False

    def close(self) -> None:
        pass


@dataclass(slots=True)
class Batch:
    """What is written to the run's file in one go, while the batch before is being written."""

    sent: list[Entry] = field(default_factory=list)
    settled: list[Entry] = field(default_factory=list)
    dearest: float | None = None
    written: Future[None] = field(default_factory=Future)


class RunBudget:
    """Grants what the run's file grants, and keeps the account of this process there.

    The file's statements run in a thread, as a busy file makes them wait. Under limits one call at a time
    asks and then waits for its turn, so that no process holds grants it cannot use yet. Without limits
    calls are put on the account in batches, each before it is sent: a process that is killed has counted all.
    """

    def __init__(
        self,
        path: Path,
        ceilings: Ceilings,
        *,
        estimate: Estimate,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._file = RunFile.open(path)
        self._ceilings = ceilings
        self._estimate = estimate
        self._clock = clock
        self._sleep = sleep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="factorfair-budget")
        self._turn = asyncio.Lock()
        self._refused: BudgetError | None = None
        self._dearest: float | None = None
        self._lock = Lock()
        self._batch: Batch | None = None
        self._unused: list[Entry] = []
        self._closed = False

    async def take(self, model: Model, request: Request) -> Grant:
        if self._refused is not None:
            raise self._refused.with_traceback(None)
        estimate = self._estimate(model, request)
        try:
            return await (self._granted(estimate) if self._ceilings.any else self._counted(estimate))
        except BudgetError as error:
            self._refused = error
            raise

    async def _counted(self, estimate: float | None) -> Grant:
        grant = Grant(reserved=self._dearest if estimate is None else estimate, estimate=estimate)
        written = self._book(sent=Entry.sent(grant))
        try:
            await asyncio.wrap_future(written)
        except asyncio.CancelledError:
            written.add_done_callback(lambda _: None if written.exception() else self._give_back(grant))
            raise
        return grant

    async def _granted(self, estimate: float | None) -> Grant:
        async with self._turn:
            while (grant := await self._asked(estimate)) is None:
                await self._sleep(LOOK)
            try:
                if grant.wait > 0:
                    await self._sleep(grant.wait)
            except asyncio.CancelledError:
                self._give_back(grant)
                raise
        return grant

    async def _asked(self, estimate: float | None) -> Grant | None:
        if self._refused is not None:  # while it waited for its turn
            raise self._refused.with_traceback(None)
        asked = self._thread.submit(partial(self._file.take, estimate=estimate, now=self._clock()))
        try:
            return await asyncio.wrap_future(asked)
        except asyncio.CancelledError:
            asked.add_done_callback(self._late)
            raise

    def _late(self, asked: Future[Grant | None]) -> None:
        """A grant that came when nobody waited for it any more."""
        if not asked.cancelled() and not asked.exception() and (grant := asked.result()):
            self._give_back(grant)

    def _give_back(self, grant: Grant) -> None:
        with self._lock:
            self._unused.append(Entry.sent(grant).negative())

    def settle(self, grant: Grant, response: Response | None, *, billable: bool) -> None:
        """A call without a response counts at what was reserved, if it may have cost anything.

        Where USD are limited, an answer of unknown cost ends the run.
        """
        if response is None:
            self._book(settled=Entry.settled(grant, grant.reserved if billable else 0.0))
            return
        cost = grant.estimate if response.cost is None else response.cost
        if cost is None and self._ceilings.cost is not None:
            self._thread.submit(self._file.end, UNPRICED)
        if response.cost is not None:
            self._dearest = max(self._dearest or 0.0, response.cost)
        tokens = response.tokens_in or 0, response.tokens_out or 0
        self._book(settled=Entry.settled(grant, cost, *tokens), dearest=response.cost)

    def _book(
        self, *, sent: Entry | None = None, settled: Entry | None = None, dearest: float | None = None
    ) -> Future[None]:
        """Have it written to the run's file; done once it is."""
        with self._lock:
            batch = self._batch
            if batch is None:
                batch = self._batch = Batch()
                batch.written.set_running_or_notify_cancel()  # others wait for it: nobody cancels it
                self._thread.submit(self._write, batch)
            if sent is not None:
                batch.sent.append(sent)
            if settled is not None:
                batch.settled.append(settled)
            if dearest is not None:
                batch.dearest = max(batch.dearest or 0.0, dearest)
            return batch.written

    def _write(self, batch: Batch) -> None:
        with self._lock:
            self._batch = None
            settled, self._unused = [*batch.settled, *self._unused], []
        try:
            if settled:
                self._file.settle(Entry.total(settled), dearest=batch.dearest)
            if batch.sent:
                self._file.send(Entry.total(batch.sent))
        except Exception as error:  # noqa: BLE001  # whoever waits for it is told
            batch.written.set_exception(error)
        else:
            batch.written.set_result(None)

    async def spent(self) -> bool:
        return await asyncio.wrap_future(self._thread.submit(lambda: bool(self._file.ended)))

    def close(self) -> None:
        """Closing twice does nothing."""
        if not self._closed:
            self._closed = True
            self._thread.shutdown(wait=True)
            self._file.settle(Entry.total(self._unused))
            self._file.close()
