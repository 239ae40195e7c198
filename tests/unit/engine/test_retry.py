from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from pytest_factorfair.engine import Retry
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError, RetryableModelError


@dataclass
class Clock:
    """Sleeps by writing down how long."""

    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def run(retry: Retry, failures: Sequence[ModelError]) -> str:
    """Fail as told, attempt by attempt, then succeed."""
    rest = iter(failures)

    async def attempt() -> str:
        for failure in rest:
            raise failure
        return "done"

    return asyncio.run(retry.call(attempt))


def passing(count: int, retry_after: float | None = None) -> list[ModelError]:
    return [RetryableModelError("429 Too Many Requests", retry_after) for _ in range(count)]


def test_success_needs_no_pause() -> None:
    clock = Clock()
    assert run(Retry(sleep=clock.sleep), []) == "done"
    assert clock.slept == []


def test_pauses_double() -> None:
    clock = Clock()
    assert run(Retry(sleep=clock.sleep, draw=lambda: 1.0), passing(5)) == "done"
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_jitter_is_full_and_the_pause_capped() -> None:
    draws = iter([0.0, 0.5, 0.25])
    clock = Clock()
    retry = Retry(base=4.0, cap=6.0, sleep=clock.sleep, draw=lambda: next(draws))
    assert run(retry, passing(3)) == "done"
    assert clock.slept == [0.0, 3.0, 1.5]  # of 4, of 6 (8 capped), of 6 (16 capped)


def test_never_earlier_than_the_provider_asked() -> None:
    clock = Clock()
    assert run(Retry(sleep=clock.sleep, draw=lambda: 0.0), passing(2, retry_after=7.5)) == "done"
    assert clock.slept == [7.5, 7.5]


def test_attempts_run_out() -> None:
    clock = Clock()
    with pytest.raises(RejectedRequestError, match=r"^429 Too Many Requests \(given up after 6 attempts\)$"):
        run(Retry(sleep=clock.sleep), passing(6))
    assert len(clock.slept) == 5


def test_patience_runs_out() -> None:
    clock = Clock()
    told = r"\(given up after 3 attempts, told to wait 60 s\)$"
    with pytest.raises(RejectedRequestError, match=told):
        run(Retry(patience=150.0, sleep=clock.sleep, draw=lambda: 0.0), passing(5, retry_after=60.0))
    assert clock.slept == [60.0, 60.0]


@pytest.mark.parametrize("kind", [FatalModelError, RejectedRequestError])
def test_other_errors_are_not_tried_again(kind: type[ModelError]) -> None:
    clock = Clock()
    with pytest.raises(kind, match=r"^no$"):
        run(Retry(sleep=clock.sleep), [kind("no")])
    assert clock.slept == []


def throttled(count: int) -> list[ModelError]:
    return [RetryableModelError("429 Too Many Requests", throttled=True) for _ in range(count)]


def test_being_throttled_uses_up_no_attempt() -> None:
    clock = Clock()
    assert run(Retry(sleep=clock.sleep, draw=lambda: 0.5), [*throttled(9), *passing(5)]) == "done"
    assert len(clock.slept) == 14


def test_being_throttled_uses_up_patience() -> None:
    clock = Clock()
    with pytest.raises(RejectedRequestError, match=r"given up after"):
        run(Retry(sleep=clock.sleep, draw=lambda: 1.0, cap=30.0, patience=100.0), throttled(99))
    assert 70.0 <= sum(clock.slept) <= 100.0


def test_longer_wait_than_patience_ends_the_run() -> None:
    clock = Clock()
    with pytest.raises(FatalModelError, match=r"given up after 1 attempt, told to wait 3600 s"):
        run(Retry(sleep=clock.sleep), passing(1, retry_after=3600.0))
    assert clock.slept == []
