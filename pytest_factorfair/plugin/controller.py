"""The controlling process: ledger from reports, and the conclusion once all items are done."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import CaseKey, plural
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.plugin.collection import SHIPPED, dry
from pytest_factorfair.plugin.completeness import left_out
from pytest_factorfair.plugin.xdist import detach
from pytest_factorfair.redaction import redacted
from pytest_factorfair.session.ledger import Incomplete, Ledger
from pytest_factorfair.session.outlook import Outlook
from pytest_factorfair.store.folders import make_folder

if TYPE_CHECKING:
    from pytest_factorfair.plugin.alike import AlikeFailures
    from pytest_factorfair.plugin.conclusion import Conclusion
    from pytest_factorfair.session.composition import Assignment
    from pytest_factorfair.session.progress import Meter
    from pytest_factorfair.session.run import Run


class Controller:
    """Registered in the one process that owns the terminal: the only one, or the workers' controller.

    Raises:
        InputError: a gate or a baseline that does not fit this run, a report folder that cannot be
            written, or nothing to replay.
    """

    def __init__(self, config: pytest.Config, run: Run, progress: Meter, failures: AlikeFailures) -> None:
        self._config = config
        self._run = run
        self._progress = progress
        self._failures = failures
        self._ledger = Ledger(assignment.key for assignment in run.assignments)
        self._conclusion: Conclusion | None = None
        self._selected: frozenset[CaseKey] | None = None
        self._session: pytest.Session | None = None
        self._overruled = False
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._dry = dry(config)
        if run.settings.gates or run.settings.baseline or run.settings.detector_errors:
            self._concluding()  # what is wrong with them is told before anything is asked
        if not self._dry:
            _probe(run.settings.report)
            run.store.verify()
            _check_replay(run)
            if not run.settings.replay:
                run.check_prices()
                if self._outlook.calls:
                    run.check_hosts()
            run.begin()

    def _concluding(self) -> Conclusion:
        """What concludes the run; the first request does not wait for what that imports."""
        if self._conclusion is None:
            from pytest_factorfair.plugin.conclusion import Conclusion

            self._conclusion = Conclusion(
                self._config, self._run, self._ledger, self._progress, started=self._started
            )
        return self._conclusion

    @cached_property
    def _by_id(self) -> dict[str, Assignment]:
        return {assignment.id: assignment for assignment in self._run.assignments}

    @cached_property
    def _outlook(self) -> Outlook:
        return Outlook.of(self._run, stored=not self._dry)

    def pytest_report_header(self) -> list[str]:
        try:
            return self._outlook.lines()
        except StoreError as error:
            raise pytest.UsageError(redacted(str(error))) from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.select([item.nodeid for item in session.items])

    def select(self, nodeids: Sequence[str]) -> None:
        """Learn which items will run."""
        chosen = [found for nodeid in nodeids if (found := self._assignment(nodeid)) is not None]
        self._selected = frozenset(assignment.key for assignment in chosen)
        self._progress.expect(sum(assignment.case.samples for assignment in chosen))
        if self._run.settings.judge_selected:
            self._ledger.expect(self._selected)

    def _assignment(self, nodeid: str) -> Assignment | None:
        """The assignment of an item: its parameter id may stand among those of other parameters."""
        _, bracket, text = nodeid.partition("[")
        if not bracket or not text.endswith("]"):
            return None
        text = text.removesuffix("]")
        cuts = [place for place, letter in enumerate(text) if letter == "-"]
        parts = [text, *(text[cut + 1 :] for cut in cuts), *(text[:cut] for cut in cuts)]
        return next((self._by_id[part] for part in parts if part in self._by_id), None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the result of an item off its report before any other plugin sees the report."""
        result = detach(report)
        record = result.record if result else None
        if report.failed and self._assignment(report.nodeid) is not None:
            self._failures.add(report, record, shipped=report.nodeid.startswith(f"{SHIPPED}::"))
        if result is None:
            return
        self._ledger.spend(result.usage)
        if record is not None and str(report.outcome) != "rerun":
            self._ledger.add(record)
            self._concluding()  # imported now, as the next answers are on their way
        self._progress.count(record, result.usage)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge once all items are done, whatever ended them; the code after a raising yield is skipped."""
        interruption: str | None = "the run was interrupted"
        try:
            result = yield
            interruption = "the run was interrupted while looking again"
            self._look_again()
            interruption = "the run was interrupted while asking for reasons"
            self._explain()
            interruption = None
        except BaseException as error:
            self._run.stop("the run was interrupted")
            if isinstance(error, (KeyboardInterrupt, session.Failed)) and str(error):
                interruption = str(error)  # pytest and xdist derive theirs, and say what stopped the run
            raise
        finally:
            self._progress.clear()
            if self._concerned(session):
                incomplete = self._incomplete(interruption)
                self._run.stop("the run has ended")  # from here on its account does not grow
                self._ledger.spend(self._run.usage)
                self._concluding().draw(
                    session,
                    incomplete=incomplete,
                    seconds=time.monotonic() - self._clock,
                )
        return result

    def _concerned(self, session: pytest.Session) -> bool:
        """Silent where none of our items was selected, unless gates would then be green by omission."""
        left_out = bool(self._run.settings.gates) and session.testscollected > 0
        return (bool(self._selected) or left_out) and not self._dry

    def _look_again(self) -> None:
        if self._selected and not self._dry and not self._incomplete(None):
            self._concluding().look_again()

    def _explain(self) -> None:
        """Reasons are wanted also of a run that is too small to judge."""
        if self._selected and not self._dry:
            self._concluding().explain()

    def _incomplete(self, interruption: str | None) -> Incomplete | None:
        """Why nothing can be judged; completeness is the first gate."""
        settings, missing = self._run.settings, self._ledger.missing
        are = "is" if missing == 1 else "are"
        cases = f"{missing:,} of {plural(self._ledger.expected, 'case')} {are} missing"
        if missing and (cause := self._run.ended or interruption):
            return Incomplete("interrupted", f"{cause}: {cases}")
        if interruption:
            return Incomplete("interrupted", interruption)
        if not self._selected:
            return Incomplete("left out", cases, left_out(self._config))
        if missing:
            unselected = self._ledger.expected - len(self._selected)
            causes = [left_out(self._config)] if unselected else []
            if (silent := missing - unselected) > 0:
                causes.append(f"{silent} recorded no answers: see the tests that failed or were skipped")
            return Incomplete("left out", cases, "; ".join(causes))
        if not settings.judged:
            return Incomplete(
                "too small", f"the {settings.preset} preset is too small to judge, it only reports"
            )
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._conclusion is not None and self._conclusion.drawn:
            self._conclusion.tell(terminalreporter)
        elif self._selected == frozenset() and not self._dry:
            terminalreporter.write_line(f"factorfair: no case was run: {left_out(self._config)}", yellow=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._stay_red()

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print what pytest left out, which has no summary after an internal error.

        pytest returns the session's exit status after this.
        """
        self._stay_red()
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        if self._conclusion is not None:
            self._conclusion.tell(reporter)
        if self._overruled:
            why = "gates failed or were not judged" if self._run.settings.gates else "cases are missing"
            reporter.write_line(f"factorfair: exit code 1, not 0: {why}", red=True)

    def _stay_red(self) -> None:
        """An exit code of 0 that ``pytest.exit`` or another plugin has set does not hide what failed."""
        session = self._session
        if session is not None and session.exitstatus == pytest.ExitCode.OK and self._red and not self._dry:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            self._overruled = True

    @property
    def _red(self) -> bool:
        if self._conclusion is not None and self._conclusion.drawn:
            return self._conclusion.red
        settings = self._run.settings  # the run ended before its items were collected
        return bool(settings.gates) and settings.on_incomplete == "fail"


def _check_replay(run: Run) -> None:
    if run.settings.replay and run.store.empty:
        raise InputError(
            f"--factorfair-replay: {run.store.place} holds no answer; run once without --factorfair-replay"
        )


def _probe(folder: str) -> None:
    """Make sure, before anything is asked, that the reports can be written at the end.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    try:
        make_folder(Path(folder), ignored=False)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--factorfair-report {folder}: cannot write there: {error.strerror}") from None
