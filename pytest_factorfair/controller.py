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

from pytest_factorfair import freight
from pytest_factorfair.collection import SHIPPED
from pytest_factorfair.domain import Usage
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.ledger import Ledger
from pytest_factorfair.options import dry
from pytest_factorfair.outlook import Outlook

if TYPE_CHECKING:
    from pytest_factorfair.alike import AlikeFailures
    from pytest_factorfair.composition import Assignment
    from pytest_factorfair.conclusion import Conclusion
    from pytest_factorfair.progress import Progress
    from pytest_factorfair.run import Run


class Controller:
    """Registered in the one process that owns the terminal: the only one, or the workers' controller.

    Raises:
        InputError: a gate or a baseline that does not fit this run, a report folder that cannot be
            written, or nothing to replay.
    """

    def __init__(self, config: pytest.Config, run: Run, progress: Progress, failures: AlikeFailures) -> None:
        self._config = config
        self._run = run
        self._progress = progress
        self._failures = failures
        self._ledger = Ledger(assignment.key for assignment in run.assignments)
        self._conclusion: Conclusion | None = None
        self._selected = 0
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._dry = dry(config)
        if run.settings.gates or run.settings.baseline or run.settings.detector_errors:
            self._concluding()  # what is wrong with them is told before anything is asked
        if not self._dry:
            _probe(run.settings.report)
            run.store.verify()
            _check_replay(run)
            run.begin()

    def _concluding(self) -> Conclusion:
        """What concludes the run; the first request does not wait for what that imports."""
        if self._conclusion is None:
            from pytest_factorfair.conclusion import Conclusion

            self._conclusion = Conclusion(
                self._config, self._run, self._ledger, self._progress, started=self._started
            )
        return self._conclusion

    @cached_property
    def _by_id(self) -> dict[str, Assignment]:
        return {assignment.id: assignment for assignment in self._run.assignments}

    def pytest_report_header(self) -> list[str]:
        try:
            return Outlook.of(self._run, stored=not self._dry).lines()
        except StoreError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self.select([item.nodeid for item in session.items])

    def select(self, nodeids: Sequence[str]) -> None:
        """Learn which items will run: without a single one of ours, the plugin stays silent."""
        chosen = [found for nodeid in nodeids if (found := self._assignment(nodeid)) is not None]
        self._selected = len(chosen)
        self._progress.expect(sum(assignment.case.samples for assignment in chosen))
        if self._run.settings.judge_selected:
            self._ledger.expect(assignment.key for assignment in chosen)

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
        """Note what an item yielded, before any other plugin sees its report."""
        yielded = freight.unload(report)
        record, unaccounted = yielded or (None, Usage())
        if report.failed and self._assignment(report.nodeid) is not None:
            self._failures.add(report, record, shipped=report.nodeid.startswith(f"{SHIPPED}::"))
        if yielded is None:
            return
        self._ledger.spend(unaccounted)
        if record is not None and str(report.outcome) != "rerun":
            self._ledger.add(record)
            self._concluding()  # imported now, as the next answers are on their way
        self._progress.count(record, unaccounted)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge once all items are done, whatever ended them; the code after a raising yield is skipped."""
        interruption: str | None = "the run was interrupted"
        by_hand = False
        try:
            result = yield
            interruption = "the run was interrupted while looking again"
            self._look_again()
            interruption = "the run was interrupted while asking for reasons"
            self._explain()
            interruption = None
        except BaseException as error:
            self._run.stop("the run was interrupted")
            by_hand = type(error) is KeyboardInterrupt  # pytest and xdist derive theirs, for -x and the like
            raise
        finally:
            self._progress.clear()
            if self._concerned(session):
                self._finish(session, interruption, write=bool(self._ledger.records) and not by_hand)
        return result

    def _concerned(self, session: pytest.Session) -> bool:
        """Silent where none of our items was selected, unless gates would then be green by omission."""
        left_out = bool(self._run.settings.gates) and session.testscollected > 0
        return (self._selected > 0 or left_out) and not self._dry

    def _look_again(self) -> None:
        if self._selected and not self._dry and not self._incomplete(None):
            self._concluding().look_again()

    def _explain(self) -> None:
        """Reasons are wanted also of a run that is too small to judge."""
        if self._selected and not self._dry:
            self._concluding().explain()

    def _finish(self, session: pytest.Session, interruption: str | None, *, write: bool) -> None:
        incomplete = self._incomplete(interruption)
        self._run.stop("the run has ended")  # from here on its account does not grow
        self._ledger.spend(self._run.usage)
        self._concluding().draw(
            session,
            incomplete=incomplete,
            seconds=time.monotonic() - self._clock,
            write=write,
        )

    def _incomplete(self, interruption: str | None) -> str | None:
        """Why nothing can be judged; completeness is the first gate."""
        missing = self._ledger.missing
        if missing:
            interruption = self._run.ended or interruption
            cases = f"{missing} of {self._ledger.expected} cases are missing"
            if not self._selected:
                cases += "; a path was named: add --pyargs pytest_factorfair.checks"
            return f"{interruption}: {cases}" if interruption else cases
        if interruption:
            return interruption
        if not self._run.settings.judged:
            return f"the {self._run.settings.preset} preset is too small to judge, it only reports"
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._conclusion is not None:
            self._conclusion.tell(terminalreporter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print the section that pytest left out: it has no summary after an internal error."""
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if self._conclusion is not None and reporter is not None:
            self._conclusion.tell(reporter)


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
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"--factorfair-report {folder}: cannot write there: {error.strerror}") from None
