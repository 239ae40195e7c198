"""Leave to call: what the run as a whole may still use, asked for call by call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Protocol

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import BudgetError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store.run_file import Grant, RunFile

Estimate = Callable[[Model, Request], float]
"""What a call may cost at most, in USD, before it is made."""

LOOK = 0.05
"""Seconds between looks whether calls under way have left enough for another."""

UNPRICED = "what an answer costs is unknown, so max-cost cannot be kept; give --factorfair-max-calls"


class Budget(Protocol):
    """Grants calls one by one."""

    async def take(self, model: Model, request: Request) -> int:
        """Wait until the call may start; returns the number under which it is settled.

        Raises:
            BudgetError: no more calls are granted.
            StoreError: the run's file is gone.
        """
        ...

    def settle(self, number: int, response: Response | None) -> None:
        """Say what a granted call came to."""
        ...

    async def spent(self) -> bool:
        """Whether no process of the run is granted any more calls."""
        ...

    def close(self) -> None: ...


class Unlimited:
    """Grants everything at once."""

    async def take(self, model: Model, request: Request) -> int:  # noqa: ARG002  # as the protocol has it
        return 0

    def settle(self, number: int, response: Response | None) -> None:
        pass

    async def spent(self) -> bool:
        return False

    def close(self) -> None:
        pass


class RunBudget:
    """Grants what the run's file grants; its statements run in a thread, as a busy file makes them wait.

    One call at a time asks and then waits for its turn, so that no process holds grants it cannot use yet.
    """

    def __init__(
        self,
        path: Path,
        *,
        priced: bool,
        estimate: Estimate,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._file = RunFile.open(path)
        self._priced = priced
        self._estimate = estimate
        self._clock = clock
        self._sleep = sleep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="factorfair-budget")
        self._turn = asyncio.Lock()
        self._spent: BudgetError | None = None

    async def take(self, model: Model, request: Request) -> int:
        async with self._turn:
            if self._spent is not None:
                raise self._spent.with_traceback(None)
            estimate = self._estimate(model, request) if self._priced else 0.0
            try:
                while (grant := await self._asked(estimate)) is None:
                    await self._sleep(LOOK)
            except BudgetError as error:
                self._spent = error
                raise
            try:
                if grant.wait > 0:
                    await self._sleep(grant.wait)
            except asyncio.CancelledError:
                self.settle(grant.number, None)  # nobody will use it
                raise
        return grant.number

    async def _asked(self, estimate: float) -> Grant | None:
        ask = partial(self._file.take, estimate=estimate, now=self._clock())
        return await asyncio.get_running_loop().run_in_executor(self._thread, ask)

    def settle(self, number: int, response: Response | None) -> None:
        """Only of use where USD are limited; there, an answer of unknown cost ends the run."""
        if not self._priced:
            return
        if response is not None and response.cost is None:
            self._thread.submit(self._file.end, UNPRICED)
        cost = response.cost or 0.0 if response is not None else 0.0
        self._thread.submit(self._file.settle, number, cost, answered=response is not None)

    async def spent(self) -> bool:
        if self._spent is not None:
            return True
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: bool(self._file.ended))

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        self._file.close()
