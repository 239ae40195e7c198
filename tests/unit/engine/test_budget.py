from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from typing import Any

import pytest
from sqlalchemy import event, select

from pytest_factorfair.domain import CallRequest, Ceilings, Grant, Request, Response
from pytest_factorfair.engine import Budget, Limits, LocalLimits, Retry
from pytest_factorfair.errors import BudgetError, RetryableModelError, StoreError
from pytest_factorfair.store import Store, keys
from pytest_factorfair.store.schema import ACCOUNTS, ENDPOINTS
from pytest_factorfair.store.sharing.limits import SharedLimits
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import FakeModel, queries, query

WAIT = 30
Begin = Callable[[Ceilings], Limits]


@pytest.fixture(params=[LocalLimits, SharedLimits])
def begin(store: Store, request: pytest.FixtureRequest) -> Iterator[Begin]:
    """Starts runs of either kind, which end with the test."""
    with ExitStack() as stack:

        def begun(ceilings: Ceilings) -> Limits:
            limits = (
                LocalLimits(ceilings) if request.param is LocalLimits else SharedLimits.begin(store, ceilings)
            )
            stack.callback(limits.close)
            return limits

        yield begun


def test_granted_calls_are_awaited_and_stored(make_engine: MakeEngine, store: Store, begin: Begin) -> None:
    """Five calls are under way when a sixth is refused: they end before the case does."""

    async def slow(_: Request) -> Response:
        await asyncio.sleep(0.05)
        return Response("A")

    model = FakeModel(slow)
    engine = make_engine(limits=begin(Ceilings(calls=5)))
    with pytest.raises(BudgetError, match="the budget of 5 calls is used up"):
        engine.submit(model, queries(40)).result(WAIT)
    assert len(model.asked) == 5
    assert store.count(keys(model.identity, queries(40))) == 5
    assert engine.failure is None


def test_stored_answers_are_available_without_budget(make_engine: MakeEngine, begin: Begin) -> None:
    make_engine().submit(FakeModel(), queries(3)).result(WAIT)
    model = FakeModel()
    engine = make_engine(limits=begin(Ceilings(calls=1)))
    with pytest.raises(BudgetError):
        engine.submit(model, queries(2, start=100)).result(WAIT)
    assert len(engine.submit(model, queries(3)).result(WAIT)) == 3
    assert len(model.asked) == 1


def test_closing_waits_for_what_another_process_spent(
    make_engine: MakeEngine, store: Store, begin: Begin
) -> None:
    """This process has not been refused anything, but its calls were granted from what is now used up."""
    under_way = asyncio.Event()

    async def slow(_: Request) -> Response:
        under_way.set()
        await asyncio.sleep(0.2)
        return Response("A")

    limits, model = begin(Ceilings(calls=5)), FakeModel(slow)
    engine = make_engine(limits=limits)
    engine.submit(model, [query(0)])
    while not under_way.is_set():
        time.sleep(0.01)
    limits.end("the budget of 5 calls is used up", whole_run=True)
    engine.close()
    assert store.count(keys(model.identity, [query(0)])) == 1


def test_unknown_cost_ends_a_run_that_limits_it(make_engine: MakeEngine, begin: Begin) -> None:
    async def unpriced(_: Request) -> Response:
        return Response("A", cost=None)

    model = FakeModel(unpriced)
    engine = make_engine(connections=1, limits=begin(Ceilings(cost=9.0)))
    with pytest.raises(BudgetError, match="price of an answer is unknown"):
        engine.submit(model, queries(9)).result(WAIT)
    assert len(model.asked) <= 2


def test_a_call_that_is_given_up_sets_nothing_aside(store: Store, begin: Begin) -> None:
    """Cancelled while it waits for its turn, a minute off: the whole budget is there for others."""

    async def interrupted(_: float) -> None:
        raise asyncio.CancelledError

    limits = begin(Ceilings(cost=1.0, rpm=1))
    budget = Budget(limits, store, Retry(sleep=interrupted), lambda _model, _request: 0.6)

    async def scenario() -> None:
        budget.settle(await budget.take(FakeModel(), Request("first")), None, billable=False)
        with pytest.raises(asyncio.CancelledError):
            await budget.take(FakeModel(), Request("second"))
        await budget.close()

    asyncio.run(scenario())
    taken = limits.take(CallRequest("fake/here", 0.9, time.time(), float))
    assert isinstance(taken.result(WAIT) if isinstance(taken, Future) else taken, Grant)
    assert limits.usage.calls == 2  # the first and this one


def test_a_grant_that_comes_too_late_is_given_back(store: Store) -> None:
    """Only shared limits take time to grant."""

    async def scenario(limits: Limits) -> None:
        budget = Budget(limits, store, Retry(), lambda _model, _request: None)
        asking = asyncio.create_task(budget.take(FakeModel(), Request("interrupted")))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await budget.close()

    with closing(SharedLimits.begin(store, Ceilings(calls=5))) as limits:
        asyncio.run(scenario(limits))
        assert limits.usage.calls == 0
        account = select(ACCOUNTS.c.calls, ACCOUNTS.c.in_flight)
        limits.health("here").result(WAIT)  # after all that was settled
        with store.database.connect() as connection:
            assert connection.execute(account).all() == [(0, 0)]


def test_a_probe_is_paid_for(make_engine: MakeEngine, begin: Begin) -> None:
    """A model that probes its service first: with the probe, a third answer would be over the limit."""

    async def probing(_: Request) -> Response:
        if len(model.asked) == 1:
            raise RetryableModelError("probed", at_once=True, probe=Response("A", cost=0.3))
        return Response("A", cost=0.3)

    model = FakeModel(probing)
    engine = make_engine(limits=begin(Ceilings(cost=1.0)))
    (exchange,) = engine.submit(model, queries(1)).result(WAIT)
    assert (exchange.calls, exchange.probes) == (2, (Response("A", cost=0.3),))
    engine.submit(model, queries(1, start=1)).result(WAIT)
    with pytest.raises(BudgetError, match=r"the budget of \$1"):
        engine.submit(model, queries(1, start=2)).result(WAIT)
    assert len(model.asked) == 3


def test_calls_of_one_process_cost_no_statement(make_engine: MakeEngine, store: Store, begin: Begin) -> None:
    """With limits as without: only claims, the store's first read and responses are statements."""
    statements: list[str] = []
    limits = begin(Ceilings(calls=60))

    @event.listens_for(store.database, "before_cursor_execute")
    def _seen(*arguments: Any) -> None:
        statements.append(arguments[2])

    engine = make_engine(connections=1, limits=limits)
    assert all(exchange.response for exchange in engine.submit(FakeModel(), queries(50)).result(WAIT))
    engine.close()
    assert limits.usage.calls == 50
    of_limits = [statement for statement in statements if "runs" in statement or "endpoints" in statement]
    assert len(of_limits) == 0 if isinstance(limits, LocalLimits) else len(of_limits) >= 50


def test_an_error_of_the_limits_leaves_no_call_waiting(
    make_engine: MakeEngine, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = begin(Ceilings())

    def broken(*_: object) -> None:
        raise RuntimeError("the limits are broken")

    monkeypatch.setattr(type(limits), "take", broken)
    model = FakeModel()
    exchanges = make_engine(limits=limits).submit(model, queries(3)).result(WAIT)
    assert all("the limits are broken" in exchange.error for exchange in exchanges)
    assert model.asked == []


def test_nothing_is_asked_once_the_limits_cannot_be_kept(make_engine: MakeEngine, store: Store) -> None:
    model = FakeModel()
    with closing(SharedLimits.begin(store, Ceilings(calls=50))) as limits:
        engine = make_engine(connections=1, limits=limits)
        assert engine.submit(model, queries(1)).result(WAIT)[0].response
        with store.database.begin() as connection:
            ENDPOINTS.drop(connection)
        with pytest.raises(StoreError, match=r"cannot be written: .*endpoints"):
            engine.submit(model, queries(9)).result(WAIT)
    assert len(model.asked) == 1


def test_no_call_is_paid_while_the_store_is_away(
    make_engine: MakeEngine, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0

    def away(_: Store) -> bool:
        nonlocal looks
        looks += 1
        assert model.asked == [] or looks > 3
        return looks <= 3

    monkeypatch.setattr(Store, "unavailable", property(away))
    model = FakeModel()
    engine = make_engine(connections=1, limits=begin(Ceilings()))
    assert engine.submit(model, queries(1)).result(WAIT)[0].response
    assert looks == 4
