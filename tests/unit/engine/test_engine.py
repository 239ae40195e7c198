from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from queue import Queue

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine import Retry, dispatcher
from pytest_factorfair.engine.dispatcher import Counters
from pytest_factorfair.errors import InputError, RejectedRequestError, RetryableModelError, UnloggedError
from pytest_factorfair.store import Store, keys
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import Clock, FakeModel, queries, query

WAIT = 30


def test_exchanges_come_in_the_order_of_the_queries(make_engine: MakeEngine, store: Store) -> None:
    """The model answers the last query first."""
    turn = {"prompt 4": asyncio.Event()}

    async def backwards(request: Request) -> Response:
        number = int(request.prompt.split()[1])
        if number < 4:
            await turn.setdefault(f"prompt {number + 1}", asyncio.Event()).wait()
        turn.setdefault(request.prompt, asyncio.Event()).set()
        return Response(f"answer {number}")

    model = FakeModel(backwards)
    exchanges = make_engine().submit(model, queries(5)).result(WAIT)
    assert [exchange.query for exchange in exchanges] == list(queries(5))
    assert [exchange.key for exchange in exchanges] == list(keys(model.identity, queries(5)))
    assert [exchange.response for exchange in exchanges] == [Response(f"answer {n}") for n in range(5)]
    assert not any(exchange.cached or exchange.error for exchange in exchanges)
    assert store.count(keys(model.identity, queries(5))) == 5


def test_no_case_overtakes_another_on_its_way_to_the_model(
    make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store turns out to be empty while a case waits to be read, and another one comes."""
    events: Queue[str | Callable[[], None]] = Queue()  # prompts asked, and reads to be made

    class Reader(Executor):
        def submit(self, read, /, *args, **kwargs):  # type: ignore[no-untyped-def]  # as its base class has it
            future = Future[object]()
            events.put(lambda: future.set_result(read(*args, **kwargs)))
            return future

    async def reply(request: Request) -> Response:
        events.put(request.prompt)
        return Response("A")

    monkeypatch.setattr(dispatcher, "ThreadPoolExecutor", lambda *_, **__: Reader())
    event = partial(events.get, timeout=WAIT)
    engine, model = make_engine(), FakeModel(reply)
    running = [engine.submit(model, [query(number)]) for number in range(2)]
    first, second = event(), event()
    assert callable(first)
    assert callable(second)
    first()
    assert event() == "prompt 0"
    running.append(engine.submit(model, [query(2)]))
    third = event()
    assert callable(third), "prompt 2 was asked before prompt 1"
    second()
    third()
    for future in running:
        future.result(WAIT)
    assert model.asked == ["prompt 0", "prompt 1", "prompt 2"]


def test_request_carries_repeat_and_seed(make_engine: MakeEngine) -> None:
    seen: list[Request] = []

    async def note(request: Request) -> Response:
        seen.append(request)
        return Response("A")

    make_engine().submit(FakeModel(note), [query(7, repeat=3)]).result(WAIT)
    assert seen == [Request("prompt 7", repeat=3, seed=7)]


def test_no_queries_no_exchanges(make_engine: MakeEngine) -> None:
    assert make_engine().submit(FakeModel(), []).result(WAIT) == ()


@pytest.mark.parametrize(
    ("connections", "parallel", "limit"), [(4, None, 4), (4, 3, 3), (4, 9, 4), (1, None, 1)]
)
def test_limit_is_reached_and_kept(
    make_engine: MakeEngine, connections: int, parallel: int | None, limit: int
) -> None:
    """Nobody is answered before ``limit`` calls are under way: fewer would wait for ever."""
    barrier = asyncio.Barrier(limit)

    async def together(_: Request) -> Response:
        await barrier.wait()
        return Response("A")

    model = FakeModel(together, parallel=parallel)
    engine = make_engine(connections=connections)
    waiting = [engine.submit(model, queries(limit * 2, start=start)) for start in (0, 100, 200)]
    assert sum(len(future.result(WAIT)) for future in waiting) == limit * 6
    assert model.peak == limit


def test_models_share_the_limit_of_their_endpoint(make_engine: MakeEngine) -> None:
    """Cases start in the order they came: when the third is asked, the first two hold all they can."""
    under_way = 0
    seen: list[int] = []
    go = asyncio.Event()

    async def count(_: Request) -> Response:
        nonlocal under_way
        under_way += 1
        await go.wait()
        under_way -= 1
        return Response("A")

    async def let_go(_: Request) -> Response:
        seen.append(under_way)
        go.set()
        return Response("A")

    engine = make_engine(connections=3)
    model_one, model_two = (FakeModel(count, identity={"model": name}) for name in ("one", "two"))
    waiting = [engine.submit(model, queries(10)) for model in (model_one, model_two)]
    engine.submit(FakeModel(let_go, endpoint="other", identity={"model": "three"}), [query(0)]).result(WAIT)
    assert [len(future.result(WAIT)) for future in waiting] == [10, 10]
    assert seen == [3]


def test_endpoints_have_limits_of_their_own(make_engine: MakeEngine) -> None:
    barrier = asyncio.Barrier(2)

    async def together(_: Request) -> Response:
        await barrier.wait()
        return Response("A")

    engine = make_engine(connections=1)
    models = [FakeModel(together, endpoint=name, identity={"model": name}) for name in ("a", "b")]
    for future in [engine.submit(model, queries(2)) for model in models]:
        assert len(future.result(WAIT)) == 2


def test_second_run_asks_nothing(make_engine: MakeEngine) -> None:
    earlier, later = FakeModel(), FakeModel()
    fresh = make_engine().submit(earlier, queries(30)).result(WAIT)
    engine = make_engine()
    stored = engine.submit(later, queries(30)).result(WAIT)
    assert len(earlier.asked) == 30
    assert later.asked == []
    assert stored == tuple(replace(exchange, cached=True, calls=0) for exchange in fresh)
    assert engine.snapshot() == Counters(asked=0, done=30, cached=30, errors=0)
    assert later.closed_in == []


def test_only_what_is_missing_is_asked(make_engine: MakeEngine) -> None:
    make_engine().submit(FakeModel(), queries(3)).result(WAIT)
    model = FakeModel()
    exchanges = make_engine().submit(model, queries(5)).result(WAIT)
    assert sorted(model.asked) == ["prompt 3", "prompt 4"]
    assert [exchange.cached for exchange in exchanges] == [True, True, True, False, False]


def test_response_that_cannot_be_reused_is_asked_again(make_engine: MakeEngine) -> None:
    async def empty(_: Request) -> Response:
        return Response(" ")

    engine = make_engine()
    earlier = FakeModel(empty)
    assert engine.submit(earlier, [query(0)]).result(WAIT)[0].response == Response(" ")
    later = FakeModel()
    (exchange,) = engine.submit(later, [query(0)]).result(WAIT)
    assert exchange.response is not None
    assert exchange.response.text == "answer to prompt 0"
    assert not exchange.cached


def test_refresh_asks_all_again_and_replaces(make_engine: MakeEngine, store: Store) -> None:
    async def anew(_: Request) -> Response:
        return Response("new")

    model = FakeModel()
    make_engine().submit(model, queries(3)).result(WAIT)
    exchanges = make_engine(reuse="none").submit(FakeModel(anew), queries(3)).result(WAIT)
    assert [exchange.cached for exchange in exchanges] == [False] * 3
    stored = store.responses(keys(model.identity, queries(3)))
    assert {response.text for response in stored.values()} == {"new"}


def test_replay_never_asks(make_engine: MakeEngine) -> None:
    make_engine().submit(FakeModel(), queries(2)).result(WAIT)
    model = FakeModel()
    engine = make_engine(reuse="only")
    exchanges = engine.submit(model, queries(3)).result(WAIT)
    assert model.asked == []
    assert [exchange.error for exchange in exchanges] == ["", "", "not in the store"]
    assert [exchange.cached for exchange in exchanges] == [True, True, False]
    assert engine.snapshot() == Counters(asked=0, done=3, cached=2, errors=1)


def test_the_same_key_under_way_is_asked_once(make_engine: MakeEngine) -> None:
    """Two cases, and one query twice in the first of them."""
    all_in = asyncio.Event()

    async def wait(request: Request) -> Response:
        await all_in.wait()
        return Response(request.prompt, cost=1.0)

    async def let_go(request: Request) -> Response:
        all_in.set()
        return Response(request.prompt)

    model = FakeModel(wait)
    engine = make_engine()
    earlier = engine.submit(model, [query(0), query(1), query(0)])
    later = engine.submit(model, [query(1), query(2)])
    engine.submit(FakeModel(let_go, identity={"model": "other"}), [query(9)]).result(WAIT)
    earlier_exchanges, later_exchanges = earlier.result(WAIT), later.result(WAIT)
    assert sorted(model.asked) == ["prompt 0", "prompt 1", "prompt 2"]
    assert [exchange.cached for exchange in earlier_exchanges] == [False, False, True]
    assert [exchange.cached for exchange in later_exchanges] == [True, False]
    assert earlier_exchanges[1].response == later_exchanges[0].response
    assert engine.snapshot() == Counters(asked=4, done=6, cached=2, errors=0)


def test_a_cancelled_case_still_serves_cases_that_share_its_keys(make_engine: MakeEngine) -> None:
    go = asyncio.Event()

    async def wait(_: Request) -> Response:
        await go.wait()
        return Response("A")

    async def let_go(_: Request) -> Response:
        go.set()
        return Response("A")

    engine = make_engine()
    model = FakeModel(wait)
    earlier = engine.submit(model, queries(3))
    later = engine.submit(model, queries(3))
    assert earlier.cancel()
    engine.submit(FakeModel(let_go, identity={"model": "other"}), [query(9)]).result(WAIT)
    assert [exchange.response for exchange in later.result(WAIT)] == [Response("A")] * 3
    assert len(model.asked) == 3


def test_retry_then_success(make_engine: MakeEngine) -> None:
    failures = iter([RetryableModelError("503 Service Unavailable"), RetryableModelError("429", 0.25)])
    clock = Clock()

    async def flaky(_: Request) -> Response:
        for failure in failures:
            raise failure
        return Response("A")

    engine = make_engine(retry=Retry(sleep=clock.sleep, clock=clock, draw=lambda: 1.0))
    (exchange,) = engine.submit(FakeModel(flaky), [query(0)]).result(WAIT)
    assert exchange.response == Response("A")
    assert clock.slept == [0.5, 1.25]
    assert engine.snapshot() == Counters(asked=3, done=1, cached=0, errors=0)


def test_a_pausing_query_leaves_its_slot_to_others(make_engine: MakeEngine) -> None:
    """One connection: the first query's pause ends when the second has been answered."""
    second_answered = asyncio.Event()
    failed: list[str] = []

    async def sleep(_: float) -> None:
        await second_answered.wait()

    async def flaky(request: Request) -> Response:
        if request.prompt == "prompt 0" and not failed:
            failed.append(request.prompt)
            raise RetryableModelError("503")
        second_answered.set()
        return Response("A")

    model = FakeModel(flaky)
    exchanges = make_engine(connections=1, retry=Retry(sleep=sleep)).submit(model, queries(2)).result(WAIT)
    assert [exchange.response for exchange in exchanges] == [Response("A"), Response("A")]
    assert model.asked == ["prompt 0", "prompt 1", "prompt 0"]


def test_exhausted_retries_and_rejections_are_errors_of_their_query(
    make_engine: MakeEngine, store: Store
) -> None:
    async def sleep(_: float) -> None:
        return None

    async def mixed(request: Request) -> Response:
        if request.prompt == "prompt 0":
            raise RetryableModelError("503 Service Unavailable")
        if request.prompt == "prompt 1":
            raise RejectedRequestError("400 Bad Request:\n  too long\x1b[31m")
        return Response("A")

    model = FakeModel(mixed)
    engine = make_engine(retry=Retry(sleep=sleep))
    exchanges = engine.submit(model, queries(3)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == [
        "503 Service Unavailable (given up after 6 attempts)",
        "400 Bad Request: too long",
        "",
    ]
    assert [exchange.response for exchange in exchanges] == [None, None, Response("A")]
    assert model.asked.count("prompt 0") == 6
    assert store.count(keys(model.identity, queries(3))) == 1
    assert engine.snapshot() == Counters(asked=8, done=3, cached=0, errors=2)
    assert engine.failure is None


def test_queries_that_a_log_lacks_are_no_calls(make_engine: MakeEngine) -> None:
    """However many they are, in a row and before any answer: they say nothing about the others."""

    async def lack(request: Request) -> Response:
        if request.prompt == "prompt 499":
            return Response("A")
        raise UnloggedError("not in the log")

    engine = make_engine(connections=1)
    exchanges = engine.submit(FakeModel(lack), queries(500)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == ["not in the log"] * 499 + [""]
    assert sum(exchange.calls for exchange in exchanges) == 1
    assert engine.snapshot() == Counters(asked=1, done=500, cached=0, errors=499)


def test_error_is_asked_again_by_the_next_run(make_engine: MakeEngine) -> None:
    async def refuse(_: Request) -> Response:
        raise RejectedRequestError("400")

    make_engine().submit(FakeModel(refuse), [query(0)]).result(WAIT)
    model = FakeModel()
    assert make_engine().submit(model, [query(0)]).result(WAIT)[0].response is not None
    assert model.asked == ["prompt 0"]


def test_no_connections_are_refused(make_engine: MakeEngine) -> None:
    with pytest.raises(InputError, match="0 connections: there must be 1 or more"):
        make_engine(connections=0)


def test_identity_that_is_not_json_reaches_the_caller(make_engine: MakeEngine) -> None:
    with pytest.raises(InputError, match="must be made of JSON values"):
        make_engine().submit(FakeModel(identity={"odd": {1}}), queries(2)).result(WAIT)
