"""When to repeat a call after a transient failure, and when to stop."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pytest_factorfair.domain import GRACE


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter, in seconds.

    Pause n is drawn between 0 and ``base * 2**(n - 1)``, at most ``cap``. A query is asked ``attempts`` times
    at most, not counting throttled calls. ``patience`` bounds the total pauses of one query, and how long an
    endpoint that has answered, or only throttles, may fail every call. The run stops if ``most_at_first``
    queries in a row fail before any has succeeded, or ``unreached`` of them because a service does not
    answer; after that, if ``stretch`` queries do. Replies on their way when the run stops are awaited for
    ``grace`` seconds.
    """

    attempts: int = 6
    base: float = 0.5
    cap: float = 30.0
    patience: float = 300.0
    most_at_first: int = 20
    unreached: int = 3
    stretch: int = 200
    grace: float = GRACE
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random
    clock: Callable[[], float] = time.time

    def pause(self, attempt: int) -> float:
        """Seconds to wait after the given failed attempt, counted from 1."""
        return self.draw() * min(self.cap, self.base * 2.0 ** (attempt - 1))

    def probe(self, number: int) -> float:
        """Seconds between the given call that tries an endpoint which is down and the next."""
        return max(self.pause(number), self.base / 10)
