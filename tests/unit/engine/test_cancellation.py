from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.engine import Cancellation


@pytest.fixture(autouse=True)
def default_handlers() -> Iterator[None]:
    """Under nohup the process inherits SIGHUP as ignored, in the background of a shell SIGINT."""
    handlers: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    inherited = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in inherited.items():
        signal.signal(number, handler)


def test_an_import_is_finished_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module such as NumPy that is half imported can be neither used nor imported again."""
    (tmp_path / "heavy_library.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGTERM)\nLOADED = True\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with Cancellation(lambda: False):
        heavy = import_module("heavy_library")
        with pytest.raises(KeyboardInterrupt, match=r"^ended by SIGTERM$"):
            time.sleep(60)
    assert heavy.LOADED


def test_an_instruction_without_a_line_is_finished_first() -> None:
    """Pytest ends with an INTERNALERROR if a traceback ends in one, as at the start of some functions."""

    def cancel() -> None:
        signal.raise_signal(signal.SIGTERM)

    cancel.__code__ = cancel.__code__.replace(co_linetable=b"")
    with Cancellation(lambda: False):
        cancel()
        with pytest.raises(KeyboardInterrupt, match=r"^ended by SIGTERM$"):
            time.sleep(60)


def test_a_run_that_is_over_is_not_cancelled() -> None:
    with Cancellation(lambda: True):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_further_signals_are_ignored_but_ctrl_c() -> None:
    with Cancellation(lambda: False):
        with pytest.raises(KeyboardInterrupt, match=r"^ended by SIGHUP$"):
            signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_signal_that_the_process_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Cancellation(lambda: False):
        signal.raise_signal(signal.SIGHUP)
        with pytest.raises(KeyboardInterrupt, match=r"^ended by SIGTERM$"):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
