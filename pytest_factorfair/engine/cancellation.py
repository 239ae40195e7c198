"""SIGTERM and SIGHUP end a run as Ctrl-C does: schedulers, containers and closed terminals send them."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

CANCELLING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

AGAIN = 0.05
"""Seconds after which a signal that arrived during an import is sent again."""


class Cancellation:
    """A context in which SIGTERM and SIGHUP raise KeyboardInterrupt, with the name of the signal.

    A handler of the host is called first, and ignored signals stay ignored. After the first signal, and once
    the run ``is_over``, both are ignored: a terminal that closes sends several, and the reports must still
    be written. Leaving the context restores the former handlers. Outside the main thread it does nothing.
    """

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over
        self._cancelled = False
        self._former: dict[int, Any] = {}
        self._imports = 0  # under way when the context was entered

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._imports = _imports(sys._getframe())  # noqa: SLF001  # inspect.currentframe, without inspect
        for number in (signal.SIGINT, *CANCELLING):
            former = signal.getsignal(number)
            if number == signal.SIGINT and former is not signal.default_int_handler:
                continue
            if former not in (None, signal.SIG_IGN):  # None: it was not installed from Python
                self._former[number] = former
                signal.signal(number, self._handle)

    def __exit__(self, *_: object) -> None:
        for number, former in self._former.items():
            if signal.getsignal(number) == self._handle:  # otherwise the host has replaced it
                signal.signal(number, former)
        self._former.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # Half of NumPy, for example, cannot be imported again; and pytest cannot show a frame without a line.
        if _imports(frame) > self._imports or (frame is not None and frame.f_lineno is None):
            # To the main thread: raise_signal in the timer's thread would not wake it from a wait.
            main = threading.main_thread().ident
            timer = threading.Timer(AGAIN, signal.pthread_kill, [main, number])
            timer.daemon = True
            timer.start()
            return
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        ignored = self._cancelled or self._is_over()
        self._cancelled = True
        if callable(former := self._former[number]):
            former(number, frame)
        if not ignored:
            raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")


def _imports(frame: FrameType | None) -> int:
    """The number of imports on the stack of a frame."""
    count = 0
    while frame is not None:
        count += frame.f_globals.get("__name__") == "importlib._bootstrap"
        frame = frame.f_back
    return count
