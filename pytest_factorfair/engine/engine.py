"""The engine, which answers the queries of cases."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pytest_factorfair.domain import Exchange, Health, Query, Reuse
from pytest_factorfair.engine.budget import Budget, Estimate
from pytest_factorfair.engine.dispatcher import Counters, Dispatcher, Failure, PriceOf
from pytest_factorfair.engine.endpoint import FirstReplies, JudgeOf, Limiters
from pytest_factorfair.engine.limits import Limits, LocalLimits
from pytest_factorfair.engine.loop import LoopThread
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Store

T = TypeVar("T")

GRACE = 30.0  # seconds close() waits for the last commits
_PATIENT = Retry()


class Engine:
    """Answers queries from the store, and asks the model for the rest.

    ``connections`` is the number of calls to one endpoint that may be in flight at once. ``reuse`` says
    which stored answers to take. ``limits`` are those of the run, and
    ``estimate`` is the most that a call may cost by its price list; without limits the engine is a run of its
    own. ``price`` is the price of a model's answers. If none of the ``first_replies`` of a model can be used,
    the run ends; ``judge`` returns what judges one, see ``FirstReplies``.
    Methods may be called from any thread. The caller closes the store and the limits, after the engine.

    Raises:
        InputError: settings that exclude each other.
        StoreError: the store cannot be written.
    """

    def __init__(  # noqa: PLR0913  # by keyword, each with its default
        self,
        store: Store,
        *,
        connections: int = 64,
        reuse: Reuse = "all",
        retry: Retry = _PATIENT,
        limits: Limits | None = None,
        estimate: Estimate = lambda _model, _request: None,
        price: PriceOf = prices.of,
        judge: JudgeOf = lambda _query, _response: None,
        first_replies: int = 0,
    ) -> None:
        if connections < 1:
            raise InputError(f"{connections} connections: there must be 1 or more")
        self._counters = Counters()
        self.limits = used = limits or LocalLimits()
        self.retry = retry
        self.dispatcher = Dispatcher(
            store,
            connections=connections,
            limiters=Limiters(connections, retry, used),
            budget=Budget(used, store, retry, estimate),
            retry=retry,
            counters=self._counters,
            price=price,
            reuse=reuse,
            first_replies=lambda model: FirstReplies(
                model, used, judge=judge, ended=lambda: self.dispatcher.ended, most=first_replies
            ),
        )
        self._loop = LoopThread()

    @property
    def failure(self) -> Failure | None:
        """The error that ended the asking for good: of the model, of the store, or because of batches."""
        return self.dispatcher.failure

    def submit(self, model: Model, queries: Iterable[Query]) -> Future[tuple[Exchange, ...]]:
        """Ask these queries; the future has their exchanges, in order, once the responses are committed.

        The future raises ``failure`` once there is one, and BudgetError if the budget does not suffice; it
        is cancelled if the engine is closed first.
        """
        return self._loop.submit(self.dispatcher.case(model, tuple(queries)))

    def run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop in which the models are asked."""
        return self._loop.submit(work)

    def snapshot(self) -> Counters:
        """The current counts, for a progress line."""
        return replace(self._counters)

    def close(self, *, grace: float = GRACE) -> None:
        """Stop asking, commit what arrived, close the models, end the thread; closing twice does nothing.

        It waits at most ``grace`` seconds, and no longer if it is interrupted: a model may block the loop.
        """
        last = 0.0
        try:
            if self._loop.running:
                with suppress(TimeoutError, CancelledError):
                    self._loop.submit(asyncio.sleep(0)).result(min(grace, self.retry.grace))
                    self._loop.submit(self.dispatcher.wind_down()).result(grace)
                    last = grace
        finally:
            self._loop.close(last)


@dataclass(frozen=True, slots=True)
class EndpointState:
    """The state of one endpoint, over all processes of the run.

    ``throttled`` counts its 429 replies, ``waited`` the seconds for which they closed it. ``opens_in`` is
    the seconds until it is called again, 0.0 while it is open. ``failing`` counts the queries that have
    failed since its last answer, and ``cause`` is the last of these failures in one line.
    """

    endpoint: str
    throttled: int = 0
    waited: float = 0.0
    opens_in: float = 0.0
    failing: int = 0
    cause: str = ""


def endpoint_states(endpoints: Iterable[Health], *, now: float) -> tuple[EndpointState, ...]:
    """The endpoints that throttled or failed, as a progress line shows them."""
    return tuple(
        EndpointState(
            health.endpoint,
            health.throttled,
            health.waited,
            health.opens_in(now),
            health.failing,
            health.cause,
        )
        for health in endpoints
        if health.throttled or health.failing or health.probe_at is not None
    )
