"""Responses on their way from the model into the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import NamedTuple

from pytest_factorfair.engine.asking import Landing
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store, Write


class Arrival(NamedTuple):
    """What is written under a key, and the calls it took."""

    key: str
    write: Write
    calls: int


class Arrivals:
    """Has what arrives in one round of the loop, or during a commit, committed together.

    Each is handed to ``land`` once it is committed; where that fails, the keys and the error to ``lose``.
    """

    def __init__(
        self,
        store: Store,
        *,
        spawn: Callable[[Coroutine[object, object, None]], object],
        land: Callable[[str, Landing], None],
        lose: Callable[[Iterable[str], StoreError], None],
    ) -> None:
        self._store = store
        self._spawn = spawn
        self._land = land
        self._lose = lose
        self._arrived: list[Arrival] = []
        self._committing = False

    def add(self, key: str, write: Write, *, calls: int) -> None:
        self._arrived.append(Arrival(key, write, calls))
        if not self._committing:
            self._committing = True
            self._spawn(self._commit())

    async def _commit(self) -> None:
        try:
            while self._arrived:
                arrived, self._arrived = self._arrived, []
                await self._settle(arrived)
        finally:
            self._committing = False

    async def _settle(self, arrived: Sequence[Arrival]) -> None:
        try:
            await asyncio.wrap_future(self._store.put(*(one.write for one in arrived)))
        except StoreError as error:
            self._lose([one.key for one in arrived], error)
        else:
            for key, write, calls in arrived:
                self._land(key, Landing(write.response, calls=calls))
