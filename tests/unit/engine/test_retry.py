from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_factorfair.domain import Exchange, Request, Response
from pytest_factorfair.engine import Engine, Retry
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.store import Store
from tests.unit.engine.fakes import Clock, FakeModel, query

WAIT = 30


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run(store: Store, clock: Clock) -> Run:
    return Run(store, clock)


class Run:
    """One query to a model that fails as it was told to, attempt by attempt, and then answers."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def __call__(self, failures: Sequence[ModelError], **policy: object) -> Exchange:
        remaining = iter(failures)

        async def reply(_: Request) -> Response:
            for failure in remaining:
                raise failure
            return Response("done")

        retry = Retry(sleep=self._clock.sleep, clock=self._clock, **policy)  # type: ignore[arg-type]
        engine = Engine(self._store, retry=retry)
        try:
            (exchange,) = engine.submit(FakeModel(reply), [query(0)]).result(WAIT)
        finally:
            engine.close()
        return exchange


def passing(count: int, retry_after: float | None = None) -> list[ModelError]:
    return [RetryableModelError("429 Too Many Requests", retry_after) for _ in range(count)]


def throttled(count: int) -> list[ModelError]:
    return [RetryableModelError("429 Too Many Requests", throttled=True) for _ in range(count)]


def test_success_needs_no_pause(run: Run, clock: Clock) -> None:
    assert run([]).response == Response("done")
    assert clock.slept == []


def test_pauses_double(run: Run, clock: Clock) -> None:
    assert run(passing(5), draw=lambda: 1.0).response == Response("done")
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_jitter_is_full_and_the_pause_capped(run: Run, clock: Clock) -> None:
    draws = iter([0.0, 0.5, 0.25])
    assert run(passing(3), base=4.0, cap=6.0, draw=lambda: next(draws)).response == Response("done")
    assert clock.slept == [3.0, 1.5]  # 0 of 4, half of 6 (8 capped), a quarter of 6 (16 capped)


def test_a_call_is_never_repeated_earlier_than_the_provider_asked(run: Run, clock: Clock) -> None:
    assert run(passing(2, retry_after=7.5), draw=lambda: 0.0).response == Response("done")
    assert clock.slept == [7.5, 7.5]


def test_attempts_run_out(run: Run, clock: Clock) -> None:
    assert run(passing(6)).error == "429 Too Many Requests (given up after 6 attempts)"
    assert len(clock.slept) == 5


def test_patience_runs_out(run: Run, clock: Clock) -> None:
    exchange = run(passing(5, retry_after=60.0), patience=150.0, draw=lambda: 0.0)
    assert exchange.error == "429 Too Many Requests (given up after 3 attempts, told to wait 60 s)"
    assert clock.slept == [60.0, 60.0]


def test_a_rejection_is_not_tried_again(run: Run, clock: Clock) -> None:
    assert run([RejectedRequestError("no")]).error == "no"
    assert clock.slept == []


def test_a_fatal_error_is_not_tried_again(run: Run, clock: Clock) -> None:
    with pytest.raises(FatalModelError, match=r"^no$"):
        run([FatalModelError("no")])
    assert clock.slept == []


def test_being_throttled_uses_up_no_attempt(run: Run, clock: Clock) -> None:
    assert run([*throttled(9), *passing(5)], draw=lambda: 0.5).response == Response("done")
    assert len(clock.slept) == 14


def test_being_throttled_uses_up_patience(run: Run, clock: Clock) -> None:
    assert "given up after" in run(throttled(99), draw=lambda: 1.0, cap=30.0, patience=100.0).error
    assert 70.0 <= sum(clock.slept) <= 100.0


def test_a_longer_wait_than_patience_ends_the_run(run: Run, clock: Clock) -> None:
    message = r"^429 Too Many Requests \(told to wait 3600 s\)"
    with pytest.raises(FatalModelError, match=message):
        run(passing(1, retry_after=3600.0))
    assert clock.slept == []
