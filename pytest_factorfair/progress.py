"""One line below pytest's own that says how far the asking is."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_factorfair.run import Run

LIVE, PLAIN = 0.1, 30.0
"""Seconds between two lines: on a terminal, where the line is redrawn, and elsewhere, where it stays."""


class Progress:
    """Draws from the main thread only, and erases before pytest writes.

    On a terminal the line is redrawn in place; elsewhere a plain line is printed every 30 seconds.
    """

    def __init__(self, config: pytest.Config, run: Run) -> None:
        self._writer = config.get_terminal_writer()
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._file = self._writer._file  # noqa: SLF001  # writes past the writer keep its idea of the column
        self._live = (
            self._file.isatty()
            and config.getoption("capture") != "no"
            and os.environ.get("TERM") != "dumb"
        )
        self._every = LIVE if self._live else PLAIN
        self._run = run
        self._total = sum(assignment.case.samples for assignment in run.assignments)
        self._began = self._last = time.monotonic()
        self._shown = False
        self._asked = self._cached = self._refused = 0
        self._cost: float | None = 0.0

    def expect(self, total: int) -> None:
        """Count up to this many answers: those of the cases that were selected."""
        self._total = total

    def count(self, *, asked: int, cached: int, refused: int, cost: float | None) -> None:
        """Add one case's answers."""
        self._asked += asked
        self._cached += cached
        self._refused += refused
        self._cost = None if self._cost is None or cost is None else self._cost + cost

    def text(self) -> str:
        """The line: asked of total, rate, share from the store, refusals, cost, time left."""
        asked, cached = self._asked + self._ahead()[0], self._cached + self._ahead()[1]
        seconds = time.monotonic() - self._began
        rate = asked / seconds if seconds > 0 else 0.0
        parts = [f"factorfair: {asked:,} of {self._total:,} answers", f"{rate:,.0f}/s"]
        if asked:
            parts.append(f"{cached / asked:.0%} from the store")
        parts.append(f"{self._refused:,} refused")
        parts.append("cost unknown" if self._cost is None else f"${self._cost:,.2f}")
        if rate > 0:
            parts.append(f"{_clock(max(self._total - asked, 0) / rate)} left")
        return " · ".join(parts)

    def _ahead(self) -> tuple[int, int]:
        """Answers, and those from the store, that this process has beyond the recorded cases."""
        if not self._run.asking:
            return 0, 0
        seen = self._run.engine.snapshot()
        return max(seen.done - self._asked, 0), max(seen.cached - self._cached, 0)

    def tick(self) -> None:
        """Draw from inside a waiting test, whose own output stays captured."""
        if time.monotonic() - self._last < self._every:
            return
        if self._capture is None:
            self._draw()
        else:
            with self._capture.global_and_fixture_disabled():
                self._draw()

    def clear(self) -> None:
        if self._shown:
            self._raw("\x1b[0J")
            self._shown = False

    def _raw(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()

    def _draw(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._last < self._every:
            return
        self._last = now
        if self._live:
            column = self._writer.width_of_current_line + 1
            line = self.text()[: self._writer.fullwidth - 1]
            self._raw(f"\n\x1b[2K{line}\x1b[1A\x1b[{column}G")
            self._shown = True
            return
        if self._writer.width_of_current_line:
            self._writer.line()
        self._writer.line(self.text())
        self._writer.flush()

    def _around(self) -> Generator[None, object, object]:
        shown = self._shown
        self.clear()
        result = yield
        self._draw(force=shown)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        return (yield from self._around())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, object, object]:
        return (yield from self._around())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        return (yield from self._around())


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
