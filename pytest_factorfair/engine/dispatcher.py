"""What happens inside the loop: who waits for which key, and who asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from pytest_factorfair.domain import Exchange, Query, Response
from pytest_factorfair.engine.arrivals import Arrivals
from pytest_factorfair.engine.asking import Asker, Landing, one_line
from pytest_factorfair.engine.counters import Counters
from pytest_factorfair.errors import BudgetError, FatalModelError, PictureError, StoreError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Store, keys

T = TypeVar("T")
Flight = asyncio.Future[Landing]
MISSING = "not in the store"
POLL = 0.1  # seconds between looks at what another process is asking


class Dispatcher:
    """Answers cases; everything here runs in the loop thread, so nothing needs a lock.

    A key is claimed before the store is read for it and let go after its response is committed:
    whoever claims it next finds it stored, and whoever wants it meanwhile waits for the same future.
    """

    def __init__(
        self, store: Store, asker: Asker, *, counters: Counters, replay: bool, refresh: bool
    ) -> None:
        self.ended = False
        self.failure: FatalModelError | StoreError | None = None
        self._spent: BudgetError | None = None
        self._store = store
        self._asker = asker
        self._counters = counters
        self._replay = replay
        self._refresh = refresh
        self._arrivals = Arrivals()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="factorfair-reader")
        self._flights: dict[str, Flight] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking: set[asyncio.Task[Any]] = set()
        self._models: dict[int, Model] = {}
        self._empty: bool | None = None  # whether the store had nothing to read when it was first asked

    async def case(self, model: Model, queries: tuple[Query, ...]) -> tuple[Exchange, ...]:
        """The exchanges of these queries, in their order.

        Shielded: others may be waiting for what this case claimed.

        Raises:
            FatalModelError, StoreError: no further call can succeed, or be kept.
            BudgetError: no further call may be made; those under way have been waited for.
        """
        return await asyncio.shield(self._spawn(self._case(model, queries)))

    def halt(self) -> None:
        """Stop asking; what has arrived is still committed."""
        self.ended = True
        for task in tuple(self._asking):
            task.cancel()

    async def wind_down(self) -> None:
        """Stop asking, wait for the commits, and close the models that were asked.

        Calls under way are cut short, unless the run's budget is spent: then each of them was granted.
        """
        with suppress(StoreError):
            if not self.ended and await self._asker.spent():
                await self._landed()
        self.halt()
        while self._tasks:
            await asyncio.wait(self._tasks)
        for model in self._models.values():
            with suppress(Exception):  # nothing is lost by a client that cannot say goodbye
                await model.close()
        self._reader.shutdown(wait=False)

    async def _case(self, model: Model, queries: tuple[Query, ...]) -> tuple[Exchange, ...]:
        self._raise_if_ended()
        names = keys(model.identity, queries)
        wanted = dict(zip(names, queries, strict=True))
        mine = {name: query for name, query in wanted.items() if name not in self._flights}
        self._flights |= {name: asyncio.get_running_loop().create_future() for name in mine}
        flights = {name: self._flights[name] for name in wanted}
        await self._serve(model, mine, flights)
        for flight in flights.values():
            if not flight.done():  # most are, once the first is: one wait for all wakes for each
                await asyncio.wait([flight])
        if any(flight.cancelled() for flight in flights.values()):
            await self._raise_if_spent()
            self._raise_if_ended()
        return tuple(self._exchanges(zip(names, queries, strict=True), flights, set(mine)))

    def _exchanges(
        self,
        asked: Iterable[tuple[str, Query]],
        flights: Mapping[str, Flight],
        mine: set[str],
    ) -> Iterator[Exchange]:
        """Only the first exchange of the case that claimed a key has paid for its response."""
        for key, query in asked:
            landing = flights[key].result()
            cached = landing.response is not None and (landing.cached or key not in mine)
            calls = landing.calls if key in mine else 0
            if key not in mine:
                self._counters.land(cached=cached, error=landing.response is None)
            mine.discard(key)
            yield Exchange(query, key, landing.response, landing.error, cached, calls)

    async def _serve(self, model: Model, mine: Mapping[str, Query], flights: Mapping[str, Flight]) -> None:
        """Answer the claimed keys from the store, and start asking for the rest."""
        try:
            stored = await self._stored(tuple(mine))
            self._raise_if_ended()
        except BaseException:
            self._let_go({key: flights[key] for key in mine})
            raise
        for key in stored:
            self._land(key, Landing(stored[key], cached=True))
        missing = {key: query for key, query in mine.items() if key not in stored}
        if self._replay:
            for key in missing:
                self._land(key, Landing(None, MISSING))
        elif missing:
            self._models[id(model)] = model
            waiting = {key: flights[key] for key in missing}
            self._ask(self._claimed(model, missing, waiting), waiting)

    async def _claimed(self, model: Model, missing: Mapping[str, Query], waiting: dict[str, Flight]) -> None:
        """Ask what no other process asks, and wait for the rest; it falls to us if the other dies."""
        while waiting:
            try:
                claim = await asyncio.wrap_future(self._store.claim(waiting, refresh=self._refresh))
            except StoreError as error:
                self._fail(error)
                return
            for key, response in claim.had.items():
                del waiting[key]
                self._land(key, Landing(response, cached=True))
            for key in claim.mine:
                self._ask(self._query(model, key, missing[key]), {key: waiting.pop(key)})
            if waiting:
                await asyncio.sleep(POLL)

    async def _stored(self, keys: tuple[str, ...]) -> Mapping[str, Response]:
        if self._refresh or not keys:
            return {}
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._reader, self._read, keys)
        except StoreError as error:
            self._fail(error)
            raise

    def _read(self, keys: tuple[str, ...]) -> Mapping[str, Response]:
        """What the store has of these keys; what comes into an empty one is found when it is claimed."""
        if self._empty is None:
            self._empty = self._store.empty
        return {} if self._empty else self._store.responses(keys)

    def _ask(self, coroutine: Coroutine[object, object, None], flights: Mapping[str, Flight]) -> None:
        """Run what lands these flights; those it has not landed when it ends are let go."""
        task = self._spawn(coroutine)
        self._asking.add(task)

        def let_go(_: object) -> None:
            if left := {key: flight for key, flight in flights.items() if not flight.done()}:
                self._store.release(left)  # another process may be waiting for them
                self._let_go(left)

        # Not in the task's own finally: a task cancelled before its first step never gets there.
        task.add_done_callback(let_go)

    async def _query(self, model: Model, key: str, query: Query) -> None:
        """Ask for one key and commit the response; once that has arrived, ``halt`` spares the task."""
        try:
            landing = await self._asker.ask(model, query)
            self._spare()
            self._land(key, await self._kept(landing, key, model, query))
        except (FatalModelError, StoreError) as error:
            self._fail(error)
        except BudgetError as error:
            self._spent = self._spent or error
        except asyncio.CancelledError:
            if self.ended:
                raise
            self._land(key, Landing(None, "CancelledError: the model cancelled its own call"))

    def _spare(self) -> None:
        """Take the running task out of those that ``halt`` cancels."""
        task = asyncio.current_task()
        if task is not None:
            self._asking.discard(task)

    async def _kept(self, landing: Landing, key: str, model: Model, query: Query) -> Landing:
        """The landing once its response is committed."""
        if landing.response is None:
            self._store.release([key])
            return landing
        try:
            committed = self._store.put(
                key,
                landing.response,
                model=str(model.identity.get("model", model.endpoint)),
                prompt=query.prompt,
                repeat=query.repeat,
                seed=query.seed,
                identity=model.identity,
                replace=self._refresh,
            )
        except (PictureError, TypeError) as error:  # a provider filled in a field with something else
            self._store.release([key])
            told = str(error) if isinstance(error, PictureError) else f"{type(error).__name__}: {error}"
            return Landing(None, one_line(told), calls=landing.calls)
        response = await self._arrivals.of(committed)
        return replace(landing, response=response)

    def _land(self, key: str, landing: Landing) -> None:
        self._counters.land(cached=landing.cached, error=landing.response is None)
        self._flights.pop(key).set_result(landing)

    def _let_go(self, flights: Mapping[str, Flight]) -> None:
        """Give up keys that have not landed."""
        for key, flight in flights.items():
            flight.cancel()
            del self._flights[key]

    def _fail(self, error: FatalModelError | StoreError) -> None:
        self.failure = self.failure or error
        self.halt()

    def _raise_if_ended(self) -> None:
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        if self.ended:
            raise asyncio.CancelledError

    async def _raise_if_spent(self) -> None:
        """What is under way has been granted and is paid for: it lands before the run ends."""
        if self._spent is not None and not self.ended:
            await self._landed()
            raise self._spent.with_traceback(None)

    async def _landed(self) -> None:
        while self._asking:
            await asyncio.wait(self._asking)

    def _spawn(self, coroutine: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._asking.discard(task)
