from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine import RunBudget
from pytest_factorfair.errors import BudgetError
from pytest_factorfair.store import Ceilings, RunFile, Store, keys
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import FakeModel, queries, query

WAIT = 30


def budget(path: Path, ceilings: Ceilings) -> RunBudget:
    RunFile.make(path, ceilings, now=time.time()).close()
    return RunBudget(path, ceilings, estimate=lambda _model, _request: None)


def test_what_was_granted_is_waited_for_and_kept(
    make_engine: MakeEngine, store: Store, tmp_path: Path
) -> None:
    """Five calls are under way when a sixth is refused: they end before the case does."""

    async def slow(_: Request) -> Response:
        await asyncio.sleep(0.05)
        return Response("A")

    model = FakeModel(slow)
    engine = make_engine(budget=budget(tmp_path / "run.sqlite", Ceilings(calls=5)))
    with pytest.raises(BudgetError, match="the budget of 5 calls is used up"):
        engine.submit(model, queries(40)).result(WAIT)
    assert len(model.asked) == 5
    assert store.count(keys(model.identity, queries(40))) == 5
    assert engine.failure is None


def test_stored_answers_are_still_had_when_nothing_is_left(make_engine: MakeEngine, tmp_path: Path) -> None:
    make_engine().submit(FakeModel(), queries(3)).result(WAIT)
    model = FakeModel()
    engine = make_engine(budget=budget(tmp_path / "run.sqlite", Ceilings(calls=1)))
    with pytest.raises(BudgetError):
        engine.submit(model, queries(2, start=100)).result(WAIT)
    assert len(engine.submit(model, queries(3)).result(WAIT)) == 3
    assert len(model.asked) == 1


def test_closing_waits_for_what_another_process_spent(
    make_engine: MakeEngine, store: Store, tmp_path: Path
) -> None:
    """This process has not been refused anything, but its calls were granted from what is now used up."""
    under_way = asyncio.Event()

    async def slow(_: Request) -> Response:
        under_way.set()
        await asyncio.sleep(0.2)
        return Response("A")

    path, model = tmp_path / "run.sqlite", FakeModel(slow)
    engine = make_engine(budget=budget(path, Ceilings(calls=5)))
    engine.submit(model, [query(0)])
    while not under_way.is_set():
        time.sleep(0.01)
    other = RunFile.open(path)
    other.end("the budget of 5 calls is used up")
    other.close()
    engine.close()
    assert store.count(keys(model.identity, [query(0)])) == 1


def test_unknown_cost_ends_a_run_that_limits_it(make_engine: MakeEngine, tmp_path: Path) -> None:
    async def unpriced(_: Request) -> Response:
        return Response("A", cost=None)

    model = FakeModel(unpriced)
    engine = make_engine(connections=1, budget=budget(tmp_path / "run.sqlite", Ceilings(cost=9.0)))
    with pytest.raises(BudgetError, match="costs is unknown"):
        engine.submit(model, queries(9)).result(WAIT)
    assert len(model.asked) <= 2


def test_a_call_that_is_given_up_sets_nothing_aside(tmp_path: Path) -> None:
    """Cancelled while it waits for its turn, a minute off: the whole budget is there for others."""

    async def interrupted(_: float) -> None:
        raise asyncio.CancelledError

    path, ceilings = tmp_path / "run.sqlite", Ceilings(cost=1.0, rpm=1)
    RunFile.make(path, ceilings, now=time.time()).close()
    mine = RunBudget(path, ceilings, estimate=lambda _model, _request: 0.6, sleep=interrupted)

    async def scenario() -> None:
        mine.settle(await mine.take(FakeModel(), Request("first")), None, billable=False)
        with pytest.raises(asyncio.CancelledError):
            await mine.take(FakeModel(), Request("second"))

    asyncio.run(scenario())
    mine.close()
    other = RunFile.open(path)
    assert other.take(estimate=0.9, now=time.time()) is not None
    assert other.usage.calls == 2  # the first and this one
    other.close()
