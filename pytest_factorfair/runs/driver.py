"""The life of a run in the process that controls it, the same for pytest and for ``run()``.

Its methods are called in this order: check, begin, select; asking, with spend and add for each case;
conclude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_factorfair.domain import asked, plural
from pytest_factorfair.errors import TO_DO, PendingError
from pytest_factorfair.runs.ledger import RESUME, IncompleteRun, Ledger, StartTime, ended

if TYPE_CHECKING:
    from pytest_factorfair.domain import Record, Usage
    from pytest_factorfair.runs.conclusion import Conclusion, Result
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment

RUN_ALL = "run them all, or set the gates aside with --factorfair-gate=none"
LOCKED_RUN = "run them all: a locked plan is for all cases"
WHOLE_REPORT = "judge the report of a run of all cases"
"""What to do about cases that were left out; neither a locked run nor a report can set its gates aside."""

LOGGED_ONLY = "log the other questions, too, or judge only those of the log (factorfair import log)"
"""What to do about a log that lacks so many questions that nothing is judged."""

SHOWS_PEOPLE = -1
"""Stands for the number of a model's first pictures without a face, once one has shown somebody."""

INTERRUPTED = "the run was interrupted"
"""Why a run did not finish, if nothing says more."""


class Driver:
    """Takes a run from its first check to its verdicts."""

    def __init__(self, execution: Execution, meter: Meter) -> None:
        self.execution = execution
        self.ledger = Ledger(assignment.key for assignment in execution.run.to_ask)
        self.start = StartTime()
        self._meter = meter
        self._conclusion: Conclusion | None = None
        self._left_out = ""
        self._first_pictures: dict[str, int] = {}
        self._interruption: str | None = INTERRUPTED
        self.pending: PendingError | None = None
        """Why the answers are not judged yet: they are in batches."""

    def check(self) -> None:
        """Report mistakes in what only the conclusion uses, before anything is asked.

        Raises:
            InputError: a gate, baseline, error table or tracker does not fit this run, or the run differs
                from its plan.
        """
        run, settings = self.execution.run, self.execution.run.settings
        if settings.gates:
            from pytest_factorfair.runs.planning import sizes

            sizes.check(run, archived=self.execution.archived)
        if settings.locked is not None:
            from pytest_factorfair.runs.planning import lock

            lock.check(run, settings.locked)
        if any((settings.gates, settings.waivers, settings.baseline, settings.detector_errors, settings.log)):
            self._imported_conclusion()

    def begin(self) -> None:
        """Make sure that the run can be asked, stored and reported, and open its account.

        Raises:
            InputError, StoreError: it cannot; see ``Execution.begin``.
        """
        self.execution.begin()

    def select(self, assignments: Iterable[Assignment]) -> None:
        """Note the cases that will be asked."""
        selected = tuple(assignments)
        self.ledger.select(assignment.key for assignment in selected)
        self._meter.expect(sum(assignment.case.samples for assignment in selected))

    def ask(self) -> None:
        """Ask all cases of the run in this process, and add their records."""
        execution, run = self.execution, self.execution.run
        execution.try_detector(run.to_ask, self._meter)
        for assignment, exchanges in execution.ask_cases(run.to_ask, self._meter):
            self.spend(execution.account.unaccounted(exchanges))
            self.add(execution.record(assignment, exchanges))

    def spend(self, usage: Usage) -> None:
        """Add usage that is not on the account of the run."""
        self.ledger.spend(usage)
        self._meter.spend(usage)

    def add(self, record: Record) -> None:
        """Add the record of a case."""
        self.ledger.add(record)
        self._imported_conclusion()  # imported now, as the next answers are on their way
        self._meter.add(record)
        if self.execution.run.modality == "image":
            self._look_for_faces(record)

    def _look_for_faces(self, record: Record) -> None:
        """End a run if the detector finds nobody in the first pictures of a model, see ``FirstReplies``."""
        model, most = record.case.model, self.execution.run.settings.first_replies
        faceless = self._first_pictures.get(model, 0)
        if faceless < 0 or any(answer.outcome != "unparsed" for answer in record.answers):
            self._first_pictures[model] = SHOWS_PEOPLE
            return
        self._first_pictures[model] = faceless = faceless + len(asked(record.answers))
        if most and faceless >= most:
            from pytest_factorfair.reading import remedy

            ((reason, _),) = Counter(answer.reason for answer in record.answers).most_common(1)
            self.execution.account.end(
                f"{model}: none of its first {faceless} pictures can be used ({reason}){TO_DO}"
                f"{remedy(reason, (), pictured=True, logged=False)} (first_replies = 0 asks on)"
            )

    @contextmanager
    def asking(self, left_out: str = "", *, telling: tuple[type[BaseException], ...]) -> Iterator[None]:
        """A context in which all cases are asked; then undecided gates and reasons are asked for.

        ``left_out`` is why some cases were not selected. An exception stops the asking in all processes; the
        text of a ``telling`` one is why the run did not finish. If answers are in batches, the run ends here
        as ``pending``.
        """
        self._left_out = left_out
        try:
            yield
            self._interruption = None
            if self.ledger.selected:
                self._ask_further()
        except PendingError as error:
            self.pending = error
        except BaseException as error:
            self.pending = self.execution.pending
            if self.pending is not None:
                return
            reason = str(error) if isinstance(error, telling) else ""
            self._interruption = reason or self._interruption
            self.execution.interrupt(reason or INTERRUPTED)
            raise
        finally:
            self._meter.clear()

    def _ask_further(self) -> None:
        """Take further looks at undecided gates, then ask for reasons, once all cases are done.

        Runs that are too small to judge ask for reasons, too.
        """
        conclusion = self._imported_conclusion()
        if self._incomplete() is None:
            self._interruption = "the run was interrupted while looking again"
            conclusion.look_again()
        self._interruption = "the run was interrupted while asking for reasons"
        conclusion.ask_for_reasons()
        self._interruption = None

    def conclude(self) -> Result:
        """Judge the gates and write the reports, however the asking ended."""
        if self.execution.run.large:
            cases = len(self.execution.run.assignments)
            self._meter.announce(f"factorfair: judging the answers to {cases:,} cases ...")
        conclusion = self._imported_conclusion()
        incomplete = self._incomplete()
        if self.pending is not None:
            problem, _, remedy = str(self.pending).partition(TO_DO)
            incomplete = IncompleteRun("submitted", "submitted", problem, remedy or RESUME)
        self.execution.stop("the run has ended")  # its account no longer grows
        trouble = self.execution.responses.trouble
        if trouble and (incomplete is None or incomplete.kind != "interrupted"):
            incomplete = IncompleteRun("interrupted", trouble, remedy=RESUME)
        return conclusion.write(incomplete)

    def _incomplete(self) -> IncompleteRun | None:
        """Why no gate can be judged; completeness is the first gate."""
        ledger, missing = self.ledger, self.ledger.missing
        are = "is" if missing == 1 else "are"
        cases = f"{missing:,} of {plural(ledger.expected, 'case')} {are} missing"
        if missing and (cause := self.execution.account.ended or self._interruption):
            problem, remedy = ended(cause, self.execution.run.settings.ceilings)
            return IncompleteRun("interrupted", f"{problem}: {cases}", remedy=remedy)
        if self._interruption:
            return IncompleteRun("interrupted", self._interruption, remedy=RESUME)
        settings = self.execution.run.settings
        run_all = RUN_ALL if settings.gates else ""  # without gates, nobody waits for a verdict
        if settings.locked or self.execution.archived:
            run_all = LOCKED_RUN if settings.locked else WHOLE_REPORT
        if not ledger.selected:
            return IncompleteRun("left out", cases, self._left_out, run_all)
        if missing:
            unselected = ledger.expected - len(ledger.selected)
            causes = [self._left_out] if unselected else []
            if (silent := missing - unselected) > 0:
                causes.append(f"{silent} recorded no answers: see the tests that failed or were skipped")
            return IncompleteRun("left out", cases, "; ".join(causes), run_all if unselected else RESUME)
        if settings.shard is not None:
            return IncompleteRun("shard", f"left to the merge: {settings.shard}")
        too_small = f"the {settings.preset} preset is too small to judge, it only reports"
        return self._short_log() if settings.judged else IncompleteRun("too small", too_small)

    def _short_log(self) -> IncompleteRun | None:
        """The log that lacks too many questions, if there is one."""
        for spec in self.execution.run.models:
            matching = self.execution.run.matching(spec)
            if matching is not None and not matching.sufficient:
                return IncompleteRun("left out", f"{spec}: {matching.lack}", remedy=LOGGED_ONLY)
        return None

    def _imported_conclusion(self) -> Conclusion:
        """The conclusion, made on first use so that the first request does not wait for its imports."""
        if self._conclusion is None:
            from pytest_factorfair.runs.conclusion import Conclusion

            self._conclusion = Conclusion(self.execution, self.ledger, self._meter, start=self.start)
        return self._conclusion
