"""The queries that wait to be asked, and the tasks that ask them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable

from pytest_factorfair.domain import Query

MakeWay = Callable[[], None]
Ask = Callable[[str, Query, MakeWay], Coroutine[object, object, None]]


class Line:
    """What waits for one model: keys with their queries, asked in this order by ``most`` tasks at once.

    A task for each query would cost more than all else on the query's way through this room. ``ask`` sees a
    query to its end and calls ``make_way`` where that takes a pause: another task then takes the place of
    its own. ``spawn`` runs a task.
    """

    def __init__(
        self, *, most: int, ask: Ask, spawn: Callable[[Coroutine[object, object, None]], object]
    ) -> None:
        self._most = most
        self._ask = ask
        self._spawn = spawn
        self._waiting: deque[tuple[str, Query]] = deque()
        self._tasks = 0

    def add(self, queries: Iterable[tuple[str, Query]]) -> None:
        self._waiting.extend(queries)
        self._staff()

    def clear(self) -> list[str]:
        """Send away what still waits; returns the keys."""
        left = [key for key, _ in self._waiting]
        self._waiting.clear()
        return left

    def _staff(self) -> None:
        for _ in range(min(self._most - self._tasks, len(self._waiting))):
            self._tasks += 1
            self._spawn(self._work())

    async def _work(self) -> None:
        counted = True

        def make_way() -> None:
            nonlocal counted
            if counted:
                counted = False
                self._tasks -= 1
                self._staff()

        while counted and self._waiting:
            await self._ask(*self._waiting.popleft(), make_way)
        if counted:
            self._tasks -= 1
