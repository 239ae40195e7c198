"""The end of a run: further looks, reasons, the summary and its reports.

Imported while answers are on their way: this module and its imports take longer to import than to run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import reports
from pytest_factorfair.benchmarks.measurement import BaselineCounts
from pytest_factorfair.domain import Summary, plural
from pytest_factorfair.errors import TO_DO, PendingError, StoreError
from pytest_factorfair.exports import tracking
from pytest_factorfair.exports.tracking import TrackerResult
from pytest_factorfair.labelling import error_table
from pytest_factorfair.runs import baseline
from pytest_factorfair.runs.ledger import RESUME, IncompleteRun
from pytest_factorfair.runs.looks import Looks
from pytest_factorfair.runs.planning import lock
from pytest_factorfair.runs.reasons import ReasonCitations, explain
from pytest_factorfair.runs.summary import illustrated, summarise
from pytest_factorfair.runs.tabulating import prompts

if TYPE_CHECKING:
    from datetime import datetime

    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.ledger import Ledger, StartTime
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.statistics.confusion import Confusion

RUN_ALL = "run them all, or set the gates aside with --factorfair-gate=none"
LOCKED_RUN = "run them all: a locked plan is for all cases"
"""What to do about cases that were left out; a locked run cannot set its gates aside."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run.

    ``fails`` is whether the run fails. The scores of a ``shard`` mean nothing, because they cover only some
    of the cases. ``written`` are the paths of the reports, ``logged`` their state in trackers, and
    ``unwritten`` why reports are missing. ``rescued`` says where responses are that the store does not have,
    ``remedy`` what to do if the run did not finish.
    ``complete_report`` is the folder of a complete run's report that this partial one does not replace.
    """

    summary: Summary
    fails: bool
    shard: bool = False
    written: tuple[str, ...] = ()
    logged: tuple[TrackerResult, ...] = ()
    unwritten: str = ""
    rescued: str = ""
    remedy: str = ""
    complete_report: str | None = None


def files(run: Run, started: datetime) -> tuple[baseline.Baseline | None, tuple[Confusion, ...]]:
    """Read the baseline and the detector's error tables, and check that the run can be logged.

    Raises:
        InputError: one of them cannot be used in this run.
    """
    settings = run.settings
    for target in settings.log:
        tracking.check(target, where=settings.where("log"))
    former = None
    if settings.baseline is not None:
        former = baseline.of(run, settings.baseline, lock.fingerprint(run, started))
    errors: tuple[Confusion, ...] = ()
    if (table := settings.detector_errors) is not None:
        where = settings.where("detector-errors")
        detector = run.detector.identity if run.detector else {}
        errors = error_table.of_run(table, run.checklists, detector=detector, where=where)
    return former, errors


class Conclusion:
    """Concludes the run from its ledger, once, in the process that controls it.

    Raises:
        InputError: a gate cannot be judged in this run, or the baseline cannot be compared with it.
    """

    def __init__(self, execution: Execution, ledger: Ledger, meter: Meter, *, start: StartTime) -> None:
        run = execution.run
        self._execution = execution
        self._run = run
        self._ledger = ledger
        self._meter = meter
        self._start = start
        self._gates = run.gates
        self._baseline, self._errors = files(run, start.at)
        self._plan = lock.terms(run)
        self._looks = Looks(execution, ledger, meter, today=start.at.date())
        self._looked = self._looks.first()
        self._explained = ReasonCitations()
        self._interruption: str | None = None

    def ask_further(self, *, left_out: str) -> None:
        """Take further looks at undecided gates, then ask for reasons, once all cases are done.

        Runs that are too small to judge ask for reasons, too.
        """
        self._interruption = "the run was interrupted while looking again"
        if self._incomplete(None, left_out) is None:
            baseline_counts = None
            if self._baseline is not None:
                baseline_counts = BaselineCounts(self._baseline.counts(prompts(self._run)))
            self._looked = self._looks.take(self._gates, baseline_counts)
        self._interruption = "the run was interrupted while asking for reasons"
        self._explained = explain(self._execution, self._ledger, self._meter)
        self._interruption = None

    def write(
        self, *, interruption: str | None, left_out: str, pending: PendingError | None = None
    ) -> Result:
        """End the asking, judge, and write the reports.

        ``interruption`` is why the run did not finish, ``left_out`` why some cases were not selected,
        ``pending`` why it is left to a later run. The run fails with its release; interrupted, it also fails
        without gates.
        """
        settings = self._run.settings
        incomplete = self._incomplete(interruption or self._interruption, left_out)
        if pending is not None:
            problem, _, remedy = str(pending).partition(TO_DO)
            incomplete = IncompleteRun("submitted", "submitted", problem, remedy or RESUME)
        self._execution.stop("the run has ended")  # its account no longer grows
        usage, read = self._execution.account.usage, self._ledger.usage.cached
        # Tests have read the answers of batches from the store, as if an earlier run had asked them.
        self._ledger.spend(replace(usage, cached=-min(usage.batched, read)))
        trouble = self._execution.responses.trouble
        if trouble and (incomplete is None or incomplete.kind != "interrupted"):
            incomplete = IncompleteRun("interrupted", trouble, remedy=RESUME)
        partial = incomplete is not None and incomplete.partial
        tolerated = settings.undecided == "warn"
        interrupted = incomplete is not None and incomplete.kind == "interrupted" and not tolerated
        summary = summarise(
            self._execution,
            self._ledger,
            self._gates,
            plan=self._plan,
            incomplete=incomplete,
            baseline=self._baseline,
            errors=self._errors,
            looked=self._looked,
            explained=self._explained,
            started=self._start.at,
            seconds=self._start.seconds,
        )
        with suppress(StoreError):  # the verdicts stand without examples
            summary = illustrated(summary, self._execution.responses.call_texts)
        release = summary.release
        result = Result(
            summary,
            fails=bool(trouble) or interrupted or (release is not None and release.fails),
            shard=settings.shard is not None,
            rescued=self._execution.responses.rescue_note,
            remedy=incomplete.remedy if incomplete is not None else "",
        )
        if self._ledger.records or summary.usage.calls:  # also the bill of a run without answers
            return self._written(result, partial=partial)
        return result

    def _incomplete(self, interruption: str | None, left_out: str) -> IncompleteRun | None:
        """Why no gate can be judged; completeness is the first gate."""
        ledger, missing = self._ledger, self._ledger.missing
        are = "is" if missing == 1 else "are"
        cases = f"{missing:,} of {plural(ledger.expected, 'case')} {are} missing"
        if missing and (cause := self._execution.account.ended or interruption):
            problem, _, hint = cause.partition(TO_DO)
            remedy = f"{hint}, then {RESUME}" if hint else RESUME
            return IncompleteRun("interrupted", f"{problem.rstrip('.')}: {cases}", remedy=remedy)
        if interruption:
            return IncompleteRun("interrupted", interruption, remedy=RESUME)
        settings = self._run.settings
        run_all = LOCKED_RUN if settings.locked else RUN_ALL
        if not ledger.selected:
            return IncompleteRun("left out", cases, left_out, run_all)
        if missing:
            unselected = ledger.expected - len(ledger.selected)
            causes = [left_out] if unselected else []
            if (silent := missing - unselected) > 0:
                causes.append(f"{silent} recorded no answers: see the tests that failed or were skipped")
            return IncompleteRun("left out", cases, "; ".join(causes), run_all if unselected else RESUME)
        if settings.shard is not None:
            return IncompleteRun("shard", f"left to the merge: {settings.shard}")
        too_small = f"the {settings.preset} preset is too small to judge, it only reports"
        return None if settings.judged else IncompleteRun("too small", too_small)

    def _written(self, result: Result, *, partial: bool) -> Result:
        """Write the reports. A report that cannot be written fails the run; the answers stay in the store."""
        configured_folder = Path(self._run.settings.report)
        try:
            if self._run.settings.shard is not None and not self._execution.responses.trouble:
                asked = (self._ledger.record(assignment.key) for assignment in self._run.to_ask)
                self._execution.enter_shard(result.summary.usage, finished=None not in asked)
            folder = reports.folder(configured_folder, partial=partial)
            result = replace(
                result, complete_report=str(configured_folder) if folder != configured_folder else None
            )
            # A user's detector may not need Pillow.
            portrayed = [
                assignment.case
                for assignment in self._run.assignments
                if assignment.checklist.modality == "image" and assignment.case.on_sheet
            ]
            drawn = reports.ContactSheets()
            if portrayed and find_spec("PIL") is not None and not self._execution.responses.trouble:
                drawn = reports.contact_sheets(
                    result.summary, portrayed, str(folder), picture=self._execution.responses.picture
                )
                result = replace(result, summary=replace(result.summary, contact_sheets=drawn.sheets))
            written = reports.write(
                result.summary,
                folder,
                transcript=reports.Transcript(result.summary.cases, self._execution.responses.call_texts),
                cases=[assignment.case for assignment in self._run.assignments],
                thumbnails=drawn.thumbnails,
            )
        except OSError as error:
            cause = error if isinstance(error, StoreError) else f"{error.filename}: {error.strerror}"
            return replace(result, fails=True, unwritten=f"the reports could not be written: {cause}")
        whole = not partial and self._run.settings.shard is None
        targets = self._run.settings.log if whole else ()
        logged = tuple(tracking.log(target, result.summary, written) for target in targets)
        return replace(result, written=written, logged=logged)
