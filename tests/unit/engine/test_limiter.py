from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pytest_factorfair.engine import Retry
from pytest_factorfair.engine.endpoint import COOL_DOWN, Limiter
from tests.unit.engine.fakes import Clock

WAIT = 30


def limiter(limit: int, clock: Clock | None = None) -> Limiter:
    clock = clock or Clock()
    return Limiter(limit, Retry(clock=clock, sleep=clock.sleep))


async def enter(slots: Limiter, times: int) -> None:
    for _ in range(times):
        await slots.__aenter__()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), WAIT)

    asyncio.run(bounded())


def test_all_calls_in_flight_cause_one_decrease() -> None:
    clock = Clock()
    slots = limiter(64, clock)
    began = clock.now
    clock.now += 1
    for _ in range(20):
        slots.throttled(began)
    assert slots.width == 32
    slots.throttled(clock.now)  # a call begun since: another episode
    assert slots.width == 16


def test_one_slot_always_remains() -> None:
    clock = Clock()
    slots = limiter(3, clock)
    for _ in range(5):
        clock.now += 1
        slots.throttled(clock.now)
    assert slots.width == 1


def test_a_round_of_answers_adds_one_slot_up_to_the_limit() -> None:
    async def scenario() -> None:
        clock = Clock()
        slots = limiter(10, clock)
        slots.throttled(clock.now)
        await enter(slots, 5)
        slots.succeeded()
        assert slots.width == 5  # too early
        clock.now += COOL_DOWN
        for _ in range(5):
            slots.succeeded()
        assert slots.width == pytest.approx(6, abs=0.1)
        slots.width = 9.99
        await enter(slots, 4)
        slots.succeeded()
        assert slots.width == 10

    run(scenario)


def test_unused_slots_add_no_slot() -> None:
    async def scenario() -> None:
        clock = Clock()
        slots = limiter(10, clock)
        slots.throttled(clock.now)
        clock.now += COOL_DOWN
        await enter(slots, 4)
        slots.succeeded()
        assert slots.width == 5

    run(scenario)


def test_a_cancelled_waiting_call_takes_no_slot() -> None:
    async def scenario() -> None:
        slots = limiter(1)
        await slots.__aenter__()
        waiting = [asyncio.ensure_future(slots.__aenter__()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await slots.__aexit__()  # the place goes to the second, which is cancelled before it runs
        waiting[1].cancel()
        await waiting[2]
        assert [task.cancelled() for task in waiting] == [True, True, False]

    run(scenario)


def test_narrow_slots_lets_calls_end_before_it_lets_others_in() -> None:
    async def scenario() -> None:
        slots = limiter(4)
        await enter(slots, 4)
        slots.throttled(float("inf"))
        late = asyncio.ensure_future(slots.__aenter__())
        for remaining in (3, 2):
            await slots.__aexit__()
            await asyncio.sleep(0)
            assert not late.done(), remaining
        await slots.__aexit__()
        await late

    run(scenario)
