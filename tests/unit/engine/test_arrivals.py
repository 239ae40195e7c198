from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import Future
from typing import cast

from pytest_factorfair.domain import Response
from pytest_factorfair.engine.arrivals import Arrivals
from pytest_factorfair.engine.asking import Landing
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store, Write


class Slow:
    """A store whose commits take until they are told to end."""

    def __init__(self) -> None:
        self.puts: list[tuple[list[object], Future[None]]] = []

    def put(self, *writes: Write) -> Future[None]:
        done: Future[None] = Future()
        self.puts.append(([write.row["key"] for write in writes], done))
        return done


class Desk:
    """Arrivals in front of a slow store, and what became of them."""

    def __init__(self) -> None:
        self.store = Slow()
        self.landed: list[str] = []
        self.lost: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self._arrivals = Arrivals(
            cast("Store", self.store),
            spawn=lambda coroutine: self.tasks.append(asyncio.create_task(coroutine)),
            land=self._land,
            lose=self._lose,
        )

    async def add(self, *keys: str) -> None:
        for key in keys:
            self._arrivals.add(key, Write(Response("A"), {"key": key}), calls=1)
        await self.turn()

    async def end(self, number: int, error: StoreError | None = None) -> None:
        _, done = self.store.puts[number]
        done.set_exception(error) if error else done.set_result(None)
        await self.turn()

    async def turn(self) -> None:
        for _ in range(5):  # rounds of the loop: those of a future that comes home, and some more
            await asyncio.sleep(0)

    @property
    def put(self) -> list[list[object]]:
        return [keys for keys, _ in self.store.puts]

    def _land(self, key: str, landing: Landing) -> None:
        assert landing == Landing(Response("A"), calls=1)
        self.landed.append(key)

    def _lose(self, keys: Iterable[str], error: StoreError) -> None:
        assert str(error) == "full"
        self.lost += keys


def test_what_arrives_during_a_commit_goes_with_the_next() -> None:
    async def story() -> None:
        desk = Desk()
        await desk.add("a", "b")
        assert desk.put == [["a", "b"]]  # at once, as nothing is being committed
        await desk.add("c")
        await desk.add("d")
        assert desk.put == [["a", "b"]]
        assert desk.landed == []
        await desk.end(0)
        assert desk.landed == ["a", "b"]
        assert desk.put == [["a", "b"], ["c", "d"]]
        await desk.end(1)
        assert desk.landed == ["a", "b", "c", "d"]
        await desk.add("e")
        assert desk.put[2:] == [["e"]]
        await desk.end(2)
        await asyncio.gather(*desk.tasks)

    asyncio.run(story())


def test_a_commit_that_fails_loses_its_own_and_the_next_is_tried() -> None:
    async def story() -> None:
        desk = Desk()
        await desk.add("a")
        await desk.add("b")
        await desk.end(0, StoreError("full"))
        assert desk.lost == ["a"]
        await desk.end(1)
        assert desk.landed == ["b"]
        await asyncio.gather(*desk.tasks)

    asyncio.run(story())
