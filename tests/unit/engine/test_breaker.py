"""Failing endpoints: how often they are called, and when a run ends; with a fake clock."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from pytest_factorfair.domain import Ceilings, Request, Response
from pytest_factorfair.engine import (
    Budget,
    EndpointState,
    Engine,
    Limits,
    LocalLimits,
    Retry,
    endpoint_states,
)
from pytest_factorfair.engine.endpoint import Breaker
from pytest_factorfair.errors import (
    FOREIGN_REPLY,
    BudgetError,
    Cause,
    FatalModelError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.store import Store
from pytest_factorfair.store.sharing.limits import SharedLimits
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import Clock, FakeModel, queries

WAIT = 30
REFUSED = Cause("connection", "ClientConnectorError")


def number(request: Request) -> int:
    return int(request.prompt.split()[1])


def patient(clock: Clock, patience: float = 300.0) -> Retry:
    return Retry(sleep=clock.sleep, clock=clock, patience=patience, grace=0.05)


class Flaky(FakeModel):
    """Answers ``good`` calls, then refuses all of them for ``seconds``."""

    def __init__(self, clock: Clock, *, good: int, seconds: float) -> None:
        super().__init__(self._reply)
        self._clock, self._good, self._seconds = clock, good, seconds
        self._until = float("inf")
        self.refused = 0

    async def _reply(self, _: Request) -> Response:
        if len(self.asked) > self._good:
            self._until = min(self._until, self._clock.now + self._seconds)
            if self._clock.now < self._until:
                self.refused += 1
                raise RetryableModelError("the connection failed", cause=REFUSED)
        return Response("A")


@pytest.fixture(params=[LocalLimits, SharedLimits])
def limits(store: Store, request: pytest.FixtureRequest) -> Iterator[Limits]:
    with closing(LocalLimits() if request.param is LocalLimits else SharedLimits.begin(store)) as begun:
        yield begun


def test_an_outage_of_a_minute_costs_no_answer_and_few_calls(make_engine: MakeEngine, limits: Limits) -> None:
    clock = Clock()
    model = Flaky(clock, good=50, seconds=60.0)
    engine = make_engine(retry=patient(clock), connections=16, limits=limits)
    exchanges = engine.submit(model, queries(500)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == [""] * 500
    # In flight, in place of those that pause, and both again: a pause takes no time here, in which a store
    # would enter the failures. Then one at a time.
    assert model.refused <= 4 * 16 + 30
    assert endpoint_states(limits.endpoints, now=clock.now) == ()


def test_an_endpoint_that_stays_away_ends_the_run_when_patience_does(make_engine: MakeEngine) -> None:
    clock = Clock()
    began, model = clock.now, Flaky(clock, good=50, seconds=1e9)
    engine = make_engine(retry=patient(clock, patience=120.0), connections=16)
    with pytest.raises(FatalModelError) as caught:
        engine.submit(model, queries(500)).result(WAIT)
    assert 120.0 <= clock.now - began <= 120.0 + 2 * 30.0
    assert model.refused <= 16 + 20 + 30
    line = re.fullmatch(
        r"the connection failed \((\d+) queries in a row failed, in (\d+) calls\); to do: check that the server is running "
        r"and that base_url is correct",
        str(caught.value),
    )
    assert line is not None
    assert 20 <= int(line[1]) <= int(line[2]) <= model.refused
    assert caught.value.cause == REFUSED


def test_an_endpoint_that_never_answered_is_tried_as_often_as_a_query(make_engine: MakeEngine) -> None:
    clock = Clock()
    model = Flaky(clock, good=0, seconds=1e9)
    engine = make_engine(retry=patient(clock), connections=64)
    with pytest.raises(FatalModelError, match="the connection failed"):
        engine.submit(model, queries(500)).result(WAIT)
    assert 20 <= model.refused <= 64 + 20 + 6


def test_states_of_waiting_endpoints_are_reported(make_engine: MakeEngine, limits: Limits) -> None:
    """The first call that tries the endpoint again has not been sent yet."""
    clock = Clock()
    seen: list[tuple[EndpointState, ...]] = []

    async def sleep(seconds: float) -> None:
        if (states := endpoint_states(limits.endpoints, now=clock.now)) and states[0].opens_in > 0:
            seen.append(states)
        await clock.sleep(seconds)

    retry = Retry(sleep=sleep, clock=clock, draw=lambda: 1.0)
    engine = make_engine(retry=retry, connections=20, limits=limits)
    engine.submit(Flaky(clock, good=5, seconds=10.0), queries(100)).result(WAIT)
    (state,) = seen[0]
    assert (state.endpoint, state.cause, state.throttled) == ("fake/here", "the connection failed", 0)
    assert state.failing >= 20
    assert 0 < state.opens_in <= 30


def rejecting(error_of: Callable[[int], ModelError | None]) -> FakeModel:
    async def reply(request: Request) -> Response:
        if (error := error_of(number(request))) is not None:
            raise error
        return Response("A")

    return FakeModel(reply)


def forbidden(status: int = 403) -> RejectedRequestError:
    return RejectedRequestError(f"{status}", cause=Cause("status", str(status)))


def test_a_rejection_of_every_query_ends_the_run(make_engine: MakeEngine) -> None:
    model = rejecting(lambda _: forbidden())
    with pytest.raises(
        FatalModelError,
        match=r"^403 \(20 queries in a row failed alike\); to do: check the key's permissions",
    ):
        make_engine(connections=1).submit(model, queries(100)).result(WAIT)
    assert len(model.asked) == 20


def test_failures_that_differ_end_nothing(make_engine: MakeEngine) -> None:
    engine = make_engine(connections=1)
    exchanges = engine.submit(rejecting(lambda n: forbidden(400 + n % 2)), queries(100)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == ["400", "401"] * 50


def test_rejections_after_an_answer_concern_their_query(make_engine: MakeEngine) -> None:
    model = rejecting(lambda n: forbidden() if n else None)
    exchanges = make_engine(connections=1).submit(model, queries(100)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == ["", *["403"] * 99]


def test_stored_answers_show_that_rejections_are_the_prompts_own(make_engine: MakeEngine) -> None:
    """A run that has only rejected prompts left ends as the one before."""
    make_engine().submit(rejecting(lambda _: None), queries(10)).result(WAIT)
    engine = make_engine(connections=1)
    exchanges = engine.submit(rejecting(lambda _: forbidden()), queries(60)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == [*[""] * 10, *["403"] * 50]


def test_a_later_stretch_of_the_same_failure_ends_the_run(make_engine: MakeEngine) -> None:
    model = rejecting(lambda _: forbidden() if len(model.asked) > 1 else None)
    with pytest.raises(FatalModelError, match="200 queries in a row failed alike"):
        make_engine(connections=1).submit(model, queries(500)).result(WAIT)
    assert len(model.asked) == 1 + 200 + 1  # the last asks again what was answered


def test_a_stretch_of_rejected_prompts_ends_nothing_while_others_are_answered(
    make_engine: MakeEngine, limits: Limits
) -> None:
    make_engine().submit(rejecting(lambda _: None), queries(1)).result(WAIT)
    model = rejecting(lambda n: forbidden() if n else None)
    exchanges = make_engine(connections=4, limits=limits).submit(model, queries(500)).result(WAIT)
    assert [exchange.error for exchange in exchanges] == ["", *["403"] * 499]
    assert model.asked.count("prompt 0") == 2  # the stored answer's prompt, after 200 and 400 rejections
    assert limits.usage.calls == len(model.asked) == 499 + 2


@dataclass
class Service(FakeModel):
    """A model that is reached over the network."""

    url: str = "http://service.test"


def raising(error_of: Callable[[int], ModelError | None]) -> Service:
    """A service that fails its calls, by their number, as said."""

    async def reply(_: Request) -> Response:
        await asyncio.sleep(0)
        if (error := error_of(len(model.asked))) is not None:
            raise error
        return Response("A")

    model = Service(reply)
    return model


THROTTLED = Cause("status", "429")


@pytest.mark.parametrize("connections", [1, 64])
def test_a_service_that_throttles_for_ever_is_called_one_by_one(
    make_engine: MakeEngine, limits: Limits, connections: int
) -> None:
    clock = Clock()
    began, model = clock.now, raising(lambda _: RetryableModelError("429", throttled=True, cause=THROTTLED))
    engine = make_engine(retry=patient(clock), connections=connections, limits=limits)
    with pytest.raises(FatalModelError, match=r"^429 \(\d+ queries in a row failed, in \d+ calls\)"):
        engine.submit(model, queries(500)).result(WAIT)
    assert model.peak == 1
    assert 300.0 <= clock.now - began <= 300.0 + 3 * 30.0
    assert len(model.asked) <= 60


@pytest.mark.parametrize("connections", [1, 64])
def test_a_service_that_is_down_is_called_a_few_times(
    make_engine: MakeEngine, limits: Limits, connections: int
) -> None:
    clock = Clock()
    model = raising(lambda _: RetryableModelError("the connection failed", cause=REFUSED))
    engine = make_engine(retry=patient(clock), connections=connections, limits=limits)
    with pytest.raises(FatalModelError, match="the connection failed"):
        engine.submit(model, queries(500)).result(WAIT)
    assert (model.peak, len(model.asked)) == (
        1,
        7 if connections > 1 else 6 + 1 + 1,
    )  # three queries at least


@pytest.mark.parametrize(
    "error",
    [
        FatalModelError("401", cause=Cause("status", "401")),
        RejectedRequestError("404", cause=Cause("status", "404")),
        RetryableModelError("another API", cause=FOREIGN_REPLY),
    ],
    ids=str,
)
def test_a_wrong_key_address_or_api_costs_one_call(
    make_engine: MakeEngine, limits: Limits, error: ModelError
) -> None:
    model = raising(lambda _: error)
    with pytest.raises(FatalModelError, match=f"^{error}"):
        make_engine(connections=64, limits=limits).submit(model, queries(500)).result(WAIT)
    assert len(model.asked) == 1


def test_a_service_that_answers_gets_all_connections(make_engine: MakeEngine) -> None:
    at_once = asyncio.Event()

    async def reply(_: Request) -> Response:
        if len(model.asked) == 1 + 16:
            at_once.set()
        if len(model.asked) > 1:
            await at_once.wait()
        return Response("A")

    model = Service(reply)
    make_engine(connections=16).submit(model, queries(100)).result(WAIT)
    assert model.peak == 16


def test_what_a_firewall_blocks_is_a_reply_if_other_prompts_are_answered(make_engine: MakeEngine) -> None:
    blocked = Response("", "filtered")
    error = RejectedRequestError("403", cause=Cause("status", "403"), reply=blocked)
    model = rejecting(lambda n: error if n % 10 == 3 else None)
    exchanges = make_engine(connections=1).submit(model, queries(100)).result(WAIT)
    assert [exchange.response for exchange in exchanges[:4]] == [Response("A")] * 3 + [blocked]
    assert len(model.asked) == 100
    again = rejecting(lambda _: error)  # and is stored
    assert make_engine().submit(again, queries(100)).result(WAIT)[3].response == blocked
    assert again.asked == []


def test_a_firewall_that_blocks_every_prompt_does_not_filter_them(make_engine: MakeEngine) -> None:
    error = RejectedRequestError("403", cause=Cause("status", "403"), reply=Response("", "filtered"))
    with pytest.raises(FatalModelError, match="20 queries in a row failed alike"):
        make_engine(connections=1).submit(rejecting(lambda _: error), queries(100)).result(WAIT)
    later = rejecting(lambda _: error if len(later.asked) > 30 else None)
    with pytest.raises(FatalModelError, match="200 queries in a row failed alike"):
        make_engine(connections=1).submit(later, queries(500)).result(WAIT)


def test_an_answer_on_its_way_shows_that_not_every_query_fails(make_engine: MakeEngine) -> None:
    """Rejections come while all slots are in use, answers later than twenty of them."""
    rejected = 0
    in_flight, enough = asyncio.Event(), asyncio.Event()

    async def reply(request: Request) -> Response:
        nonlocal rejected
        if len(model.asked) == 64:
            in_flight.set()
        if number(request) < 40:
            await in_flight.wait()
            rejected += 1
            if rejected == 20:
                enough.set()
            raise forbidden()
        await enough.wait()
        return Response("A")

    model = FakeModel(reply)
    exchanges = make_engine(connections=64).submit(model, queries(100)).result(WAIT)
    assert sum(exchange.error == "403" for exchange in exchanges) == 40
    assert sum(exchange.response == Response("A") for exchange in exchanges) == 60


def test_all_calls_in_flight_count_when_all_fail_alike(make_engine: MakeEngine) -> None:
    """The twentieth rejection ends the run; the others came in the same moment."""
    in_flight = asyncio.Event()

    async def reply(_: Request) -> Response:
        if len(model.asked) == 64:
            in_flight.set()
        await in_flight.wait()
        raise forbidden()

    model = FakeModel(reply)
    with pytest.raises(FatalModelError) as caught:
        make_engine(connections=64).submit(model, queries(1000)).result(WAIT)
    match = re.match(
        r"403 \((\d+) queries in a row failed alike\); to do: check the key's", str(caught.value)
    )
    assert match is not None
    assert 64 <= int(match[1]) <= len(model.asked) < 2 * 64  # the first slots that are free are used again


def test_a_raising_provider_is_named_with_its_line(make_engine: MakeEngine) -> None:
    async def reply(_: Request) -> Response:
        raise KeyError("choices")

    model = FakeModel(reply)
    with pytest.raises(FatalModelError) as caught:
        make_engine(connections=1).submit(model, queries(100)).result(WAIT)
    assert len(model.asked) == 20
    assert "KeyError: 'choices' (20 queries in a row failed alike, last at " in str(caught.value)
    assert caught.value.cause.where.endswith(" in reply")


def test_a_run_that_was_ended_elsewhere_asks_nothing_more(store: Store) -> None:
    with closing(SharedLimits.begin(store)) as controller:
        limits = SharedLimits.join(store, Ceilings(), session=controller.session)
        assert limits is not None
        engine, model = Engine(store, limits=limits), FakeModel()
        engine.submit(model, queries(3)).result(WAIT)
        controller.end("the run was interrupted").result(WAIT)
        with pytest.raises(BudgetError, match="the run was interrupted"):
            engine.submit(model, queries(9)).result(WAIT)
        engine.close()
        limits.close()
    assert len(model.asked) == 3


def test_a_worker_whose_controller_is_gone_asks_nothing_more(store: Store) -> None:
    with closing(SharedLimits.begin(store)) as controller:
        limits = SharedLimits.join(store, Ceilings(), session=controller.session, controller=os.getpid())
        assert limits is not None  # whose parent is another process
        engine, model = Engine(store, limits=limits), FakeModel()
        with pytest.raises(BudgetError, match="the controlling process is gone"):
            engine.submit(model, queries(3)).result(WAIT)
        engine.close()
        limits.close()
    assert model.asked == []


def test_a_pause_holds_for_all_and_lets_them_in_in_their_order(store: Store, limits: Limits) -> None:
    clock, came = Clock(), []
    began = clock.now
    budget = Budget(limits, store, patient(clock), lambda *_: None)
    breaker = Breaker("here", limits, patient(clock))
    model = FakeModel(endpoint="here")

    async def call(number: int) -> None:
        await budget.take(model, Request(f"prompt {number}"))
        came.append((number, clock.now >= began + 5))

    async def scenario() -> None:
        await budget.take(model, Request("the first"))
        breaker.put_off(5.0, throttled=True)
        breaker.put_off(2.0, throttled=True)  # a shorter one does not end a longer one
        await asyncio.wait_for(asyncio.gather(*map(call, range(6))), WAIT)

    asyncio.run(scenario())
    assert came == [(number, True) for number in range(6)]
