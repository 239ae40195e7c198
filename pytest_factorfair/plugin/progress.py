"""One line below pytest's own that shows the progress of the asking."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import excerpt
from pytest_factorfair.runs.progress import Meter

if TYPE_CHECKING:
    from pytest_factorfair.runs.execution import Execution

LIVE = 0.1
"""Seconds between two lines on a terminal, which redraws the line."""

SHORTEST, LONGEST, SHARE = 30.0, 300.0, 1 / 20
"""The pause between two lines elsewhere: its limits in seconds, and its share of the time since the start.

CI services stop a job that has written nothing for ten minutes.
"""


class Screen:
    """Draws the line: in place on a terminal; elsewhere as a new line, ever more rarely.

    It bypasses pytest's writer, so that this keeps its column, and erases the line before pytest writes
    again.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._writer = config.get_terminal_writer()
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._file = self._writer._file  # noqa: SLF001  # the writer has no public way past itself
        in_place = config.getoption("capture") != "no" and os.environ.get("TERM") != "dumb"
        self._live = self._file.isatty() and in_place
        self._start = self._last = time.monotonic()
        self.shown = False

    @property
    def due(self) -> bool:
        now = time.monotonic()
        pause = LIVE if self._live else min(max(SHORTEST, (now - self._start) * SHARE), LONGEST)
        return now - self._last >= pause

    def draw(self, text: str) -> None:
        self._last = time.monotonic()
        if self._live:
            column = self._writer.width_of_current_line + 1
            line = excerpt(text, self._writer.fullwidth - 1)
            self._write_raw(f"\n\x1b[2K{line}\x1b[1A\x1b[{column}G")
            self.shown = True
            return
        self.print(text)

    def print(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        if self._writer.width_of_current_line:
            self._writer.line()
        self._writer.line(text)
        self._writer.flush()

    def draw_uncaptured(self, text: str) -> None:
        """Draw during a test, whose own output stays captured."""
        if self._capture is None:
            self.draw(text)
        else:
            with self._capture.global_and_fixture_disabled():
                self.draw(text)

    def clear(self) -> None:
        if self.shown:
            self._write_raw("\x1b[0J")
            self.shown = False

    def _write_raw(self, text: str) -> None:
        with suppress(OSError):  # the terminal was closed: the run must still come to its reports
            self._file.write(text)
            self._file.flush()


class ProgressLine(Meter):
    """Draws from the main thread only; without a terminal reporter it only counts."""

    def __init__(self, execution: Execution) -> None:
        super().__init__(execution.run, execution.account, execution.responses, execution.submissions)
        self._screen: Screen | None = None
        self._quiet = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if session.config.pluginmanager.hasplugin("terminalreporter"):
            self._screen = Screen(session.config)
            self._quiet = session.config.option.verbose < 0

    def pytest_runtestloop(self) -> None:
        self.begin()

    def tick(self) -> None:
        if self._screen is not None and self._screen.due:
            self._screen.draw_uncaptured(str(self.progress()))

    def clear(self) -> None:
        if self._screen is not None:
            self._screen.clear()

    def announce(self, line: str) -> None:
        if self._screen is not None and not self._quiet:
            self._screen.print(line)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        """Erase the line while pytest writes, and draw it again."""
        shown = self._screen is not None and self._screen.shown
        self.clear()
        result = yield
        if self._screen is not None and (shown or self._screen.due):
            self._screen.draw(str(self.progress()))
        return result

    pytest_runtest_logreport = pytest_runtest_logfinish = pytest_runtest_logstart
