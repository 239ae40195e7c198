"""Stopping, closing, and being killed."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import subprocess
import threading
from concurrent.futures import CancelledError, Future
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine import Engine, Retry
from pytest_factorfair.errors import FatalModelError
from pytest_factorfair.store import Store, Write, keys
from tests import forkserver
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import FakeModel, queries, query

WAIT = 30
IMPATIENT = Retry(
    grace=1.0
)  # also the time that a busy machine's loop has to reply before it counts as blocked

KILLED = """
import os, sys
from pytest_factorfair.engine import Engine
from pytest_factorfair.store import Store
from tests.unit.engine.fakes import FakeModel, queries
engine = Engine(Store.open(sys.argv[1]), connections=8)
for start in range(0, 10**9, 24):
    engine.submit(FakeModel(), queries(24, start=start)).result()
    os.write(1, b"%d\\n" % start)
"""


def test_close_keeps_what_arrived_and_asks_no_more(make_engine: MakeEngine, store: Store) -> None:
    fourth = threading.Event()

    async def three(request: Request) -> Response:
        if request.prompt == "prompt 3":
            fourth.set()
            await asyncio.Event().wait()
        return Response("A")

    model = FakeModel(three)
    engine = make_engine(connections=1, retry=IMPATIENT)
    running = [engine.submit(model, queries(10)), engine.submit(model, queries(10, start=100))]
    assert fourth.wait(WAIT)
    engine.close()
    later = engine.submit(model, queries(3, start=200))
    for future in (*running, later):
        with pytest.raises(CancelledError):
            future.result(WAIT)
    assert model.asked == [f"prompt {number}" for number in range(4)]
    assert set(store.responses(keys(model.identity, queries(10)))) == set(keys(model.identity, queries(3)))
    assert engine.failure is None


def test_response_waiting_for_its_commit_survives_a_close(
    make_engine: MakeEngine, store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the write lock when the engine is closed."""
    asked, locked, answered = threading.Event(), threading.Event(), threading.Event()
    store_put = store.put

    async def answer(request: Request) -> Response:
        if request.prompt == "prompt 1":
            asked.set()
            await asyncio.Event().wait()
        await asyncio.to_thread(locked.wait)
        return Response("A")

    def arrived(*writes: Write) -> Future[None]:
        answered.set()
        return store_put(*writes)

    monkeypatch.setattr(store, "put", arrived)
    model = FakeModel(answer)
    engine = make_engine(connections=2, retry=IMPATIENT)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        future = engine.submit(model, queries(2))
        assert asked.wait(WAIT)
        connection.execute("begin immediate")
        locked.set()
        assert answered.wait(WAIT)
        ending = threading.Thread(target=engine.close)
        ending.start()
        connection.execute("rollback")
    ending.join(WAIT)
    with pytest.raises(CancelledError):
        future.result(WAIT)
    assert set(store.responses(keys(model.identity, queries(2)))) == set(keys(model.identity, queries(1)))


def test_close_closes_the_models_that_were_asked_inside_the_loop(make_engine: MakeEngine) -> None:
    asked, idle = FakeModel(), FakeModel(identity={"model": "idle"})
    engine = make_engine()
    engine.submit(asked, queries(2)).result(WAIT)
    engine.submit(idle, []).result(WAIT)
    engine.close()
    engine.close()
    assert asked.closed_in == list(asked.asked_in)
    assert idle.closed_in == []


def test_a_model_that_fails_to_close_does_not_affect_others(make_engine: MakeEngine) -> None:
    class Stuck(FakeModel):
        async def close(self) -> None:
            await super().close()
            raise OSError("already gone")

    stuck, healthy = Stuck(identity={"model": "stuck"}), FakeModel()
    engine = make_engine()
    for model in (stuck, healthy):
        engine.submit(model, [query(0)]).result(WAIT)
    engine.close()
    assert len(stuck.closed_in) == len(healthy.closed_in) == 1


def test_close_while_much_is_under_way_is_quiet(store: Store) -> None:
    async def forever(_: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    engine = Engine(store, connections=3)
    futures = [engine.submit(FakeModel(forever), queries(20, start=start)) for start in range(0, 100, 10)]
    engine.close()
    assert all(future.cancelled() for future in futures)
    with pytest.raises(CancelledError):
        engine.submit(FakeModel(), queries(3)).result(WAIT)
    del engine, futures
    gc.collect()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("factorfair-loop")]


def test_unused_engine_starts_no_thread(store: Store) -> None:
    engine = Engine(store)
    engine.close()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("factorfair-")]


def test_close_does_not_wait_for_a_provider_that_will_not_let_go(make_engine: MakeEngine) -> None:
    asked, released = threading.Event(), threading.Event()

    async def deaf(_: Request) -> Response:
        asked.set()
        while not released.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return Response("A")

    engine = make_engine()
    engine.submit(FakeModel(deaf), [query(0)])
    assert asked.wait(WAIT)
    engine.close(grace=0.05)
    alive = [thread for thread in threading.enumerate() if thread.name == "factorfair-loop"]
    released.set()
    for thread in alive:
        thread.join(WAIT)
    assert len(alive) == 1


def test_run_after_a_kill_asks_only_what_is_missing(
    make_engine: MakeEngine, store: Store, file: Path
) -> None:
    process = subprocess.Popen(
        [forkserver.python(), "-c", KILLED, f"sqlite:///{file}"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    with process.stdout as output:
        seen = [output.readline() for _ in range(20)]
        process.kill()
        seen += output.readlines()
    assert process.wait() == -9
    finished = sum(line.endswith(b"\n") for line in seen)
    assert finished >= 20

    model, planned = FakeModel(), queries(24 * (finished + 5))
    stored = store.count(keys(model.identity, planned))
    assert stored >= 24 * finished
    exchanges = make_engine().submit(model, planned).result(WAIT)
    assert [exchange.query for exchange in exchanges] == list(planned)
    assert all(exchange.response is not None for exchange in exchanges)
    assert len(model.asked) == len(planned) - stored
    assert not {f"prompt {number}" for number in range(24 * finished)} & set(model.asked)


def test_keys_that_are_not_asked_are_released(make_engine: MakeEngine, file: Path) -> None:
    """The process lives on, and another one waits for its keys."""
    asked = threading.Event()

    async def never(_: Request) -> Response:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    earlier = make_engine(connections=1, retry=IMPATIENT)
    earlier.submit(FakeModel(never), queries(3))
    assert asked.wait(WAIT)
    with Store.open(f"sqlite:///{file}") as store:
        later, model = Engine(store), FakeModel()
        future = later.submit(model, queries(3))
        earlier.close()
        assert [exchange.cached for exchange in future.result(WAIT)] == [False] * 3
        later.close()


def test_answers_of_another_process_are_waited_for(make_engine: MakeEngine, file: Path) -> None:
    asked, go = threading.Event(), threading.Event()

    async def slow(_: Request) -> Response:
        asked.set()
        await asyncio.to_thread(go.wait)
        return Response("A")

    earlier = make_engine().submit(FakeModel(slow), queries(3))
    assert asked.wait(WAIT)
    with Store.open(f"sqlite:///{file}") as store:
        later, model = Engine(store), FakeModel()
        future = later.submit(model, queries(4))
        while model.asked != ["prompt 3"]:
            asyncio.run(asyncio.sleep(0.01))
        go.set()
        assert [exchange.cached for exchange in future.result(WAIT)] == [True] * 3 + [False]
        later.close()
    assert [exchange.cached for exchange in earlier.result(WAIT)] == [False] * 3


@pytest.mark.parametrize(("whole", "asked"), [((), 3), ((0,), 12), ((7,), 3)])
def test_a_model_whose_first_answers_are_all_cut_off_is_asked_no_more(
    make_engine: MakeEngine, whole: tuple[int, ...], asked: int
) -> None:
    async def reply(request: Request) -> Response:
        is_whole = request.prompt in [f"prompt {number}" for number in whole]
        return Response("A") if is_whole else Response("", "length")

    model = FakeModel(reply, identity={"model": "f", "parameters": {"max_tokens": 64}})
    engine = make_engine(connections=1)
    running = engine.submit(model, queries(12))
    if asked == 3:
        line = "f: the first 3 answers were cut off by max_tokens of 64, which hidden reasoning may use up; *"
        with pytest.raises(FatalModelError) as caught:
            running.result(WAIT)
        assert fnmatch(str(caught.value), line)
    else:
        running.result(WAIT)
    engine.close()
    assert len(model.asked) == asked
    # The next run pays for none of them again, and asks nothing if it stopped.
    again = make_engine(connections=1)
    repeated = again.submit(model, queries(12))
    assert (repeated.exception(WAIT) is None) == (asked == 12)
    assert len(model.asked) == asked
