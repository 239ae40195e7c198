"""Answer queries: claim their keys, read the store, ask the model, and commit the responses."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from pytest_factorfair.domain import Exchange, Query, Request, Response, Reuse, excerpt
from pytest_factorfair.engine.budget import Budget
from pytest_factorfair.engine.endpoint import Attempts, Endpoint, FirstReplies, Limiters, advised
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import (
    BudgetError,
    Cause,
    FatalModelError,
    ModelError,
    PendingError,
    PictureError,
    RejectedRequestError,
    RescuedError,
    RetryableModelError,
    StoreError,
    UnloggedError,
)
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.protocol import Model, stored_name
from pytest_factorfair.redaction import concealed, secrets
from pytest_factorfair.store import Origin, Store, Write, check, keys

T = TypeVar("T")
Failure = FatalModelError | StoreError | PendingError
"""An error that ends the asking for good."""

PriceOf = Callable[[Model], Price | None]
MISSING = "not in the store"
POLL = 0.1  # seconds between two checks of keys that another process is asking
MOST_TOKENS = 10**9  # of one call; a larger count is an error of the service
LONGEST = 300  # characters of an error; providers quote whole bodies


class Outcome(NamedTuple):
    """The outcome of a key: a response, or one line that says why there is none, and the attempts made."""

    response: Response | None
    error: str = ""
    cached: bool = False
    attempts: Attempts | None = None


@dataclass(slots=True)
class Counters:
    """The counts behind a progress line; only the loop's thread changes them.

    ``asked`` counts calls sent, retries included. ``done`` counts queries that are answered and
    committed, or have failed; of these, ``cached`` needed no call and ``errors`` failed.
    """

    asked: int = 0
    done: int = 0
    cached: int = 0
    errors: int = 0

    def count_outcome(self, *, cached: bool, error: bool) -> None:
        self.done += 1
        self.cached += cached
        self.errors += error


@dataclass(slots=True)
class Queue:
    """The queries that wait for one model, in order, and the number of tasks that ask it."""

    model: Model
    origin: Origin
    endpoint: Endpoint
    secrets: Collection[str]
    waiting: deque[tuple[str, Query]] = field(default_factory=deque)
    tasks: int = 0
    checking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Dispatcher:
    """Answers the queries of cases; runs only in the loop's thread, so nothing needs a lock.

    A key is claimed before the store is read for it, and released after its response is committed. So the
    next process that claims it finds the response, and queries with the same key wait for one future.

    Models that are ``asked`` are closed at the end. Of the keys that batches were to answer, ``fresh`` ones
    have an answer of this run in the store, and ``failed`` ones an error.
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
        reuse: Reuse,
        first_replies: Callable[[Model], FirstReplies],
    ) -> None:
        self.ended = False
        self.failure: Failure | None = None
        self.asked: dict[int, Model] = {}
        self.fresh: set[str] = set()
        self.failed: dict[str, str] = {}
        self._spent: BudgetError | None = None
        self._store = store
        self._connections = connections
        self._limiters = limiters
        self._budget = budget
        self._retry = retry
        self._counters = counters
        self._price = price
        self._reuse = reuse
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="factorfair-reader")
        self._pending: dict[str, asyncio.Future[Outcome]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking: set[asyncio.Task[Any]] = set()
        self._in_flight: dict[asyncio.Task[Any], asyncio.Future[None]] = {}
        self._queues: dict[int, Queue] = {}
        self._first_replies = first_replies
        self._first: dict[int, FirstReplies] = {}
        self._answered: dict[int, Query] = {}  # a query that the model has answered, by the model's id
        self._arrived: list[tuple[str, Write, Attempts]] = []
        self._committing = False
        self._empty: bool | None = None  # whether the store was empty when the reader first looked

    async def case(self, model: Model, queries: tuple[Query, ...]) -> tuple[Exchange, ...]:
        """Answer these queries; their exchanges are in the same order.

        Cancelling the caller does not cancel the calls: other cases may wait for the same keys.

        Raises:
            FatalModelError, StoreError: no further call can succeed, or be kept.
            BudgetError: no further call may be made; those in flight have been waited for.
        """
        return await asyncio.shield(self._spawn(self._case(model, queries)))

    def halt(self, *, keep_in_flight: bool = False) -> None:
        """Stop asking; responses that have arrived are committed and, if ``keep_in_flight``, later ones."""
        self.ended = True
        for queue in self._queues.values():
            self._give_up(key for key, _ in queue.waiting)
            queue.waiting.clear()
        for task in self._asking - (self._in_flight.keys() if keep_in_flight else set()):
            task.cancel()

    async def wind_down(self) -> None:
        """Stop asking, wait for the commits, and close the models that were asked.

        Calls in flight are awaited for a moment: they are paid for.
        """
        self.halt(keep_in_flight=True)
        if self._asking:
            await asyncio.wait(self._asking, timeout=self._retry.grace)
        self.halt()
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._budget.close()
        for model in self.asked.values():
            with suppress(Exception):  # a client that fails to close loses nothing
                await model.close()
        self._reader.shutdown(wait=False)

    async def _case(self, model: Model, queries: tuple[Query, ...]) -> tuple[Exchange, ...]:
        self._raise_if_ended()
        names = keys(model.identity, queries)
        query_by_key = dict(zip(names, queries, strict=True))
        claimed = {name: query for name, query in query_by_key.items() if name not in self._pending}
        self._pending |= {name: asyncio.get_running_loop().create_future() for name in claimed}
        pending = {name: self._pending[name] for name in query_by_key}
        await self._serve(model, claimed)
        for future in reversed(pending.values()):
            if not future.done():  # few are pending once the last is done
                await asyncio.wait([future])
        if any(future.cancelled() for future in pending.values()):
            if self._spent is not None and not self.ended:
                while self._asking:  # calls in flight have been granted and are paid for
                    await asyncio.wait(self._asking)
                raise self._spent.with_traceback(None)
            self._raise_if_ended()
        exchanges = []
        unpaid = set(claimed)  # only the first exchange of the case that claimed a key pays for its response
        for key, query in zip(names, queries, strict=True):
            outcome = pending[key].result()
            cached = outcome.response is not None and (outcome.cached or key not in unpaid)
            attempts = (outcome.attempts if key in unpaid else None) or Attempts()
            if key not in unpaid:
                self._counters.count_outcome(cached=cached, error=outcome.response is None)
            unpaid.discard(key)
            probes = tuple(attempts.probes)
            exchanges.append(
                Exchange(query, key, outcome.response, outcome.error, cached, attempts.calls, probes)
            )
        return tuple(exchanges)

    # From the store

    async def _serve(self, model: Model, claimed: Mapping[str, Query]) -> None:
        """Answer the claimed keys from the store, and start asking for the rest."""

        try:
            stored = await self._stored(claimed)
            if self._reuse != "only":
                await self._first_of(model).add_stored((claimed[key], stored[key]) for key in stored)
            self._raise_if_ended()
        except BaseException as error:
            self._let_go(claimed)
            if isinstance(error, StoreError):
                self.fail(error)
            raise
        for key in stored:
            self._note_answer(model, claimed[key], stored[key])
            self._resolve(key, Outcome(stored[key], cached=True))
        if stored and self._reuse != "only":
            self._limiters.of(model).breaker.known = True
        missing = {key: query for key, query in claimed.items() if key not in stored}
        for key in missing.keys() & self.failed.keys():
            del missing[key]
            self._resolve(key, Outcome(None, self.failed[key]))
        if self._reuse == "only":
            for key in missing:
                self._resolve(key, Outcome(None, MISSING))
        elif missing:
            self._ask(self._claimed(model, missing), missing)

    async def _stored(self, claimed: Mapping[str, Query]) -> Mapping[str, Response]:
        """The stored responses that may be used; what arrives later is found when its key is claimed.

        Every case passes through the reader, even if there is nothing to read: none overtakes another.
        """
        sought = [key for key in claimed if self._reuse != "none" or key in self.fresh]

        def read() -> Mapping[str, Response]:
            if not sought:
                return {}
            if self._empty is None:
                self._empty = self._store.empty
            return {} if self._empty else self._store.responses(sought)

        return await asyncio.get_running_loop().run_in_executor(self._reader, read)

    # Asking

    def _first_of(self, model: Model) -> FirstReplies:
        if id(model) not in self._first:
            self._first[id(model)] = self._first_replies(model)
        return self._first[id(model)]

    async def _claimed(self, model: Model, waiting: dict[str, Query]) -> None:
        """Queue the keys that no other process asks, and wait for the others; we ask if that process dies."""
        if id(model) not in self._queues:
            origin = Origin.of(stored_name(model), model.identity)
            self.asked[id(model)] = model
            self._queues[id(model)] = Queue(model, origin, self._limiters.of(model), secrets())
        queue = self._queues[id(model)]
        while waiting:
            try:
                claim = await asyncio.wrap_future(self._store.claim(waiting, refresh=self._reuse == "none"))
            except StoreError as error:
                self.fail(error)
                return
            for key, response in claim.stored.items():
                del waiting[key]
                self._resolve(key, Outcome(response, cached=True))
            queue.waiting.extend((key, waiting.pop(key)) for key in claim.claimed)
            self._start_tasks(queue)
            if claim.batched and (pending := self._store.batches.pending(claim.batched)) is not None:
                self.fail(pending)
                return
            if waiting:
                await asyncio.sleep(POLL)

    def _start_tasks(self, queue: Queue) -> None:
        """Start tasks up to the number of connections: a task per query would cost more than all else."""
        for _ in range(min(self._connections - queue.tasks, len(queue.waiting))):
            queue.tasks += 1
            self._ask(self._work(queue))

    async def _work(self, queue: Queue) -> None:
        """Ask one query after another; stop if other tasks took over while one of its queries paused.

        ``halt`` cannot reach responses that have arrived: they are committed.
        """
        first_replies = self._first_of(queue.model)
        try:
            while queue.waiting and queue.tasks <= self._connections:
                if (fatal := first_replies.objection()) is not None:
                    self.fail(fatal)
                    return
                key, query = queue.waiting.popleft()
                attempts = Attempts()
                try:
                    response = await self._asked(queue, key, query, attempts)
                except (FatalModelError, StoreError) as error:
                    self._give_up([key])
                    self.fail(advised(error) if isinstance(error, FatalModelError) else error)
                except BudgetError as error:
                    self._give_up([key])
                    self._spent = self._spent or error
                except asyncio.CancelledError:
                    if self.ended:
                        self._give_up([key])
                        raise
                    self._miss(key, "CancelledError: the model cancelled its own call", attempts)
                # The failure of one query must not affect the others, which are paid for.
                except Exception as error:  # noqa: BLE001
                    is_ours = isinstance(error, ModelError)
                    self._miss(key, str(error) if is_ours else f"{type(error).__name__}: {error}", attempts)
                else:
                    self._note_answer(queue.model, query, response)
                    self._keep(queue.origin, key, query, response, attempts)
                    try:
                        await first_replies.add(query, response)
                    except StoreError as error:
                        self.fail(error)
        finally:
            queue.tasks -= 1

    async def _asked(self, queue: Queue, key: str, query: Query, attempts: Attempts) -> Response:
        """Call under the limits, and repeat the call if that may help.

        Raises:
            ModelError: this query has no answer.
            FatalModelError: no further call can succeed.
            BudgetError: no further call may be made.
            StoreError: the limits of the run can no longer be kept.
        """
        request, (limiter, breaker) = Request.of(query), queue.endpoint
        while not self.ended:
            pause = 0.0
            # A failure is counted before its slot is free: the next call depends on it.
            async with self._limiters.own(queue.model), limiter:
                try:
                    return await self._call(queue, request, attempts)
                except (FatalModelError, UnloggedError):
                    raise
                except RetryableModelError as error:
                    pause = 0.0 if error.at_once else await breaker.failed(key, error, attempts)
                except ModelError as error:
                    return await self._rejected(queue, error)
            if pause:
                queue.tasks -= 1
                self._start_tasks(queue)  # meanwhile another task asks in place of this one
                try:
                    await self._retry.sleep(pause)
                finally:
                    queue.tasks += 1
        raise asyncio.CancelledError

    async def _rejected(self, queue: Queue, error: ModelError) -> Response:
        """Count a rejection; returns the reply that it amounts to if the endpoint answers other prompts.

        Raises:
            ModelError: the rejection.
            FatalModelError: the endpoint rejects every query.
        """
        limiter, breaker = queue.endpoint
        is_over, answers = await breaker.rejected(error)
        if breaker.known:
            limiter.open()
        reply = error.reply if isinstance(error, RejectedRequestError) else None
        if is_over:
            # Wait for the calls in flight: one answer shows that not every query fails.
            limiter.hold()
            if self._in_flight:
                await asyncio.wait(self._in_flight.values(), timeout=self._retry.grace)
            limiter.release()
            async with queue.checking:
                fatal = await breaker.fatal_rejection(error)
                if fatal is not None and not await self._still_answers(queue):
                    raise fatal from error
            answers = True
        if reply is not None and (answers or await self._still_answers(queue)):
            return reply
        raise error

    async def _still_answers(self, queue: Queue) -> bool:
        """Ask once more what the model has answered: a run may have only rejected prompts left to ask."""
        if (query := self._answered.get(id(queue.model))) is None:
            return False
        try:
            await self._call(queue, Request.of(query), Attempts())
        except ModelError:
            return False
        return True

    def _note_answer(self, model: Model, query: Query, response: Response) -> None:
        if response.finish != "filtered":
            self._answered.setdefault(id(model), query)

    async def _call(self, queue: Queue, request: Request, attempts: Attempts) -> Response:
        """Call once, in the query's slot."""
        (limiter, breaker), task = queue.endpoint, asyncio.current_task()
        assert task is not None  # noqa: S101  # a coroutine runs in one
        grant = await self._budget.take(queue.model, request)
        self._counters.asked += 1
        attempts.calls += 1
        began = self._retry.clock()
        response: Response | None = None
        billable = counted = True
        self._in_flight[task] = asyncio.get_running_loop().create_future()
        try:
            response = priced(await queue.model.ask(request), self._price(queue.model), queue.secrets)
        except ModelError as error:
            billable, counted = error.billable, error.counted
            if isinstance(error, RetryableModelError):
                if error.probe is not None:
                    response = priced(error.probe, self._price(queue.model), queue.secrets)
                    attempts.probes.append(response)
                    breaker.answered()
                    limiter.open()
                if error.throttled:
                    limiter.throttled(began)
                if error.throttled or error.retry_after:
                    breaker.put_off(error.retry_after or 0.0, throttled=error.throttled)
            raise
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a user's model may raise anything
            line = f"{type(error).__name__}: {error}"
            raise RejectedRequestError(line, cause=Cause.raised(error)) from error
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

    def _ask(self, coroutine: Coroutine[object, object, None], keys: Iterable[str] = ()) -> None:
        """Run a coroutine that asks until ``halt``; keys that it still holds when it ends are given up."""
        task = self._spawn(coroutine)
        self._asking.add(task)
        # Not in the task's own finally: a task cancelled before its first step never gets there.
        task.add_done_callback(lambda _: self._give_up(keys))

    # Outcomes

    def _keep(self, origin: Origin, key: str, query: Query, response: Response, attempts: Attempts) -> None:
        """Commit a response, together with all that arrive in this turn of the loop or during a commit."""
        try:
            write = self._store.draft(
                key,
                response,
                origin,
                prompt=query.prompt,
                repeat=query.repeat,
                seed=query.seed,
                replace=self._reuse == "none",
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
                failure: StoreError | None = None
                try:
                    await asyncio.wrap_future(self._store.put(*(write for _, write, _ in arrived)))
                except RescuedError as error:
                    failure = error
                except StoreError as error:
                    self._give_up([key for key, _, _ in arrived])
                    self.fail(error)
                    continue
                for key, write, attempts in arrived:
                    self._resolve(key, Outcome(write.response, attempts=attempts))
                if failure is not None:
                    self.fail(failure)
        finally:
            self._committing = False

    def _miss(self, key: str, error: str, attempts: Attempts) -> None:
        """End without a response: another process, or a later query, may ask for the key."""
        self._store.release([key])
        self._resolve(key, Outcome(None, excerpt(concealed(error), LONGEST), attempts=attempts))

    def _resolve(self, key: str, outcome: Outcome) -> None:
        self._counters.count_outcome(cached=outcome.cached, error=outcome.response is None)
        self._pending.pop(key).set_result(outcome)

    def _give_up(self, keys: Iterable[str]) -> None:
        """Release keys that this process will not answer; another process may be waiting for them."""
        if released := list(keys):
            self._store.release(released)
            self._let_go(released)

    def _let_go(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._pending.pop(key).cancel()

    def fail(self, error: Failure) -> None:
        """End the run; replies in flight are stored or rescued. A model that fails has a moment for them."""
        if self.failure is not None:
            return
        self.failure = error
        self.halt(keep_in_flight=True)
        if isinstance(error, FatalModelError):
            self._budget.end(str(error))
            asyncio.get_running_loop().call_later(self._retry.grace, self.halt)

    def _raise_if_ended(self) -> None:
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        if self.ended:
            raise asyncio.CancelledError

    def _spawn(self, coroutine: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._asking.discard)
        return task


def priced(response: object, price: Price | None, known_secrets: Collection[str]) -> Response:
    """A response that can be kept: without secrets, and with its cost if the price is known.

    Raises:
        TypeError: the model returned something else.
    """
    if not isinstance(response, Response) or type(response.text) is not str:
        raise TypeError(f"ask returned {type(response).__name__}, not a Response with text")
    check(response)
    tokens_in, tokens_out, reasoning = (
        count if count is not None and 0 <= count <= MOST_TOKENS else None
        for count in (response.tokens_in, response.tokens_out, response.tokens_reasoning)
    )
    response = replace(response, tokens_in=tokens_in, tokens_out=tokens_out, tokens_reasoning=reasoning)
    if known_secrets:
        hide = partial(concealed, known_secrets=known_secrets)
        # A user's model may note anything.
        notes, sources = (tuple(map(hide, map(str, texts))) for texts in (response.notes, response.sources))
        text, name = hide(response.text), hide(response.model)
        response = replace(response, text=text, model=name, notes=notes, sources=sources)
    if response.cost is not None or price is None:
        return response
    return replace(response, cost=price.of(response.tokens_in, response.tokens_out))
