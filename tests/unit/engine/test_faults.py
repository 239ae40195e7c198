"""Providers with bugs, fatal errors, a broken store."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine import Retry
from pytest_factorfair.errors import FatalModelError, StoreError
from pytest_factorfair.store import Store, keys
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import FakeModel, queries, query

WAIT = 30


async def forever(_: Request) -> Response:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def wrong_key(_: Request) -> Response:
    raise FatalModelError("openai/gpt-4o: 401 Unauthorized: the key was refused")


def test_fatal_error_stops_everything_at_the_first_answer(make_engine: MakeEngine) -> None:
    engine = make_engine(connections=2, retry=Retry(grace=0.05))
    slow, bad = FakeModel(forever, endpoint="slow", identity={"model": "slow"}), FakeModel(wrong_key)
    waiting = [engine.submit(slow, queries(5)), engine.submit(bad, queries(10))]
    waiting.append(engine.submit(bad, queries(10, start=100)))
    for future in waiting:
        with pytest.raises(FatalModelError, match="401 Unauthorized"):
            future.result(WAIT)
    asked = len(bad.asked)
    assert asked <= 2
    with pytest.raises(FatalModelError, match="401 Unauthorized"):
        engine.submit(bad, queries(10, start=200)).result(WAIT)
    with pytest.raises(FatalModelError, match="401 Unauthorized"):
        engine.submit(slow, queries(1)).result(WAIT)
    assert len(bad.asked) == asked
    assert isinstance(engine.failure, FatalModelError)


def test_answers_that_came_before_a_fatal_error_are_kept(make_engine: MakeEngine, store: Store) -> None:
    async def revoked(request: Request) -> Response:
        if request.prompt == "prompt 3":
            raise FatalModelError("401")
        return Response("A")

    model = FakeModel(revoked)
    engine = make_engine(connections=1)
    with pytest.raises(FatalModelError):
        engine.submit(model, queries(10)).result(WAIT)
    engine.close()
    assert model.asked == [f"prompt {number}" for number in range(4)]
    assert set(store.responses(keys(model.identity, queries(10)))) == set(keys(model.identity, queries(3)))


def test_a_bug_in_a_provider_fails_only_its_query(make_engine: MakeEngine) -> None:
    nothing: Any = None
    odd: dict[str, Any] = {
        "prompt 0": KeyError("choices"),
        "prompt 1": SystemExit(3),
        "prompt 2": asyncio.CancelledError(),
        "prompt 3": nothing,
        "prompt 4": Response(text=nothing),
        "prompt 5": Response("A", tokens_in=b"12"),  # type: ignore[arg-type]  # a bug
        "prompt 6": ValueError("x" * 10_000 + "\n"),
        "prompt 7": KeyboardInterrupt("stop"),
        "prompt 8": GeneratorExit(),
    }

    async def buggy(request: Request) -> Response:
        outcome = odd.get(request.prompt, Response("A"))
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome  # type: ignore[no-any-return]  # a bug

    engine = make_engine()
    exchanges = engine.submit(FakeModel(buggy), queries(10)).result(WAIT)
    errors = [exchange.error for exchange in exchanges]
    assert errors[:6] == [
        "KeyError: 'choices'",
        "SystemExit: 3",
        "CancelledError: the model cancelled its own call",
        "TypeError: ask returned NoneType, not a Response with text",
        "TypeError: ask returned Response, not a Response with text",
        "TypeError: tokens_in of a response cannot be of type bytes",
    ]
    assert errors[6].startswith("ValueError: xxx")
    assert errors[6].endswith("...")
    assert len(errors[6]) == 300
    assert errors[7:9] == ["KeyboardInterrupt: stop", "GeneratorExit:"]
    assert exchanges[9].response == Response("A")
    assert engine.failure is None
    assert engine.submit(FakeModel(), [query(50)]).result(WAIT)[0].response is not None


def break_store(file: Path, script: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(script)


def test_response_that_cannot_be_written_ends_the_asking(make_engine: MakeEngine, file: Path) -> None:
    engine = make_engine(connections=1)
    engine.submit(FakeModel(), [query(0)]).result(WAIT)
    break_store(file, "create trigger full before insert on responses begin select raise(abort, 'full'); end")
    model = FakeModel()
    with pytest.raises(StoreError, match=r"responses\.sqlite: .* cannot be written: full"):
        engine.submit(model, queries(2000, start=1)).result(WAIT)
    assert isinstance(engine.failure, StoreError)
    asked = len(model.asked)
    with pytest.raises(StoreError, match="cannot be written: full"):
        engine.submit(model, [query(5000)]).result(WAIT)
    assert len(model.asked) == asked


def test_store_that_cannot_be_read_ends_the_asking(make_engine: MakeEngine, file: Path) -> None:
    engine = make_engine()
    break_store(file, "drop table responses")
    model = FakeModel()
    waiting = [engine.submit(model, queries(3)), engine.submit(model, queries(3))]
    for future in waiting:
        with pytest.raises(StoreError, match="cannot be read: no such table"):
            future.result(WAIT)
    assert model.asked == []
    assert isinstance(engine.failure, StoreError)


def test_store_closed_too_early_is_an_error_and_no_hang(make_engine: MakeEngine, store: Store) -> None:
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        make_engine().submit(FakeModel(), queries(3)).result(WAIT)
