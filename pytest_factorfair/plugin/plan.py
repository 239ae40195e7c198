"""``--factorfair-plan``: print what a run would ask, and run no item."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.plugin.collection import assignments_of, narrowed
from pytest_factorfair.runs.conclusion import files
from pytest_factorfair.runs.planning import lock, preflight, sizes
from pytest_factorfair.runs.planning.plan import Plan

if TYPE_CHECKING:
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.run import Run


def show(config: pytest.Config, execution: Execution) -> None:
    """Register the plugin that only prints a plan."""
    run, resolved = execution.run, execution.run.settings
    files(run, datetime.now(UTC))
    preflight.check_report(resolved, make=False)
    sizes.check(run)  # here: a wrong gate is an error of usage
    plan = Plan(execution.outlook, execution.store)
    if resolved.locked is not None:
        lock.check(run, resolved.locked)
    if resolved.lock is not None:
        plan.written = lock.write(run, resolved.lock)
    showing = PlanPrinter(config, run, execution.header(sized=not narrowed(config)), plan)
    config.pluginmanager.register(showing, "factorfair-showing")


class PlanPrinter:
    """Registered instead of the controller: prints a plan, and no item runs."""

    def __init__(self, config: pytest.Config, run: Run, header: list[str], plan: Plan) -> None:
        self._run = run
        self._header = header
        self._plan = plan
        # No worker may start: xdist reads these when it is configured, which is after us.
        config.option.dist, config.option.tx = "no", []

    def pytest_report_header(self) -> list[str]:
        return self._header

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Plan what is left if -k, -m, a path or another plugin leave cases out."""
        run = self._run
        selected = run.only(assignments_of((item.nodeid for item in session.items), run)).to_ask
        if len(selected) != len(run.to_ask):
            self._plan.select(selected)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_sep("=", "factorfair: plan")
        for line in self._plan.lines():
            terminalreporter.write_line(line)
