"""``--factorfair-plan`` and ``--factorfair-explain-cache``: lines are printed, and no item runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_factorfair.session.outlook import Outlook


class Showing:
    """Registered in place of the controller."""

    def __init__(self, config: pytest.Config, outlook: Outlook, title: str, lines: Iterable[str]) -> None:
        self._outlook = outlook
        self._title = title
        self._lines = lines
        # No worker may start: xdist reads these when it is configured, which is after us.
        config.option.dist, config.option.tx = "no", []

    def pytest_report_header(self) -> list[str]:
        return self._outlook.lines()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_sep("=", f"factorfair: {self._title}")
        for line in self._lines:
            terminalreporter.write_line(line)
