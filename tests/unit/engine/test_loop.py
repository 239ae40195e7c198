from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from pytest_factorfair.engine.loop import LoopThread

WAIT = 30


async def here() -> str:
    return threading.current_thread().name


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_thread_starts_at_first_use_and_ends_on_close() -> None:
    loop = LoopThread()
    assert not loop.running
    assert "factorfair-loop" not in names()
    assert loop.submit(here()).result(WAIT) == "factorfair-loop"
    assert loop.running
    loop.close(WAIT)
    loop.close(WAIT)
    assert not loop.running
    assert "factorfair-loop" not in names()


def test_errors_reach_the_caller() -> None:
    async def fail() -> None:
        raise KeyError("x")

    loop = LoopThread()
    with pytest.raises(KeyError):
        loop.submit(fail()).result(WAIT)
    loop.close(WAIT)


def test_what_is_still_running_is_cancelled() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    loop = LoopThread()
    future = loop.submit(forever())
    loop.close(WAIT)
    with pytest.raises(CancelledError):
        future.result(WAIT)


def test_closed_loop_runs_nothing() -> None:
    loop = LoopThread()
    loop.close(WAIT)
    with pytest.raises(CancelledError):
        loop.submit(here()).result(WAIT)


@pytest.mark.parametrize("installed", [True, False])
def test_loop_is_uvloop_where_there_is_one(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001  # a parameter
    async def module() -> str:
        return type(asyncio.get_running_loop()).__module__

    if installed:
        pytest.importorskip("uvloop", reason="uvloop is not installed")
    else:
        monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = LoopThread()
    assert loop.submit(module()).result(WAIT).partition(".")[0] == ("uvloop" if installed else "asyncio")
    loop.close(WAIT)
