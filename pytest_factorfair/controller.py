"""The controlling process: ledger from reports, then verdicts, published reports and files."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair import baseline, gates, reports, wire
from pytest_factorfair.domain import Gate, Summary, Usage, Verdict
from pytest_factorfair.ledger import Ledger
from pytest_factorfair.looks import Looks
from pytest_factorfair.options import dry
from pytest_factorfair.outlook import Outlook
from pytest_factorfair.reasons import Explained, explain
from pytest_factorfair.summary import fingerprint, summarise

if TYPE_CHECKING:
    from pytest_factorfair.progress import Progress
    from pytest_factorfair.run import Assignment, Run


class Controller:
    """Registered in the one process that owns the terminal: the only one, or the workers' controller.

    Raises:
        InputError: a gate that cannot be judged in this run, or a report folder that cannot be written.
    """

    def __init__(self, config: pytest.Config, run: Run, progress: Progress) -> None:
        self._config = config
        self._run = run
        self._progress = progress
        self._gates = declared_gates(run)
        self._baseline = baseline.of(run, fingerprint(run, datetime.now(UTC)))
        self._ledger = Ledger(assignment.key for assignment in run.assignments)
        self._looks = Looks(config, run, self._ledger, progress)
        self._looked = self._looks.first()
        self._explained = Explained()
        self._selected = 0
        self._summary: Summary | None = None
        self._written: tuple[str, ...] = ()
        self._unwritten = ""
        self._started = datetime.now(UTC)
        self._clock = time.monotonic()
        self._dry = dry(config)
        if not self._dry:
            reports.probe(run.settings.report)
            run.store.count(())
            run.begin()

    @cached_property
    def _by_id(self) -> dict[str, Assignment]:
        return {assignment.id: assignment for assignment in self._run.assignments}

    @cached_property
    def _outlook(self) -> Outlook:
        return Outlook.of(self._run, stored=not self._dry)

    def pytest_report_header(self) -> list[str]:
        return self._outlook.lines()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self.select([item.nodeid for item in session.items])

    def spend(self, usage: Usage) -> None:
        """Add what was asked apart from any item."""
        self._ledger.spend(usage)

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
        """Take the record off the report, so that no other plugin keeps or sends it."""
        sent = report.__dict__.pop("factorfair", None)
        if sent is None:
            return
        record, usage = wire.from_wire(sent)
        self._ledger.spend(usage)
        if record is not None and str(report.outcome) != "rerun":
            self._ledger.add(record)
        self._progress.count(record, usage)

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
        except KeyboardInterrupt as error:
            by_hand = type(error) is KeyboardInterrupt  # pytest and xdist derive theirs, for -x and the like
            raise
        finally:
            self._progress.clear()
            if self._concerned(session):
                self._finish(session, interruption, write=bool(self._ledger.records) and not by_hand)
        return result

    def _concerned(self, session: pytest.Session) -> bool:
        """Silent where none of our items was selected, unless gates would then be green by omission."""
        left_out = bool(self._gates) and session.testscollected > 0
        return (self._selected > 0 or left_out) and not self._dry

    def _look_again(self) -> None:
        """Ask more of what is undecided: all items are done, workers are down, nothing is missing."""
        if not self._selected or self._dry or self._incomplete(None):
            return
        former = None if self._baseline is None else self._baseline.former(self._ledger.records)
        self._looked = self._looks.take(self._gates, former)

    def _explain(self) -> None:
        """Ask for reasons where they are wanted: also where the run is too small to judge."""
        if self._selected and not self._dry:
            self._explained = explain(self._run, self._ledger, self._progress)

    def _finish(self, session: pytest.Session, interruption: str | None, *, write: bool) -> None:
        self._summary = summarise(
            self._run,
            self._ledger,
            self._gates,
            incomplete=self._incomplete(interruption),
            baseline=self._baseline,
            looked=self._looked,
            explained=self._explained,
            started=self._started,
            seconds=time.monotonic() - self._clock,
            notes=self._outlook.notices,
        )
        for verdict in self._summary.gates:
            self._publish(session, verdict)
        if write:
            self._write(session, self._summary)
        self._config.hook.pytest_factorfair_summary(config=self._config, summary=self._summary)

    def _write(self, session: pytest.Session, summary: Summary) -> None:
        """A report that cannot be written fails the run in one line; the answers are in the store."""
        try:
            self._written = reports.write(summary, self._run.settings.report)
        except OSError as error:
            self._unwritten = f"the reports could not be written: {error.filename}: {error.strerror}"
            session.testsfailed += 1

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

    def _publish(self, session: pytest.Session, verdict: Verdict) -> None:
        settings = self._run.settings
        session.testscollected += 1
        for report in reports.gate_reports(
            verdict, strict=settings.strict, on_inconclusive=settings.on_inconclusive
        ):
            self._config.hook.pytest_runtest_logreport(report=report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._summary is not None:
            reports.terminal(terminalreporter, self._summary, self._written)
            if self._unwritten:
                terminalreporter.write_line(self._unwritten, red=True)


def declared_gates(run: Run) -> tuple[Gate, ...]:
    """The run's gates.

    Raises:
        InputError: a gate that cannot be judged in this run.
    """
    settings = run.settings
    former = settings.baseline is not None
    declared = gates.expand(
        settings.gates, checklists=run.checklists, sampling=settings.sampling, baseline=former
    )
    gates.check(declared, checklists=run.checklists, models=settings.models, baseline=former)
    return declared
