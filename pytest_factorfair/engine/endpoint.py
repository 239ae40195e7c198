"""The calls to one endpoint: how many may be in flight, and what their failures mean for query and run."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pytest_factorfair.domain import Health, Query, Response, plural
from pytest_factorfair.engine.limits import Limits
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import (
    FOREIGN_REPLY,
    TO_DO,
    FatalModelError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models.protocol import Model, stored_name

NOT_FOUND = "404"

COOL_DOWN = 1.0
"""Seconds without increase after a decrease: calls sent before it are still being answered."""


class Limiter:
    """Slots for the calls to one endpoint: at most ``limit``, fewer if the endpoint throttles.

    A service has one slot until it has answered: a wrong key or address fails one call, not ``limit``.
    Every round of answers adds one slot; a 429 halves them, once for all calls in flight at that moment.
    Slots are given in the order of asking. Used in the loop only.
    """

    def __init__(self, limit: int, retry: Retry, *, is_service: bool = False) -> None:
        self.width = float(limit)
        self._limit = limit
        self._retry = retry
        self._works = not is_service
        self._paused = False
        self._active = 0
        self._slowed = float("-inf")
        self._queue: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        slot = asyncio.get_running_loop().create_future()
        self._queue.append(slot)
        self._admit()
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():  # it was given at the same moment
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def open(self) -> None:
        """Give all slots: the endpoint works."""
        if not self._works:
            self._works = True
            self._admit()

    def succeeded(self) -> None:
        """Add a slot, if all were in use and the last decrease was a while ago."""
        self.open()
        if self._active >= int(self.width) < self._limit and self._retry.clock() - self._slowed >= COOL_DOWN:
            self.width = min(float(self._limit), self.width + 1 / self.width)

    def throttled(self, began: float) -> None:
        """Halve the slots, unless the throttled call began before the last decrease."""
        if began >= self._slowed:
            # Of the slots in use: these were too many, whatever their limit.
            self.width = max(1.0, min(self.width, float(self._active or self.width)) / 2)
            self._slowed = self._retry.clock()

    def hold(self) -> None:
        """Give no slot until ``release``."""
        self._paused = True

    def release(self) -> None:
        self._paused = False
        self._admit()

    def _leave(self) -> None:
        self._active -= 1
        self._admit()

    def _admit(self) -> None:
        slots = int(self.width) if self._works else 1
        while self._queue and self._active < slots and not self._paused:
            if self._queue[0].done():
                self._queue.popleft()
                continue
            self._active += 1
            self._queue.popleft().set_result(None)


_ADVICE = {
    "model": "check the model's name, and that the key may use it",
    "address": "check base_url, which often ends in /v1",
    "context": "serve the model with a longer context, or lower max_tokens",
    "tls": "begin base_url with http:// if the server has no TLS",
    "connection": "check that the server is running and that base_url is correct",
    "timeout": "raise the timeout, or lower --factorfair-max-connections",
    "reply": "check what the server replies to a single prompt",
    "raised": "fix the function",
}
_ADVICE_BY_DETAIL = {
    "400": "check the model's arguments",
    "401": "give a key that the provider accepts",
    "402": "pay the provider, or give the key of another account",
    "403": "check the key's permissions and the model's name",
    "404": "check the model's name and base_url",
    "422": "check the model's arguments",
    FOREIGN_REPLY.detail: "check base_url and the server behind it: it must speak OpenAI's protocol",
    "429": "wait until the quota allows more, or lower --factorfair-max-rpm",
}


@dataclass(slots=True)
class Attempts:
    """The calls of one query, its failures and the time of the first, and the seconds it has paused.

    ``probes`` are the responses to calls that asked a probe instead.
    """

    calls: int = 0
    failed: int = 0
    since: float = float("inf")
    waited: float = 0.0
    probes: list[Response] = field(default_factory=list)


class Breaker:
    """Counts the failures at an endpoint, over all processes of the run, and decides what they mean.

    A transient failure counts against its query only if other queries are answered meanwhile. Otherwise the
    endpoint counts as down: calls wait, and one at a time tries it, less and less often. A service that has
    not answered in this run counts as down at its first failure. We wait for an endpoint that has answered,
    or throttles, as long as patience lasts, and for another one as many calls as a query has attempts.
    ``known`` means that stored answers prove the model to work, so that a rejection is more likely to be
    about the prompt.
    """

    def __init__(self, name: str, limits: Limits, retry: Retry, *, is_service: bool = False) -> None:
        self._name = name
        self._limits = limits
        self._retry = retry
        self._failing: set[str] = set()
        self._episode = 0
        self._is_service = is_service
        self.known = False

    def answered(self) -> None:
        self._limits.report(self._name, Health.after_answer)

    def put_off(self, seconds: float, *, throttled: bool) -> None:
        """Note that the endpoint asked all its callers to pause."""
        current_time = self._retry.clock()
        until = current_time + min(seconds, self._retry.patience)
        self._limits.report(
            self._name, lambda health: health.closed(until, now=current_time, throttled=throttled)
        )

    async def failed(self, key: str, error: RetryableModelError, attempts: Attempts) -> float:
        """Count a failed call that may be repeated; returns the seconds to pause before repeating it.

        The pause is 0 for an endpoint that is down: the next call waits until it opens.

        Raises:
            RejectedRequestError: the query has used up its attempts or its patience.
            FatalModelError: the endpoint has failed too often, or for too long.
        """
        retry, current_time = self._retry, self._retry.clock()
        attempts.since = min(attempts.since, current_time)
        attempts.failed += not error.throttled
        is_new = key not in self._failing
        self._failing.add(key)  # before the await, during which others may fail
        cause, opens, is_service = str(error), not error.throttled, self._is_service
        health = await self._reported(
            lambda health: health.after_failure(
                cause,
                now=current_time,
                is_new=is_new,
                most=retry.most_at_first,
                opens=opens,
                is_service=is_service,
            )
        )
        if health.episode != self._episode:  # it was answered since
            self._failing = {key}
            self._episode = health.episode
        is_foreign = error.cause == FOREIGN_REPLY and not (self.known or health.answered)
        if (error.retry_after or 0.0) > retry.patience or is_foreign:
            raise self._stopped(error, health) from error

        pause = (error.retry_after or 0.0) + retry.pause(attempts.calls)
        patient = attempts.waited + pause <= retry.patience
        if health.probe_at is None:
            if attempts.failed < retry.attempts and patient:
                attempts.waited += pause
                return pause
            if health.answered and health.since is not None and health.since <= attempts.since:
                # Nothing was answered since this query first failed: it is not the query's fault.
                self._limits.report(self._name, lambda health: health.down(current_time))
            elif patient or health.failing < retry.most_at_first:
                raise _given_up(error, attempts) from error
            else:
                raise self._stopped(error, health) from error
        if health.answered or health.throttled:
            over = health.since is not None and current_time - health.since >= retry.patience
        else:
            over = max(health.probes, attempts.failed) >= retry.attempts
        is_unreached = self._is_service and not health.answered
        if over and health.failing >= (retry.unreached if is_unreached else retry.most_at_first):
            raise self._stopped(error, health) from error
        if over:
            raise _given_up(error, attempts) from error
        return 0.0

    async def rejected(self, error: ModelError) -> tuple[bool, bool]:
        """Count a query that repeating would not help.

        Returns whether there are too many of its kind, and whether the endpoint has answered since the
        rejection before it.
        """
        kind, cause = repr(error.cause), str(error)
        health = await self._reported(lambda health: health.after_rejection(kind, cause))
        return self._over(error, health), health.rejected == 1 and (self.known or health.answered)

    async def fatal_rejection(self, error: ModelError) -> FatalModelError | None:
        """The error that ends the run if too many queries in a row are still rejected for the same reason."""
        health = await _result(self._limits.health(self._name))
        return self._stopped(error, health) if self._over(error, health) else None

    async def _reported(self, change: Callable[[Health], Health]) -> Health:
        return await _result(self._limits.report(self._name, change))

    def _stopped(self, error: ModelError, health: Health) -> FatalModelError:
        """The error that ends the run, in one line: what failed, how often, where, and what to try."""
        cause = error.cause
        if isinstance(error, RetryableModelError) and (error.retry_after or 0.0) > self._retry.patience:
            extent = f"told to wait {error.retry_after:g} s"
        elif health.rejected > 1:
            extent = f"{health.rejected} queries in a row failed alike"
        elif health.failing:
            queries, calls = plural(health.failing, "query", "queries"), plural(health.failed_calls, "call")
            extent = f"{queries} in a row failed, in {calls}"
        else:
            return advised(FatalModelError(str(error), cause=cause))
        where = f", last at {cause.where}" if cause.where else ""
        return advised(FatalModelError(f"{error} ({extent}{where})", cause=cause))

    def _over(self, error: ModelError, health: Health) -> bool:
        """Whether so many rejections in a row are the endpoint's fault.

        A 404 is about an address or a model until something answers there.
        """
        if self.known or health.answered:
            return health.rejected >= self._retry.stretch
        if self._is_service and error.cause.detail == NOT_FOUND:
            return True
        return health.rejected >= self._retry.most_at_first


def advised(error: FatalModelError) -> FatalModelError:
    """The same error with what to do about it, unless it says so."""
    cause = error.cause
    by_detail = _ADVICE_BY_DETAIL.get(cause.detail) if cause.kind in ("status", "reply") else None
    hint = by_detail or _ADVICE.get(cause.kind)
    if TO_DO in str(error) or hint is None:
        return error
    line = f"{str(error).rstrip('.')}{TO_DO}{hint}"
    return FatalModelError(line, cause=cause, billable=error.billable, counted=error.counted)


def _given_up(error: RetryableModelError, attempts: Attempts) -> RejectedRequestError:
    asked = f", told to wait {error.retry_after:g} s" if error.retry_after else ""
    calls = f"{attempts.calls} attempt{'s' if attempts.calls > 1 else ''}"
    return RejectedRequestError(f"{error} (given up after {calls}{asked})", cause=error.cause)


async def _result(health: Health | Future[Health]) -> Health:
    return await asyncio.wrap_future(health) if isinstance(health, Future) else health


IMPORTING = 0.01
"""Seconds after which it is checked again whether the modules that read replies are imported."""

FIRST = 3
"""Replies of a model that are cut off before they begin, after which it is asked nothing more."""


class Unusable(NamedTuple):
    """A reply in which nothing can be read: the reason, what came back, and what to do about it."""

    reason: str
    shown: str
    remedy: str


Judge = Callable[[Model, Query, Response], Unusable | Literal["usable", "declined"]]
"""Says whether the run can use a reply. One that declines says nothing about the others."""

JudgeOf = Callable[[Query, Response], Judge | None]
"""Returns what judges a reply, None until the main thread has imported that; called in the loop's thread."""


class FirstReplies:
    """The replies of a model, new and stored, up to the first that can be used.

    A run that went on without one would pay for thousands of the same kind: it ends after ``most`` of them
    (0: never), over all its processes. It ends after fewer if all were cut off before they began. A reply
    with words may be read although it is cut off: a base model never ends by itself.

    Asking pauses after a reply until ``judge`` returns something. So the main thread must import what judges
    replies while it waits for answers. ``ended`` is whether the asking has ended.
    """

    def __init__(
        self,
        model: Model,
        limits: Limits,
        *,
        judge: JudgeOf,
        ended: Callable[[], bool],
        most: int,
    ) -> None:
        self._model = model
        self._ended = ended
        self._limits = limits
        self._judge = judge
        self._most = most
        self._is_cut_off = True
        self._cut_off = self._unusable = 0
        self._usable = self._stored = False
        self._in_order = asyncio.Lock()
        self._reasons: Counter[str] = Counter()
        self._examples: dict[str, Unusable] = {}

    async def add_stored(self, replies: Iterable[tuple[Query, Response]]) -> None:
        """Count the stored replies of a case, after the replies of earlier cases."""
        async with self._in_order:
            for query, response in replies:
                self._stored = True
                await self.add(query, response)

    async def add(self, query: Query, response: Response) -> None:
        """Count a reply, until one can be used."""
        if self._usable:
            return
        cut_off = response.finish == "length" and not response.text.strip()
        self._is_cut_off = self._is_cut_off and cut_off
        self._cut_off += cut_off
        if not self._most:
            self._usable = not self._is_cut_off
            return
        while (judge := self._judge(query, response)) is None:  # the main thread imports it
            if self._ended():
                return
            await asyncio.sleep(IMPORTING)
        judged = judge(self._model, query, response)
        if judged == "declined":  # or it would depend on the order of replies whether the run ends
            return
        unusable = judged if isinstance(judged, Unusable) else None
        if unusable is not None:
            self._reasons[unusable.reason] += 1
            self._examples.setdefault(unusable.reason, unusable)
        # Counted like rejections: those in a row, until the first success.
        health = await _result(
            self._limits.report(
                f"replies of {stored_name(self._model)}",
                Health.after_answer
                if unusable is None
                else lambda health: health.after_rejection("unusable", unusable.reason),
            )
        )
        self._usable, self._unusable = health.answered, health.rejected

    def objection(self) -> FatalModelError | None:
        """The error that ends the run before it pays for more such replies; None if there are too few."""
        if self._usable:
            return None
        name = stored_name(self._model)
        if self._is_cut_off and self._cut_off >= FIRST:
            parameters = self._model.identity.get("parameters")
            limit = parameters.get("max_tokens") if isinstance(parameters, Mapping) else None
            at = "" if limit is None else f" of {limit}"
            return FatalModelError(
                f"{name}: the first {self._cut_off} answers were cut off by max_tokens{at}, which "
                f"hidden reasoning may use up{TO_DO}raise it with --factorfair-model-arg=max_tokens=N"
            )
        if not self._reasons or self._unusable < self._most:
            return None
        ((reason, _),) = self._reasons.most_common(1)
        _, shown, remedy = self._examples[reason]
        if self._stored:
            remedy += ", or ask stored questions again with --factorfair-reuse=none"
        return FatalModelError(
            f"{name}: none of its first {self._unusable} replies can be used ({reason}): {shown}"
            f"{TO_DO}{remedy} (first_replies = 0 asks on)"
        )


class Endpoint(NamedTuple):
    """The limiter and the circuit breaker of one endpoint."""

    limiter: Limiter
    breaker: Breaker


class Limiters:
    """A limiter for each endpoint, and fewer slots for a model that can use only fewer."""

    def __init__(self, connections: int, retry: Retry, limits: Limits) -> None:
        self._connections = connections
        self._retry = retry
        self._limits = limits
        self._endpoints: dict[str, Endpoint] = {}
        self._models: dict[int, AbstractAsyncContextManager[None]] = {}

    def own(self, model: Model) -> AbstractAsyncContextManager[None]:
        """The slot of a model, which a call must hold first."""
        if id(model) not in self._models:
            limited = model.parallel is not None and model.parallel < self._connections
            self._models[id(model)] = asyncio.Semaphore(model.parallel or 1) if limited else nullcontext()
        return self._models[id(model)]

    def of(self, model: Model) -> Endpoint:
        """The endpoint of a model; a call must hold a slot of it next."""
        name = model.endpoint
        if name not in self._endpoints:
            is_service = hasattr(model, "url")
            limiter = Limiter(self._connections, self._retry, is_service=is_service)
            breaker = Breaker(name, self._limits, self._retry, is_service=is_service)
            self._endpoints[name] = Endpoint(limiter, breaker)
        return self._endpoints[name]
