"""One line below pytest's own that says how far the asking is."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import pytest

from pytest_factorfair.domain import Usage, excerpt, plural
from pytest_factorfair.errors import StoreError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pytest_factorfair.domain import Record
    from pytest_factorfair.engine import EndpointState
    from pytest_factorfair.session.run import Run

T = TypeVar("T")

TICK = 0.1
"""Seconds between looks at the line while something is awaited, and the longest a Ctrl-C waits."""

LONGEST = 40
"""Characters of a failure's cause."""

LIVE, PLAIN = 0.1, 30.0
"""Seconds between two lines: on a terminal, where the line is redrawn, and elsewhere, where it stays."""


class Screen:
    """Where the line is drawn: redrawn in place on a terminal, printed every 30 seconds elsewhere.

    Written past pytest's writer, which so keeps its idea of the column, and erased before pytest
    writes again.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._writer = config.get_terminal_writer()
        self._capture = config.pluginmanager.get_plugin("capturemanager")
        self._file = self._writer._file  # noqa: SLF001  # the writer has no public way past itself
        in_place = config.getoption("capture") != "no" and os.environ.get("TERM") != "dumb"
        self._live = self._file.isatty() and in_place
        self._every = LIVE if self._live else PLAIN
        self._last = time.monotonic()
        self.shown = False

    @property
    def due(self) -> bool:
        return time.monotonic() - self._last >= self._every

    def draw(self, text: str) -> None:
        self._last = time.monotonic()
        if self._live:
            column = self._writer.width_of_current_line + 1
            self._raw(f"\n\x1b[2K{text[: self._writer.fullwidth - 1]}\x1b[1A\x1b[{column}G")
            self.shown = True
            return
        if self._writer.width_of_current_line:
            self._writer.line()
        self._writer.line(text)
        self._writer.flush()

    def draw_uncaptured(self, text: str) -> None:
        """Draw from inside a test, whose own output stays captured."""
        if self._capture is None:
            self.draw(text)
        else:
            with self._capture.global_and_fixture_disabled():
                self.draw(text)

    def clear(self) -> None:
        if self.shown:
            self._raw("\x1b[0J")
            self.shown = False

    def _raw(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


class Progress:
    """Counts answers and draws from the main thread only; without a terminal reporter it only counts."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._screen: Screen | None = None
        self._total = sum(assignment.case.samples for assignment in run.assignments)
        self._began = time.monotonic()
        self._answers = self._refused = 0
        self._unaccounted = Usage()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        if session.config.pluginmanager.hasplugin("terminalreporter"):
            self._screen = Screen(session.config)

    def pytest_runtestloop(self) -> None:
        self._began = time.monotonic()

    def expect(self, total: int) -> None:
        """Count up to this many answers: those of the cases that were selected."""
        self._total = total

    def count(self, record: Record | None, unaccounted: Usage) -> None:
        """Add what one item found in the store or asked on no account, and the answers it recorded."""
        self._unaccounted += unaccounted
        if record is not None:
            self._answers += len(record.answers)
            self._refused += sum(answer.outcome == "refused" for answer in record.answers)

    def text(self) -> str:
        """The line: answers, what holds them up, their rate, refusals, cost, time left."""
        had, cached = self._had()
        seconds = time.monotonic() - self._began
        rate = had / seconds if seconds > 0 else 0.0
        cost = (self._run.usage + self._unaccounted).cost
        parts = [f"factorfair: {had:,} of {plural(self._total, 'answer')}"]
        parts += trouble(self._endpoints())  # first: a terminal of 80 columns cuts the end off
        parts.append(f"{rate:,.0f}/s")
        if had:
            parts.append(f"{cached / had:.0%} from the store")
        parts.append(f"{self._refused:,} refused")
        parts.append("cost unknown" if cost is None else f"${cost:,.2f}")
        if rate > 0:
            parts.append(f"{_clock(max(self._total - had, 0) / rate)} left")
        return " · ".join(parts)

    def _had(self) -> tuple[int, int]:
        """Answers, and those of them from the store: recorded ones, or what this process has beyond them."""
        if not self._run.asking:
            return self._answers, self._unaccounted.cached
        seen = self._run.engine.snapshot()
        return max(seen.done, self._answers), max(seen.cached, self._unaccounted.cached)

    def _endpoints(self) -> tuple[EndpointState, ...]:
        try:
            return self._run.endpoints
        except StoreError:  # the run's file is gone: what asks says so
            return ()

    def tick(self) -> None:
        """Draw, if it is time to, from inside a waiting test."""
        if self._screen is not None and self._screen.due:
            self._screen.draw_uncaptured(self.text())

    def wait(self, future: Future[T]) -> T:
        """What a future gives or raises; meanwhile the line is drawn."""
        while not future.done():
            try:
                future.result(TICK)
            except TimeoutError:
                self.tick()
        return future.result()

    def clear(self) -> None:
        if self._screen is not None:
            self._screen.clear()

    def _around(self) -> Generator[None, object, object]:
        shown = self._screen is not None and self._screen.shown
        self.clear()
        result = yield
        if self._screen is not None and (shown or self._screen.due):
            self._screen.draw(self.text())
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


def trouble(endpoints: Sequence[EndpointState]) -> Iterator[str]:
    """What a user who sees the run slow down must know: 429 replies, when it goes on, what fails."""
    if throttled := sum(one.throttled for one in endpoints):
        yield f"{throttled:,} throttled (429)"
    closed = max(endpoints, key=lambda one: one.opens_in, default=None)
    if closed is not None and closed.opens_in > 0:
        yield f"next try in {math.ceil(closed.opens_in)} s"
        if closed.failing and not closed.throttled:
            yield f"{closed.failing:,} failing: {excerpt(closed.cause, LONGEST)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
