"""The circuit breaker of one endpoint: what its failures mean for a query, and for the run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from pytest_factorfair.domain import Response
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.store import Health, Limits

_ADVICE = {
    "connection": "see that the server runs and that base_url is right",
    "timeout": "raise the timeout, or lower --factorfair-max-connections",
    "reply": "see what the server sends to a single prompt",
    "raised": "fix the function",
}
_ADVICE_BY_STATUS = {
    "400": "check the model's arguments",
    "403": "check what the key may use, and the model's name",
    "404": "check the model's name and base_url",
    "422": "check the model's arguments",
    "429": "wait until the quota allows for more, or lower --factorfair-max-rpm",
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
    endpoint counts as down: calls wait, and one at a time tries it, less and less often. We wait for an
    endpoint that has answered in this run as long as patience lasts, and for another one as many calls as a
    query has attempts. ``known`` means that stored answers prove the model to work, so that a rejection is
    more likely to be about the prompt.
    """

    def __init__(self, name: str, limits: Limits, retry: Retry) -> None:
        self._name = name
        self._limits = limits
        self._retry = retry
        self._failing: set[str] = set()
        self._episode = 0
        self.known = False

    def answered(self) -> None:
        self._limits.answer(self._name)

    def put_off(self, seconds: float, *, throttled: bool) -> None:
        """Note that the endpoint asked all its callers to pause."""
        now = self._retry.clock()
        until = now + min(seconds, self._retry.patience)
        self._limits.close_until(self._name, until, now=now, throttled=throttled)

    async def failed(self, key: str, error: RetryableModelError, attempts: Attempts) -> float:
        """Count a failed call that may be repeated; returns the seconds to pause before repeating it.

        The pause is 0 for an endpoint that is down: the next call waits until it opens.

        Raises:
            RejectedRequestError: the query has used up its attempts or its patience.
            FatalModelError: so has the endpoint.
        """
        retry, now = self._retry, self._retry.clock()
        attempts.since = min(attempts.since, now)
        attempts.failed += not error.throttled
        is_new = key not in self._failing
        self._failing.add(key)  # before the await, during which others may fail
        health = await asyncio.wrap_future(
            self._limits.fail(
                self._name, str(error), now=now, is_new=is_new, alike=retry.alike, opens=not error.throttled
            )
        )
        if health.episode != self._episode:  # it was answered since
            self._failing = {key}
            self._episode = health.episode
        if (error.retry_after or 0.0) > retry.patience:
            raise self._stopped(error, health) from error

        pause = (error.retry_after or 0.0) + retry.pause(attempts.calls)
        patient = attempts.waited + pause <= retry.patience
        if health.probe_at is None:
            if attempts.failed < retry.attempts and patient:
                attempts.waited += pause
                return pause
            if health.answered and health.since is not None and health.since <= attempts.since:
                # Nothing was answered since this query first failed: it is not the query's fault.
                self._limits.open_circuit(self._name, now=now)
            elif patient or health.failing < retry.alike:
                raise _given_up(error, attempts) from error
            else:
                raise self._stopped(error, health) from error
        if health.answered:
            over = health.since is not None and now - health.since >= retry.patience
        else:
            over = max(health.probes, attempts.failed) >= retry.attempts
        if over and health.failing >= retry.alike:
            raise self._stopped(error, health) from error
        if over:
            raise _given_up(error, attempts) from error
        return 0.0

    async def rejected(self, error: ModelError) -> bool:
        """Count a query that repeating would not help; returns whether there are too many of its kind."""
        kind = repr(error.cause)
        return self._over(await asyncio.wrap_future(self._limits.reject(self._name, kind, str(error))))

    async def hopeless(self, error: ModelError) -> FatalModelError | None:
        """The error that ends the run, if still so many queries in a row were rejected alike."""
        health = await asyncio.wrap_future(self._limits.health(self._name))
        return self._stopped(error, health) if self._over(health) else None

    def _stopped(self, error: ModelError, health: Health) -> FatalModelError:
        """The error that ends the run, in one line: what failed, how often, where, and what to try."""
        cause = error.cause
        if isinstance(error, RetryableModelError) and (error.retry_after or 0.0) > self._retry.patience:
            extent = f"told to wait {error.retry_after:g} s"
        elif health.rejected:
            extent = f"{health.rejected} queries in a row failed alike"
        else:
            extent = f"{health.failing} queries in a row failed, in {health.failed_calls} calls"
        place = f", last at {cause.where}" if cause.where else ""
        hint = _ADVICE_BY_STATUS.get(cause.detail) or _ADVICE.get(cause.kind) or "try again later"
        line = f"{error} ({extent}{place}): {hint}, then run the same command: answers so far are kept"
        return FatalModelError(line, cause=cause)

    def _over(self, health: Health) -> bool:
        known = self.known or health.answered
        return health.rejected >= (self._retry.stretch if known else self._retry.alike)


def _given_up(error: RetryableModelError, attempts: Attempts) -> RejectedRequestError:
    asked = f", told to wait {error.retry_after:g} s" if error.retry_after else ""
    calls = f"{attempts.calls} attempt{'s' if attempts.calls > 1 else ''}"
    return RejectedRequestError(f"{error} (given up after {calls}{asked})", cause=error.cause)
