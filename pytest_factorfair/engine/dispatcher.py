"""What happens inside the loop: who waits for which key, and who asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from pytest_factorfair.domain import Exchange, Query, Response
from pytest_factorfair.engine.arrivals import Arrivals
from pytest_factorfair.engine.asking import Asker, Landing, one_line
from pytest_factorfair.engine.counters import Counters
from pytest_factorfair.engine.lines import Line, MakeWay
from pytest_factorfair.errors import BudgetError, FatalModelError, PictureError, StoreError
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Origin, Store, keys

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
        self,
        store: Store,
        asker: Asker,
        *,
        connections: int,
        counters: Counters,
        replay: bool,
        refresh: bool,
    ) -> None:
        self.ended = False
        self.failure: FatalModelError | StoreError | None = None
        self._spent: BudgetError | None = None
        self._store = store
        self._asker = asker
        self._connections = connections
        self._counters = counters
        self._replay = replay
        self._refresh = refresh
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="factorfair-reader")
        self._flights: dict[str, Flight] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking: set[asyncio.Task[Any]] = set()
        self._models: dict[int, Model] = {}
        self._lines: dict[int, Line] = {}
        self._arrivals = Arrivals(store, spawn=self._spawn, land=self._land, lose=self._lose)
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
        for line in self._lines.values():
            self._give_up(line.clear())
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
        await self._serve(model, mine)
        for flight in reversed(flights.values()):
            if not flight.done():  # few are not, once the last is: one wait for all wakes for each
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

    async def _serve(self, model: Model, mine: Mapping[str, Query]) -> None:
        """Answer the claimed keys from the store, and start asking for the rest."""
        try:
            stored = await self._stored(tuple(mine))
            self._raise_if_ended()
        except BaseException:
            self._let_go(mine)
            raise
        for key in stored:
            self._land(key, Landing(stored[key], cached=True))
        missing = {key: query for key, query in mine.items() if key not in stored}
        if self._replay:
            for key in missing:
                self._land(key, Landing(None, MISSING))
        elif missing:
            self._ask(self._claimed(model, missing), missing)

    async def _claimed(self, model: Model, waiting: dict[str, Query]) -> None:
        """Line up what no other process asks, and wait for the rest; it falls to us if the other dies."""
        while waiting:
            try:
                claim = await asyncio.wrap_future(self._store.claim(waiting, refresh=self._refresh))
            except StoreError as error:
                self._fail(error)
                return
            for key, response in claim.had.items():
                del waiting[key]
                self._land(key, Landing(response, cached=True))
            self._line(model).add([(key, waiting.pop(key)) for key in claim.mine])
            if waiting:
                await asyncio.sleep(POLL)

    async def _stored(self, keys: tuple[str, ...]) -> Mapping[str, Response]:
        if self._refresh or self._empty or not keys:
            return {}
        try:
            loop = asyncio.get_running_loop()
            stored = await loop.run_in_executor(self._reader, self._read, keys)
        except StoreError as error:
            self._fail(error)
            raise
        # The first to look decides: another, at the same time, comes upon the rows of the first.
        self._empty = any((self._empty, stored is None))
        return stored or {}

    def _read(self, keys: tuple[str, ...]) -> Mapping[str, Response] | None:
        """What the store has of these keys, None if it is empty; what comes later is found in claiming."""
        if self._empty is None and self._store.empty:
            return None
        return self._store.responses(keys)

    def _ask(self, coroutine: Coroutine[object, object, None], keys: Iterable[str] = ()) -> None:
        """Run what asks, until ``halt``; the keys it still has when it ends are given up."""
        task = self._spawn(coroutine)
        self._asking.add(task)
        # Not in the task's own finally: a task cancelled before its first step never gets there.
        task.add_done_callback(lambda _: self._give_up(keys))

    def _line(self, model: Model) -> Line:
        if id(model) not in self._lines:
            self._models[id(model)] = model
            origin = Origin.of(str(model.identity.get("model", model.endpoint)), model.identity)
            ask = partial(self._query, model, origin)
            self._lines[id(model)] = Line(most=self._connections, ask=ask, spawn=self._ask)
        return self._lines[id(model)]

    async def _query(self, model: Model, origin: Origin, key: str, query: Query, make_way: MakeWay) -> None:
        """Ask for one key; what has arrived is out of reach of ``halt``."""
        try:
            landing = await self._asker.ask(model, query, make_way)
        except (FatalModelError, StoreError) as error:
            self._give_up([key])
            self._fail(error)
        except BudgetError as error:
            self._give_up([key])
            self._spent = self._spent or error
        except asyncio.CancelledError:
            if self.ended:
                self._give_up([key])
                raise
            self._miss(key, Landing(None, "CancelledError: the model cancelled its own call"))
        else:
            self._keep(landing, key, origin, query)

    def _keep(self, landing: Landing, key: str, origin: Origin, query: Query) -> None:
        """Have a response committed; it lands then."""
        if landing.response is None:
            self._miss(key, landing)
            return
        try:
            write = self._store.draft(
                key,
                landing.response,
                origin,
                prompt=query.prompt,
                repeat=query.repeat,
                seed=query.seed,
                replace=self._refresh,
            )
        except (PictureError, TypeError) as error:  # a provider filled in a field with something else
            told = str(error) if isinstance(error, PictureError) else f"{type(error).__name__}: {error}"
            self._miss(key, Landing(None, one_line(told), calls=landing.calls))
            return
        self._arrivals.add(key, write, calls=landing.calls)

    def _lose(self, keys: Iterable[str], error: StoreError) -> None:
        """Responses that could not be committed."""
        self._give_up(keys)
        self._fail(error)

    def _miss(self, key: str, landing: Landing) -> None:
        """Land without a response: another process, or a later query, may ask for the key."""
        self._store.release([key])
        self._land(key, landing)

    def _land(self, key: str, landing: Landing) -> None:
        self._counters.land(cached=landing.cached, error=landing.response is None)
        self._flights.pop(key).set_result(landing)

    def _give_up(self, keys: Iterable[str]) -> None:
        """Let go of keys that will not land; another process may be waiting for them."""
        if left := list(keys):
            self._store.release(left)
            self._let_go(left)

    def _let_go(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._flights.pop(key).cancel()

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
