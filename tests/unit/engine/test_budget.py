from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

import pytest

from pytest_factorfair.domain import Ceilings, Request, Response
from pytest_factorfair.engine import Budget, Retry, budget
from pytest_factorfair.errors import BudgetError, RetryableModelError
from pytest_factorfair.store import AccountEntry, Grant, Limits, Store, Wish, keys
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import FakeModel, queries, query

WAIT = 30
Begin = Callable[[Ceilings], Limits]


@pytest.fixture
def begin(store: Store) -> Iterator[Begin]:
    """Starts runs, which end with the test."""
    with ExitStack() as stack:

        def begun(ceilings: Ceilings) -> Limits:
            limits = Limits.begin(store, ceilings, now=time.time())
            stack.callback(limits.close)
            return limits

        yield begun


def test_what_was_granted_is_waited_for_and_kept(make_engine: MakeEngine, store: Store, begin: Begin) -> None:
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


def test_stored_answers_are_still_had_when_nothing_is_left(make_engine: MakeEngine, begin: Begin) -> None:
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
    limits.end_run("the budget of 5 calls is used up")
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


def test_a_call_that_is_given_up_sets_nothing_aside(begin: Begin) -> None:
    """Cancelled while it waits for its turn, a minute off: the whole budget is there for others."""

    async def interrupted(_: float) -> None:
        raise asyncio.CancelledError

    limits = begin(Ceilings(cost=1.0, rpm=1))
    budget = Budget(limits, Retry(sleep=interrupted), lambda _model, _request: 0.6)

    async def scenario() -> None:
        budget.settle(await budget.take(FakeModel(), Request("first")), None, billable=False)
        with pytest.raises(asyncio.CancelledError):
            await budget.take(FakeModel(), Request("second"))
        await budget.close()

    asyncio.run(scenario())
    (taken,) = limits.account([], [Wish("fake/here", 0.9, time.time(), float)]).result(WAIT)
    assert isinstance(taken, Grant)
    assert limits.usage.calls == 2  # the first and this one


def test_a_grant_that_comes_too_late_is_given_back(begin: Begin) -> None:
    limits = begin(Ceilings(calls=5))
    budget = Budget(limits, Retry(), lambda _model, _request: None)

    async def scenario() -> None:
        asking = asyncio.create_task(budget.take(FakeModel(), Request("interrupted")))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await budget.close()

    asyncio.run(scenario())
    assert limits.usage.calls == 0


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


@pytest.mark.parametrize("run", ["", "shared"])
def test_only_a_run_that_others_can_join_has_each_call_granted_by_the_database(
    make_engine: MakeEngine, store: Store, monkeypatch: pytest.MonkeyPatch, run: str
) -> None:
    wishes = 0
    account = Limits.account

    def counted(limits: Limits, settled: Sequence[AccountEntry], asked: Sequence[Wish]) -> Any:
        nonlocal wishes
        wishes += len(asked)
        return account(limits, settled, asked)

    monkeypatch.setattr(Limits, "account", counted)
    with closing(Limits.begin(store, run=run)) as limits:
        engine = make_engine(connections=1, limits=limits)
        assert all(exchange.response for exchange in engine.submit(FakeModel(), queries(50)).result(WAIT))
        engine.close()
        assert limits.usage.calls == 50
    # Until the first answer is entered, the process cannot know that the endpoint is open.
    assert wishes == 50 if run else wishes < 25


def test_an_error_of_the_limits_leaves_no_call_waiting(
    make_engine: MakeEngine, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = begin(Ceilings())

    def broken(*_: object) -> None:
        raise RuntimeError("the limits are broken")

    monkeypatch.setattr(Limits, "account", broken)
    model = FakeModel()
    exchanges = make_engine(limits=limits).submit(model, queries(3)).result(WAIT)
    assert all("the limits are broken" in exchange.error for exchange in exchanges)
    assert model.asked == []
    monkeypatch.undo()


def test_no_call_starts_early_once_calls_cannot_be_entered(
    make_engine: MakeEngine, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def after_others(_: Request) -> Response:
        for _round in range(3):
            await asyncio.sleep(0)
        return Response("A", "stop")

    monkeypatch.setattr(budget, "DELAY", 0.0)
    limits, model = begin(Ceilings()), FakeModel(after_others)
    engine = make_engine(connections=1, limits=limits)
    assert engine.submit(model, queries(1)).result(WAIT)[0].response

    def broken(*_: object) -> None:
        raise RuntimeError("the limits are broken")

    monkeypatch.setattr(Limits, "account", broken)
    exchanges = engine.submit(model, queries(200)).result(WAIT)
    assert "the limits are broken" in exchanges[-1].error
    assert len(model.asked) < 200
    monkeypatch.undo()
    engine.close()
    assert limits.usage.calls == len(model.asked)  # what could not be entered is tried again
