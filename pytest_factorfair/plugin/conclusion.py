"""What follows once all items are done: further looks, the summary, published verdicts, reports.

Imported when answers are on their way: this and the rooms it needs take longer to import than to run.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair import reports
from pytest_factorfair.domain import ContactSheet, Summary, Verdict
from pytest_factorfair.errors import StoreError
from pytest_factorfair.labelling import error_table
from pytest_factorfair.plugin.asking import reader
from pytest_factorfair.plugin.published import gate_reports
from pytest_factorfair.plugin.terminal import terminal
from pytest_factorfair.session import baseline
from pytest_factorfair.session.composition import declared_gates
from pytest_factorfair.session.looks import Looks
from pytest_factorfair.session.reasons import Explained, explain
from pytest_factorfair.session.summary import fingerprint, summarise
from pytest_factorfair.session.tabulating import prompts

if TYPE_CHECKING:
    from pytest_factorfair.session.ledger import Incomplete, Ledger
    from pytest_factorfair.session.progress import Meter
    from pytest_factorfair.session.run import Run

PARTIAL_FAILS = (
    "The run fails, because gates are declared and cases were left out. Run them all, or accept a partial "
    "run with --factorfair-on-incomplete=warn."
)


class Conclusion:
    """Drawn once from the ledger by the controlling process.

    Raises:
        InputError: a gate that cannot be judged in this run, or a baseline it cannot be held against.
    """

    def __init__(
        self, config: pytest.Config, run: Run, ledger: Ledger, progress: Meter, *, started: datetime
    ) -> None:
        self._config = config
        self._run = run
        self._ledger = ledger
        self._started = started
        self._gates = declared_gates(run)
        now = fingerprint(run, started)
        self._baseline = baseline.of(run, now)
        table = run.settings.detector_errors
        self._errors = error_table.of_run(table, run.checklists, detector=now.detector) if table else ()
        self._looks = Looks(run, ledger, progress, read=reader(config))
        self._looked = self._looks.first()
        self._progress = progress
        self._explained = Explained()
        self._summary: Summary | None = None
        self._strict = run.settings.strict
        self._written: tuple[str, ...] = ()
        self._kept: str | None = None
        self._alarms: dict[str, None] = {}
        self._told = False
        self.red = False
        """Whether what was drawn fails the run."""

    def look_again(self) -> None:
        """Ask more of what is undecided: all items are done, workers are down, nothing is missing."""
        former = None
        if self._baseline is not None:
            former = self._baseline.former(self._ledger.records, prompts(self._run))
        self._looked = self._looks.take(self._gates, former)

    def explain(self) -> None:
        """Ask for reasons where they are wanted."""
        self._explained = explain(self._run, self._ledger, self._progress)

    @property
    def drawn(self) -> bool:
        return self._summary is not None

    def draw(self, session: pytest.Session, *, incomplete: Incomplete | None, seconds: float) -> None:
        """Judge, write the reports and publish; ``incomplete`` is why nothing can be judged.

        Gates fail where cases were left out. An interruption has an exit code of its own.
        """
        partial = incomplete is not None and incomplete.partial
        interrupted = incomplete is not None and incomplete.kind == "interrupted"
        if partial and self._run.settings.on_incomplete == "fail":
            self.red = interrupted or bool(self._gates)
            self._strict |= not interrupted
            if self.red and not interrupted:
                self._alarms[PARTIAL_FAILS] = None
        self._summary = summarise(
            self._run,
            self._ledger,
            self._gates,
            incomplete=incomplete,
            baseline=self._baseline,
            errors=self._errors,
            looked=self._looked,
            explained=self._explained,
            started=self._started,
            seconds=seconds,
            notes=self._run.notices,
        )
        if self._ledger.records:
            self._write(session, self._summary, partial=partial)
        self._publish(session, self._summary.gates)
        self._call(session, "pytest_factorfair_summary", config=self._config, summary=self._summary)

    def tell(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was drawn, once."""
        if self._summary is not None and not self._told:
            self._told = True
            terminal(
                terminalreporter,
                self._summary,
                self._written,
                kept=self._kept,
                fails=self.red,
                alarms=tuple(self._alarms),
            )
            if os.environ.get(reports.GITHUB_ACTIONS) == "true":
                self._annotate(terminalreporter, self._summary)

    def _annotate(self, terminalreporter: pytest.TerminalReporter, summary: Summary) -> None:
        policy = self._run.settings.on_inconclusive
        for one in reports.annotate(summary, strict=self._strict, on_inconclusive=policy):
            terminalreporter.write_line(str(one))

    def _publish(self, session: pytest.Session, verdicts: Sequence[Verdict]) -> None:
        """Report each gate as pytest reports a test, from start to finish."""
        policy = self._run.settings.on_inconclusive
        session.testscollected += len(verdicts)
        for verdict in verdicts:
            phases = gate_reports(verdict, strict=self._strict, on_inconclusive=policy)
            self.red |= any(report.failed for report in phases)
            item = {"nodeid": phases[0].nodeid, "location": phases[0].location}
            self._call(session, "pytest_runtest_logstart", **item)
            for report in phases:
                self._call(session, "pytest_runtest_logreport", report=report)
            self._call(session, "pytest_runtest_logfinish", **item)

    def _call(self, session: pytest.Session, hook: str, **arguments: object) -> None:
        """Call a hook that others implement; an exception of theirs becomes one line and fails the run."""
        try:
            getattr(self._config.hook, hook)(**arguments)
        except pytest.exit.Exception:
            raise
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001  # theirs
            frames = traceback.extract_tb(error.__traceback__)
            where = next((frame for frame in reversed(frames) if frame.name == hook), frames[-1])
            what = traceback.format_exception_only(error)[0].strip()
            self._alarm(session, f"{hook} of {where.filename}, line {where.lineno}, raised {what}")

    def _alarm(self, session: pytest.Session, text: str) -> None:
        """Fail the run, with a line that says why."""
        self._alarms[text] = None
        self.red = True
        session.testsfailed += 1

    def _write(self, session: pytest.Session, summary: Summary, *, partial: bool) -> None:
        """A report that cannot be written fails the run in one line; the answers are in the store."""
        try:
            wanted = Path(self._run.settings.report)
            folder = reports.folder(wanted, partial=partial)
            self._kept = str(wanted) if folder != wanted else None
            self._summary = replace(summary, contact_sheets=self._contact_sheets(summary, folder))
            self._written = reports.write(
                self._summary,
                folder,
                transcript=reports.Transcript(summary.cases, self._run.store.said),
                cases=[one.case for one in self._run.assignments],
            )
        except OSError as error:
            told = error if isinstance(error, StoreError) else f"{error.filename}: {error.strerror}"
            self._alarm(session, f"the reports could not be written: {told}")

    def _contact_sheets(self, summary: Summary, folder: Path) -> tuple[ContactSheet, ...]:
        """Not of explicit prompts: whether they show what they were asked for is told, prompt by prompt."""
        cases = [
            one.case
            for one in self._run.assignments
            if one.checklist.modality == "image" and one.case.part != "explicit"
        ]
        if not cases or find_spec("PIL") is None:  # a detector of one's own may do without the extra
            return ()
        return reports.contact_sheets(summary, cases, str(folder), picture=self._run.picture)
