"""Fake models that answer as a test says, and record what was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from pytest_factorfair.domain import Query, Request, Response

Reply = Callable[[Request], Awaitable[Response]]


def query(number: int, *, repeat: int = 0) -> Query:
    return Query(f"q{number}", f"prompt {number}", (), repeat, number, {})


def queries(count: int, *, start: int = 0) -> tuple[Query, ...]:
    return tuple(query(number) for number in range(start, start + count))


async def echo(request: Request) -> Response:
    return Response(f"answer to {request.prompt}", cost=0.0)


@dataclass
class Clock:
    """A fake clock, which only advances by sleeping."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


@dataclass
class FakeModel:
    """A model that answers with ``reply``; ``peak`` is the largest number of simultaneous calls."""

    reply: Reply = echo
    parallel: int | None = None
    endpoint: str = "fake/here"
    identity: Mapping[str, object] = field(default_factory=lambda: {"provider": "fake", "model": "f"})
    asked: list[str] = field(default_factory=list)
    peak: int = 0
    closed_in: list[object] = field(default_factory=list)
    asked_in: set[object] = field(default_factory=set)
    _under_way: int = 0

    async def ask(self, request: Request) -> Response:
        self.asked.append(request.prompt)
        self.asked_in.add(asyncio.get_running_loop())
        self._under_way += 1
        self.peak = max(self.peak, self._under_way)
        try:
            return await self.reply(request)
        finally:
            self._under_way -= 1

    async def close(self) -> None:
        self.closed_in.append(asyncio.get_running_loop())
