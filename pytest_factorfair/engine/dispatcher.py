"""One query's way: claimed, looked up, asked, asked again, committed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from pytest_factorfair.domain import Exchange, Query, Request, Response, excerpt
from pytest_factorfair.engine.breaker import Attempts
from pytest_factorfair.engine.budget import Budget
from pytest_factorfair.engine.counters import Counters
from pytest_factorfair.engine.limiter import Endpoint, Limiter, Limiters
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import (
    BudgetError,
    Cause,
    FatalModelError,
    ModelError,
    PictureError,
    RejectedRequestError,
    RetryableModelError,
    StoreError,
)
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Origin, Store, Write, check, keys

T = TypeVar("T")
PriceOf = Callable[[Model], Price | None]
MISSING = "not in the store"
POLL = 0.1  # seconds between looks at what another process is asking
LONGEST = 300  # characters of an error; providers quote whole bodies


class Outcome(NamedTuple):
    """What became of a key: a response, or why there is none in one line, and the attempts it took."""

    response: Response | None
    error: str = ""
    cached: bool = False
    attempts: Attempts | None = None


@dataclass(slots=True)
class Queue:
    """What waits to be asked of one model, in this order, and how many tasks are asking it."""

    model: Model
    origin: Origin
    endpoint: Endpoint
    waiting: deque[tuple[str, Query]] = field(default_factory=deque)
    tasks: int = 0


class Dispatcher:
    """Answers cases; everything here runs in the loop thread, so nothing needs a lock.

    A key is claimed before the store is read for it and let go after its response is committed:
    whatever claims it next finds it stored, and whatever wants it meanwhile waits for the same future.
    """

    def __init__(  # noqa: PLR0913  # by keyword, from the one place that puts an engine together
        self,
        store: Store,
        *,
        connections: int,
        limiters: Limiters,
        budget: Budget,
        retry: Retry,
        counters: Counters,
        price: PriceOf,
        replay: bool,
        refresh: bool,
    ) -> None:
        self.ended = False
        self.failure: FatalModelError | StoreError | None = None
        self._spent: BudgetError | None = None
        self._store = store
        self._connections = connections
        self._limiters = limiters
        self._budget = budget
        self._retry = retry
        self._counters = counters
        self._price = price
        self._replay = replay
        self._refresh = refresh
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="factorfair-reader")
        self._pending: dict[str, asyncio.Future[Outcome]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking: set[asyncio.Task[Any]] = set()
        self._in_flight: dict[asyncio.Task[Any], asyncio.Future[None]] = {}
        self._queues: dict[int, Queue] = {}
        self._arrived: list[tuple[str, Write, Attempts]] = []
        self._committing = False
        self._empty: bool | None = None  # whether the store had nothing to read when it was first asked

    async def case(self, model: Model, queries: tuple[Query, ...]) -> tuple[Exchange, ...]:
        """The exchanges of these queries, in their order.

        Shielded: others may be waiting for what this case claimed.

        Raises:
            FatalModelError, StoreError: no further call can succeed, or be kept.
            BudgetError: no further call may be made; those in flight have been waited for.
        """
        return await asyncio.shield(self._spawn(self._case(model, queries)))

    def halt(self, *, keep_in_flight: bool = False) -> None:
        """Stop asking; what has arrived is still committed, and on request what is in flight as well."""
        self.ended = True
        for queue in self._queues.values():
            self._give_up(key for key, _ in queue.waiting)
            queue.waiting.clear()
        for task in self._asking - (self._in_flight.keys() if keep_in_flight else set()):
            task.cancel()

    async def wind_down(self) -> None:
        """Stop asking, wait for the commits, and close the models that were asked.

        Calls in flight are cut short, unless the run's budget is spent or an error has ended the run: then
        they are waited for, after an error for a moment.
        """
        with suppress(StoreError):
            if self.failure is not None or not (self.ended or self._replay or not await self._budget.spent()):
                await self._landed()
        self.halt()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._budget.close()
        for queue in self._queues.values():
            with suppress(Exception):  # nothing is lost by a client that cannot say goodbye
                await queue.model.close()
        self._reader.shutdown(wait=False)

    async def _case(self, model: Model, queries: tuple[Query, ...]) -> tuple[Exchange, ...]:
        self._raise_if_ended()
        names = keys(model.identity, queries)
        wanted = dict(zip(names, queries, strict=True))
        mine = {name: query for name, query in wanted.items() if name not in self._pending}
        self._pending |= {name: asyncio.get_running_loop().create_future() for name in mine}
        pending = {name: self._pending[name] for name in wanted}
        await self._serve(model, mine)
        for outcome in reversed(pending.values()):
            if not outcome.done():  # few are not, once the last is: one wait for all wakes for each
                await asyncio.wait([outcome])
        if any(outcome.cancelled() for outcome in pending.values()):
            if self._spent is not None and not self.ended:
                await self._landed()  # what is in flight has been granted and is paid for
                raise self._spent.with_traceback(None)
            self._raise_if_ended()
        return tuple(self._exchanges(zip(names, queries, strict=True), pending, set(mine)))

    def _exchanges(
        self,
        asked: Iterable[tuple[str, Query]],
        pending: Mapping[str, asyncio.Future[Outcome]],
        mine: set[str],
    ) -> Iterator[Exchange]:
        """Only the first exchange of the case that claimed a key has paid for its response."""
        for key, query in asked:
            outcome = pending[key].result()
            cached = outcome.response is not None and (outcome.cached or key not in mine)
            attempts = (outcome.attempts if key in mine else None) or Attempts()
            if key not in mine:
                self._counters.land(cached=cached, error=outcome.response is None)
            mine.discard(key)
            probes = tuple(attempts.probes)
            yield Exchange(query, key, outcome.response, outcome.error, cached, attempts.calls, probes)

    # From the store

    async def _serve(self, model: Model, mine: Mapping[str, Query]) -> None:
        """Answer the claimed keys from the store, and start asking for the rest."""
        try:
            stored = await self._stored(tuple(mine))
            self._raise_if_ended()
        except BaseException:
            self._let_go(mine)
            raise
        for key in stored:
            self._land(key, Outcome(stored[key], cached=True))
        if stored and not self._replay:
            self._limiters.of(model).breaker.known = True
        missing = {key: query for key, query in mine.items() if key not in stored}
        if self._replay:
            for key in missing:
                self._land(key, Outcome(None, MISSING))
        elif missing:
            self._ask(self._claimed(self._queue(model), missing), missing)

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

    # Asking

    async def _claimed(self, queue: Queue, waiting: dict[str, Query]) -> None:
        """Queue what no other process asks, and wait for the rest; it falls to us if the other dies."""
        while waiting:
            try:
                claim = await asyncio.wrap_future(self._store.claim(waiting, refresh=self._refresh))
            except StoreError as error:
                self._fail(error)
                return
            for key, response in claim.had.items():
                del waiting[key]
                self._land(key, Outcome(response, cached=True))
            queue.waiting.extend((key, waiting.pop(key)) for key in claim.mine)
            self._staff(queue)
            if waiting:
                await asyncio.sleep(POLL)

    def _queue(self, model: Model) -> Queue:
        if id(model) not in self._queues:
            origin = Origin.of(str(model.identity.get("model", model.endpoint)), model.identity)
            self._queues[id(model)] = Queue(model, origin, self._limiters.of(model))
        return self._queues[id(model)]

    def _staff(self, queue: Queue) -> None:
        """Have as many tasks as there are connections: one for each query would cost more than all else."""
        for _ in range(min(self._connections - queue.tasks, len(queue.waiting))):
            queue.tasks += 1
            self._ask(self._work(queue))

    async def _work(self, queue: Queue) -> None:
        """Ask one query after another, unless others have taken over while one of them paused."""
        try:
            while queue.waiting and queue.tasks <= self._connections:
                await self._query(queue, *queue.waiting.popleft())
        finally:
            queue.tasks -= 1

    async def _query(self, queue: Queue, key: str, query: Query) -> None:
        """Ask for one key until it is answered or given up; what has arrived is out of reach of ``halt``."""
        attempts = Attempts()
        try:
            response = await self._asked(queue, key, query, attempts)
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
            told = "CancelledError: the model cancelled its own call"
            self._miss(key, told, attempts)
        # What goes wrong with one query spoils no other: those have been paid for.
        except Exception as error:  # noqa: BLE001
            told = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
            self._miss(key, told, attempts)
        else:
            self._keep(queue.origin, key, query, response, attempts)

    async def _asked(self, queue: Queue, key: str, query: Query, attempts: Attempts) -> Response:
        """Call under the limits, and again where that may help.

        Raises:
            ModelError: this query has no answer.
            FatalModelError: no further call can succeed.
            BudgetError: no further call may be made.
            StoreError: the limits of the run can no longer be kept.
        """
        request, breaker = Request.of(query), queue.endpoint.breaker
        while not self.ended:
            try:
                return await self._call(queue, request, attempts)
            except FatalModelError:
                raise
            except RetryableModelError as error:
                pause = 0.0 if error.at_once else await breaker.failed(key, error, attempts)
                if pause:
                    await self._pause(queue, pause)
            except ModelError as error:
                if await breaker.rejected(error):
                    await self._settled(queue.endpoint.limiter)
                    if (fatal := await breaker.hopeless(error)) is not None:
                        raise fatal from error
                raise
        raise asyncio.CancelledError

    async def _call(self, queue: Queue, request: Request, attempts: Attempts) -> Response:
        """Call once, when it is this query's turn."""
        (limiter, breaker), task = queue.endpoint, asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine runs in one
        async with self._limiters.own(queue.model), limiter:
            grant = await self._budget.take(queue.model, request)
            self._counters.asked += 1
            attempts.calls += 1
            began = self._retry.clock()
            response: Response | None = None
            billable = counted = True
            self._in_flight[task] = asyncio.get_running_loop().create_future()
            try:
                response = self._priced(queue.model, _checked(await queue.model.ask(request)))
            except ModelError as error:
                billable, counted = error.billable, error.counted
                if isinstance(error, RetryableModelError):
                    if error.probe is not None:
                        response = self._priced(queue.model, error.probe)
                        attempts.probes.append(response)
                    if error.throttled:
                        limiter.throttled(began)
                    if error.throttled or error.retry_after:
                        breaker.put_off(error.retry_after or 0.0, throttled=error.throttled)
                raise
            except (Exception, SystemExit) as error:
                told = f"{type(error).__name__}: {error}"
                raise RejectedRequestError(told, cause=Cause.raised(error)) from error
            finally:
                self._in_flight.pop(task).set_result(None)
                if counted:
                    self._budget.settle(grant, response, billable=billable)
                else:
                    self._counters.asked -= 1
                    attempts.calls -= 1
                    self._budget.give_back(grant)
            breaker.answered()
            limiter.succeeded()
            return response

    def _priced(self, model: Model, response: Response) -> Response:
        """The response with its cost, where the model does not give it but has a price."""
        if response.cost is not None or (price := self._price(model)) is None:
            return response
        return replace(response, cost=price.of(response.tokens_in, response.tokens_out))

    async def _pause(self, queue: Queue, seconds: float) -> None:
        """Pause one query; meanwhile another task asks in its place."""
        queue.tasks -= 1
        self._staff(queue)
        try:
            await self._retry.sleep(seconds)
        finally:
            queue.tasks += 1

    async def _settled(self, limiter: Limiter) -> None:
        """Wait a moment for what is in flight: one answer in it shows that not every query fails."""
        limiter.hold()
        if self._in_flight:
            await asyncio.wait(self._in_flight.values(), timeout=self._retry.grace)
        limiter.release()

    def _ask(self, coroutine: Coroutine[object, object, None], keys: Iterable[str] = ()) -> None:
        """Run what asks, until ``halt``; the keys it still has when it ends are given up."""
        task = self._spawn(coroutine)
        self._asking.add(task)
        # Not in the task's own finally: a task cancelled before its first step never gets there.
        task.add_done_callback(lambda _: self._give_up(keys))

    # Outcomes

    def _keep(self, origin: Origin, key: str, query: Query, response: Response, attempts: Attempts) -> None:
        """Have a response committed, together with all that arrives in this round or during a commit."""
        try:
            write = self._store.draft(
                key,
                response,
                origin,
                prompt=query.prompt,
                repeat=query.repeat,
                seed=query.seed,
                replace=self._refresh,
            )
        except PictureError as error:
            self._miss(key, str(error), attempts)
            return
        self._arrived.append((key, write, attempts))
        if not self._committing:
            self._committing = True
            self._spawn(self._commit())

    async def _commit(self) -> None:
        try:
            while self._arrived:
                arrived, self._arrived = self._arrived, []
                try:
                    await asyncio.wrap_future(self._store.put(*(write for _, write, _ in arrived)))
                except StoreError as error:
                    self._give_up([key for key, _, _ in arrived])
                    self._fail(error)
                else:
                    for key, write, attempts in arrived:
                        self._land(key, Outcome(write.response, attempts=attempts))
        finally:
            self._committing = False

    def _miss(self, key: str, error: str, attempts: Attempts) -> None:
        """End without a response: another process, or a later query, may ask for the key."""
        self._store.release([key])
        self._land(key, Outcome(None, excerpt(error, LONGEST), attempts=attempts))

    def _land(self, key: str, outcome: Outcome) -> None:
        self._counters.land(cached=outcome.cached, error=outcome.response is None)
        self._pending.pop(key).set_result(outcome)

    def _give_up(self, keys: Iterable[str]) -> None:
        """Let go of keys that will have no outcome; another process may be waiting for them."""
        if left := list(keys):
            self._store.release(left)
            self._let_go(left)

    def _let_go(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._pending.pop(key).cancel()

    def _fail(self, error: FatalModelError | StoreError) -> None:
        """End the run: replies in flight may still come in for a moment, where they can be kept."""
        if self.failure is not None:
            return
        self.failure = error
        can_keep = isinstance(error, FatalModelError)
        self.halt(keep_in_flight=can_keep)
        if can_keep:
            self._budget.end(str(error))
            asyncio.get_running_loop().call_later(self._retry.grace, self.halt)

    def _raise_if_ended(self) -> None:
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        if self.ended:
            raise asyncio.CancelledError

    async def _landed(self) -> None:
        while self._asking:
            await asyncio.wait(self._asking)

    def _spawn(self, coroutine: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._asking.discard)
        return task


def _checked(response: object) -> Response:
    if not isinstance(response, Response) or type(response.text) is not str:
        raise TypeError(f"ask returned {type(response).__name__}, not a Response with text")
    check(response)
    return response
