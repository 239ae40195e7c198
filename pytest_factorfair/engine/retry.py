"""When to call again after a failure that may pass."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_factorfair.errors import FatalModelError, RejectedRequestError, RetryableModelError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter, in seconds.

    Pause n is drawn between 0 and ``base * 2**(n - 1)``, at most ``cap``, on top of what the
    provider asked for. ``patience`` bounds the pauses of one request together; being throttled uses
    up that, but no attempt.
    """

    attempts: int = 6
    base: float = 0.5
    cap: float = 30.0
    patience: float = 300.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait after the given failed attempt, counted from 1."""
        return (retry_after or 0.0) + self.draw() * min(self.cap, self.base * 2.0 ** (attempt - 1))

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """The attempt's first success.

        Raises:
            RejectedRequestError: attempts or patience ran out.
            FatalModelError: the provider wants to be left alone for longer than anybody waits.
        """
        waited, throttled = 0.0, 0
        for tries in itertools.count(1):
            try:
                return await attempt()
            except RetryableModelError as error:
                pause = 0.0 if error.at_once else self.pause(tries, error.retry_after)
                throttled += error.throttled
                if (error.retry_after or 0.0) > self.patience:
                    raise FatalModelError(_given_up(error, tries)) from error
                if tries - throttled >= self.attempts or waited + pause > self.patience:
                    raise RejectedRequestError(_given_up(error, tries)) from error
            waited += pause
            await self.sleep(pause)
        raise AssertionError("unreachable")


def _given_up(error: RetryableModelError, tries: int) -> str:
    asked = f", told to wait {error.retry_after:g} s" if error.retry_after else ""
    return f"{error} (given up after {tries} attempt{'s' if tries > 1 else ''}{asked})"
