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
from pytest_factorfair.domain import ReasonCitations, Summary
from pytest_factorfair.errors import StoreError
from pytest_factorfair.runs.looks import Looks
from pytest_factorfair.runs.planning.lock import terms
from pytest_factorfair.runs.summary import illustrated, summarise
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pytest_factorfair.exports.tracking import TrackerResult
    from pytest_factorfair.runs.baseline import Baseline
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.ledger import IncompleteRun, Ledger, StartTime
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.statistics.confusion import Confusion


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


def files(run: Run, started: datetime) -> tuple[Baseline | None, tuple[Confusion, ...]]:
    """Read the baseline and the detector's error tables, and check that the run can be logged.

    Raises:
        InputError: one of them cannot be used in this run.
    """
    settings = run.settings
    for target in settings.log:
        Wing.TRACKING.enter().check(target, where=settings.where("log"))
    former = None
    if settings.baseline is not None:
        from pytest_factorfair.runs import baseline

        former = baseline.of_run(run, settings.baseline, run.fingerprint(started))
    errors: tuple[Confusion, ...] = ()
    if (table := settings.detector_errors) is not None:
        where = settings.where("detector-errors")
        detector = run.detector.identity if run.detector else {}
        errors = Wing.ERROR_TABLE.enter().of_run(table, run.checklists, detector=detector, where=where)
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
        self._plan = terms(run)
        self._looks = Looks(execution, ledger, meter, today=start.at.date())
        self._looks_result = self._looks.first()
        self._reasons = ReasonCitations()

    def look_again(self) -> None:
        """Take further looks at undecided gates, once all cases are done."""
        baseline_counts = None
        if self._baseline is not None:
            baseline_counts = self._baseline.compared(self._run.cases)
        self._looks_result = self._looks.take(self._gates, baseline_counts)

    def ask_for_reasons(self) -> None:
        """Ask the models for their reasons, after everything that is scored."""
        if self._run.explained:
            from pytest_factorfair.runs.reasons import explain

            self._reasons = explain(self._execution, self._ledger, self._meter)

    def write(self, incomplete: IncompleteRun | None) -> Result:
        """Judge, and write the reports, once the asking has ended; ``incomplete`` is why no gate is judged.

        The run fails with its release; interrupted, it also fails without gates.
        """
        settings, responses = self._run.settings, self._execution.responses
        usage, read = self._execution.account.usage, self._ledger.usage.cached
        # Tests have read the answers of batches from the store, as if an earlier run had asked them.
        self._ledger.spend(replace(usage, cached=-min(usage.batched, read)))
        partial = incomplete is not None and incomplete.partial
        tolerated = settings.undecided == "warn"
        interrupted = incomplete is not None and incomplete.kind == "interrupted" and not tolerated
        summary = summarise(
            self._execution,
            self._ledger,
            start=self._start,
            plan=self._plan,
            incomplete=incomplete,
            baseline=self._baseline,
            errors=self._errors,
            looks=self._looks_result,
            reasons=self._reasons,
        )
        with suppress(StoreError):  # the verdicts stand without examples
            cases = (case for _, cases in self._run.cases for case in cases)
            summary = illustrated(summary, cases, self._execution.responses.call_texts)
        release = summary.release
        result = Result(
            summary,
            fails=bool(responses.trouble) or interrupted or (release is not None and release.fails),
            shard=settings.shard is not None,
            rescued=self._execution.responses.rescue_note,
            remedy=incomplete.remedy if incomplete is not None else "",
        )
        if self._ledger.records or summary.usage.calls:  # also the bill of a run without answers
            return self._written(result, partial=partial)
        return result

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
                if not self._execution.archived
                and assignment.checklist.modality == "image"
                and assignment.case.on_sheet
            ]
            thumbnails: Mapping[str, bytes | str] = {}
            if portrayed and find_spec("PIL") is not None and not self._execution.responses.trouble:
                from pytest_factorfair.reports.canvas import contact_sheets

                drawn = contact_sheets(
                    result.summary, portrayed, str(folder), picture=self._execution.responses.picture
                )
                thumbnails = drawn.thumbnails
                result = replace(result, summary=replace(result.summary, contact_sheets=drawn.sheets))
            written = reports.write(
                result.summary,
                folder,
                transcript=reports.Transcript(result.summary, self._execution.responses.call_texts),
                cases=[assignment.case for assignment in self._run.assignments],
                thumbnails=thumbnails,
            )
            if self._run.settings.first_baseline is not None and not partial:
                target = Path(self._run.settings.first_baseline)
                report = Path(written[0]).read_bytes()
                written += (reports.write_whole(target, reports.as_baseline(report, target)),)
        except OSError as error:
            cause = error if isinstance(error, StoreError) else f"{error.filename}: {error.strerror}"
            return replace(result, fails=True, unwritten=f"the reports could not be written: {cause}")
        whole = not partial and self._run.settings.shard is None
        targets = self._run.settings.log if whole else ()
        logged = tuple(Wing.TRACKING.enter().log(target, result.summary, written) for target in targets)
        return replace(result, written=written, logged=logged)
