from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pytest_factorfair.engine.limits import COOL_DOWN, Lane

WAIT = 30


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def enter(lane: Lane, times: int) -> None:
    for _ in range(times):
        await lane.__aenter__()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), WAIT)

    asyncio.run(bounded())


def test_one_decrease_for_all_calls_that_were_under_way() -> None:
    clock = Clock()
    lane = Lane(64, clock=clock)
    began = clock.now
    clock.now += 1
    for _ in range(20):
        lane.throttled(began)
    assert lane.width == 32
    lane.throttled(clock.now)  # a call begun since: another episode
    assert lane.width == 16


def test_one_place_always_remains() -> None:
    clock = Clock()
    lane = Lane(3, clock=clock)
    for _ in range(5):
        clock.now += 1
        lane.throttled(clock.now)
    assert lane.width == 1


def test_a_round_of_answers_adds_one_place_up_to_the_most() -> None:
    async def scenario() -> None:
        clock = Clock()
        lane = Lane(10, clock=clock)
        lane.throttled(clock.now)
        await enter(lane, 5)
        lane.succeeded()
        assert lane.width == 5  # too early
        clock.now += COOL_DOWN
        for _ in range(5):
            lane.succeeded()
        assert lane.width == pytest.approx(6, abs=0.1)
        lane.width = 9.99
        await enter(lane, 4)
        lane.succeeded()
        assert lane.width == 10

    run(scenario)


def test_places_nobody_uses_add_none() -> None:
    async def scenario() -> None:
        clock = Clock()
        lane = Lane(10, clock=clock)
        lane.throttled(clock.now)
        clock.now += COOL_DOWN
        await enter(lane, 4)
        lane.succeeded()
        assert lane.width == 5

    run(scenario)


def test_pause_holds_for_all_and_lets_them_in_in_their_order() -> None:
    async def scenario() -> None:
        lane, came = Lane(2), []

        async def call(number: int) -> None:
            async with lane:
                came.append(number)

        loop = asyncio.get_running_loop()
        lane.pause(0.05)
        lane.pause(0.02)  # a shorter one does not end a longer one
        started = loop.time()
        await asyncio.gather(*map(call, range(6)))
        assert came == list(range(6))
        assert loop.time() - started >= 0.049

    run(scenario)


def test_waiting_call_that_is_cancelled_takes_no_place() -> None:
    async def scenario() -> None:
        lane = Lane(1)
        await lane.__aenter__()
        waiting = [asyncio.ensure_future(lane.__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await lane.__aexit__()  # the place goes to the second, which is cancelled before it runs
        waiting[1].cancel()
        await waiting[2]
        assert [task.cancelled() for task in waiting] == [True, True, False]

    run(scenario)


def test_narrow_lane_lets_calls_end_before_it_lets_others_in() -> None:
    async def scenario() -> None:
        lane = Lane(4)
        await enter(lane, 4)
        lane.throttled(float("inf"))
        late = asyncio.ensure_future(lane.__aenter__())
        for left in (3, 2):
            await lane.__aexit__()
            await asyncio.sleep(0)
            assert not late.done(), left
        await lane.__aexit__()
        await late

    run(scenario)
