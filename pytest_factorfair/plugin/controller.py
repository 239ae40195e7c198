"""The controlling process: records from reports, and once all items are done, the published verdicts."""

from __future__ import annotations

import traceback
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.plugin.collection import SHIPPED, assignments_of, dry, left_out, narrowed
from pytest_factorfair.plugin.keys import detach
from pytest_factorfair.redaction import redacted
from pytest_factorfair.runs.planning.outlook import Outlook

if TYPE_CHECKING:
    from pytest_factorfair.plugin.digest import Digest
    from pytest_factorfair.runs.conclusion import Result
    from pytest_factorfair.runs.driver import Driver
    from pytest_factorfair.runs.run import Assignment

SEE_ABOVE = "the run ended early, as said above"

SUBMITTED = 75
"""The exit code of a run whose answers are in batches that are not done: EX_TEMPFAIL of ``sysexits.h``."""


class Controller:
    """Registered in the process that owns the terminal: the only one, or the workers' controller.

    Raises:
        InputError: a gate or baseline does not fit this run, reports cannot be written, or there is nothing
            to replay.
    """

    def __init__(self, config: pytest.Config, driver: Driver, digest: Digest) -> None:
        self._config = config
        self._driver = driver
        self._digest = digest
        self._execution = driver.execution
        self._settings = driver.execution.run.settings
        self._session: pytest.Session | None = None
        self._result: Result | None = None
        self._shown = False
        self._selected: list[Assignment] = []
        self._collected = 0
        self._alarms: dict[str, None] = {}
        self._overruled = self._refused = False
        self._dry = dry(config)
        driver.check()
        if not self._dry:
            driver.begin()

    def pytest_report_header(self) -> list[str]:
        try:
            sized = not narrowed(self._config)
            if self._dry:
                return Outlook.of(self._execution.run, None).lines(sized=sized)
            return self._execution.header(sized=sized)
        except (InputError, StoreError) as error:
            raise pytest.UsageError(redacted(str(error))) from None

    def pytest_report_collectionfinish(self) -> list[str]:
        """The size of a run that asks some of its cases; pytest calls this unless workers collect."""
        return self.size()

    def size(self) -> list[str]:
        """The size of a run that asks some of its cases, known once they are collected; else nothing."""
        run = self._execution.run
        selected_run = run.only(self._selected)
        in_header = not narrowed(self._config) and len(selected_run.to_ask) in (0, len(run.to_ask))
        if in_header or self._dry or self._config.option.verbose < 0:
            return []
        try:
            outlook = Outlook.of(selected_run, self._execution.store)
            return [f"factorfair: {line}" for line in outlook.size]
        except StoreError as error:
            raise pytest.UsageError(redacted(str(error))) from None

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None]:
        self._session = session
        yield
        self._driver.start.again()  # pytest's own clock has just started

    @pytest.hookimpl(tryfirst=True)  # before pytest_report_collectionfinish, which prints their number
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.select([item.nodeid for item in session.items])

    def select(self, nodeids: Sequence[str]) -> list[Assignment]:
        """Note the items that will run, and return their assignments."""
        self._collected = len(nodeids)
        self._selected = list(assignments_of(nodeids, self._execution.run))
        self._driver.select(self._selected)
        return self._selected

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the result of an item off its report before any other plugin sees the report."""
        judged = self._result is not None  # then it is the report of a gate
        if self._session is not None:
            # Not before: xdist sets the number anew whenever a worker has collected. There is one gate more
            # than expected if the release fails by itself.
            gates = len(self._digest.gates) if judged else self._execution.run.verdicts
            self._session.testscollected = self._collected + gates
        item_result = detach(report)
        record = item_result.record if item_result else None
        if report.failed and not judged and report.nodeid.startswith(f"{SHIPPED}::"):
            self._digest.shorten(report, record)
        if item_result is not None:
            if item_result.ended:
                self._digest.ended[report.nodeid] = item_result.ended
            self._driver.spend(item_result.usage)
        if record is not None and str(report.outcome) != "rerun":
            self._driver.add(record)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge once all items are done, however the loop ends: an exception skips the code after yield."""
        if self._dry:
            return (yield)
        try:
            # Subclasses of pytest and xdist say what stopped the run.
            with self._driver.asking(left_out(self._config), telling=(KeyboardInterrupt, session.Failed)):
                return (yield)
        except InputError as error:  # of a batch: a service that has none, a file that was edited
            self._refused = not self._driver.ledger.records
            raise pytest.UsageError(redacted(str(error))) from None
        finally:
            # Silent if none of our items was selected, unless gates would then be green by omission.
            unasked = bool(self._settings.gates) and session.testscollected > 0
            if (self._driver.ledger.selected or unasked) and not self._refused:
                try:
                    self._result = self._driver.conclude()
                except InputError as error:  # of a user's benchmark, which cannot measure the answers
                    raise pytest.UsageError(redacted(str(error))) from None
                self._publish(session, self._result)

    def _publish(self, session: pytest.Session, result: Result) -> None:
        """Report gates as pytest reports tests, from start to finish."""
        from pytest_factorfair.plugin.published import published

        for alarm in filter(None, (result.rescued, result.unwritten)):
            self._alarm(session, alarm)
        reports = tuple(published(result))
        self._digest.end = result.summary.incomplete or ""
        self._digest.gates = frozenset(phases[0].nodeid for phases in reports)
        for phases in reports:
            test = {"nodeid": phases[0].nodeid, "location": phases[0].location}
            self._call(session, "pytest_runtest_logstart", **test)
            for report in phases:
                self._call(session, "pytest_runtest_logreport", report=report)
            self._call(session, "pytest_runtest_logfinish", **test)
        self._call(session, "pytest_factorfair_summary", config=self._config, summary=result.summary)

    def _call(self, session: pytest.Session, hook: str, **arguments: object) -> None:
        """Call a hook that other plugins implement; their exceptions become one line and fail the run."""
        try:
            getattr(self._config.hook, hook)(**arguments)
        except pytest.exit.Exception:
            raise
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001  # theirs
            frames = traceback.extract_tb(error.__traceback__)
            where = next((frame for frame in reversed(frames) if frame.name == hook), frames[-1])
            message = traceback.format_exception_only(error)[0].strip()
            self._alarm(session, f"{hook} of {where.filename}, line {where.lineno}, raised {message}")

    def _alarm(self, session: pytest.Session, text: str) -> None:
        """Fail the run, with a line that says why."""
        self._alarms[text] = None
        session.testsfailed += 1

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> Generator[None]:
        """Print the result below all that pytest and other plugins print.

        If our section explains all failures, pytest's list of them is left out.
        """
        stats = terminalreporter.stats
        failed = [*stats.get("failed", ()), *stats.get("error", ())]
        if all(map(self._digest.explains, failed)):
            self._config.option.tbstyle = "no"
        with self._digest.shown(terminalreporter):
            yield
        self._show(terminalreporter)
        if self._result is None and self._driver.ledger.selected == frozenset() and not self._dry:
            terminalreporter.write_line(f"factorfair: no case was run: {left_out(self._config)}", yellow=True)

    def _show(self, reporter: pytest.TerminalReporter) -> None:
        """Print the result, once."""
        if self._result is None or self._shown:
            return
        from pytest_factorfair.runs.terminal import terminal

        self._shown = True
        alarms, release = [*self._alarms], self._result.summary.release
        tests = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
        failed = sum(report.nodeid not in self._digest.gates for report in tests)
        if failed and release is not None and not release.fails:
            alarms.append(f"The run fails all the same: {plural(failed, 'test')} failed besides the gates.")
        width = self._config.get_terminal_writer().fullwidth
        terminal(reporter, self._result, width=width, alarms=tuple(alarms))

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Let pytest's last line refer to our section if that says why the run ended.

        Workers meet an error one by one, and may put it in other words: after more replies, say.
        """
        why = str(excinfo.value).rstrip(".")
        if why and (why in self._digest.end or str(excinfo.value) in self._digest.ended.values()):
            excinfo.value.args = (SEE_ABOVE,)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stay_red()
        session = self._session
        if self._driver.pending is None or session is None or self._red:
            return
        # Not if tests of the user have failed. Where workers were to run them, none has begun.
        if session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = SUBMITTED

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print the result if pytest printed no summary, as after an internal error.

        pytest returns the session's exit status after this hook.
        """
        self._stay_red()
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        self._show(reporter)
        if self._overruled:
            why = "gates failed or were not judged" if self._settings.gates else "cases are missing"
            reporter.write_line(f"factorfair: exit code 1, not 0: {why}", red=True)

    def _stay_red(self) -> None:
        """Replace an exit code of 0, set by ``pytest.exit`` or another plugin, if the run has failed."""
        session = self._session
        if session is not None and session.exitstatus == pytest.ExitCode.OK and self._red and not self._dry:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._overruled = True

    @property
    def _red(self) -> bool:
        if self._result is not None:
            return self._result.fails or bool(self._alarms)
        # The run ended before its items were collected.
        return bool(self._settings.gates) and self._settings.undecided == "fail"
