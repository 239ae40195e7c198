"""The engine, which answers the queries of cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, replace

from pytest_factorfair.domain import Exchange, Health, Query, Reuse
from pytest_factorfair.engine.batching import Batching, Plan
from pytest_factorfair.engine.budget import Budget, Estimate
from pytest_factorfair.engine.dispatcher import Counters, Dispatcher, Failure, PriceOf
from pytest_factorfair.engine.endpoint import FirstReplies, Judge, Limiters
from pytest_factorfair.engine.limits import Limits, LocalLimits
from pytest_factorfair.engine.loop import LoopThread
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import FatalModelError, InputError, ModelError
from pytest_factorfair.models import prices
from pytest_factorfair.models.batches import BatchModel
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store import Store

GRACE = 30.0  # seconds close() waits for the last commits
_PATIENT = Retry()


class Engine:
    """Answers queries from the store, and asks the model for the rest.

    ``connections`` is the number of calls to one endpoint that may be in flight at once. ``reuse`` says
    which stored answers to take. ``limits`` are those of the run, and
    ``estimate`` is the most that a call may cost by its price list; without limits the engine is a run of its
    own. ``price`` is the price of a model's answers; those by batch have ``batch_price`` and
    ``batch_estimate``. If none of the ``first_replies`` of a model can be used, the
    run ends; ``judge`` returns what judges them once it is there, see ``FirstReplies``.
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
        batch_price: PriceOf = prices.of,
        batch_estimate: Estimate = lambda _model, _request: None,
        judge: Callable[[], Judge | None] = lambda: None,
        first_replies: int = 0,
    ) -> None:
        if connections < 1:
            raise InputError(f"{connections} connections: there must be 1 or more")
        self._counters = Counters()
        used = limits or LocalLimits()
        self._retry = retry
        self._dispatcher = Dispatcher(
            store,
            connections=connections,
            limiters=Limiters(connections, retry, used),
            budget=Budget(used, store, retry, estimate),
            retry=retry,
            counters=self._counters,
            price=price,
            reuse=reuse,
            first_replies=lambda model: FirstReplies(
                model, used, judge=judge, ended=lambda: self._dispatcher.ended, most=first_replies
            ),
        )
        self._batching = Batching(
            store,
            self._dispatcher,
            limits=used,
            retry=retry,
            price=batch_price,
            estimate=batch_estimate,
            refresh=reuse == "none",
        )
        self._loop = LoopThread()

    @property
    def failure(self) -> Failure | None:
        """The error that ended the asking for good: of the model, of the store, or because of batches."""
        return self._dispatcher.failure

    def submit(self, model: Model, queries: Iterable[Query]) -> Future[tuple[Exchange, ...]]:
        """Ask these queries; the future has their exchanges, in order, once the responses are committed.

        The future raises ``failure`` once there is one, and BudgetError if the budget does not suffice; it
        is cancelled if the engine is closed first.
        """
        return self._loop.submit(self._dispatcher.case(model, tuple(queries)))

    def bring(
        self, model: BatchModel, queries: Iterable[Query], plan: Plan, tell: Callable[[str], None]
    ) -> Future[None]:
        """Bring the answers of batches to these queries into the store; ``tell`` is given lines to show.

        The future raises PendingError if this run does not wait for them, or as that of ``submit``. An error
        of the model ends the asking for good: its questions must not be asked one by one, at full price.
        """

        async def brought() -> None:
            try:
                await self._batching.bring(model, tuple(queries), plan, tell)
            except ModelError as error:
                fatal = FatalModelError(str(error), cause=error.cause, billable=error.billable)
                self._dispatcher.fail(fatal)
                raise fatal from None

        return self._loop.submit(brought())

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
                    self._loop.submit(asyncio.sleep(0)).result(min(grace, self._retry.grace))
                    self._loop.submit(self._dispatcher.wind_down()).result(grace)
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
