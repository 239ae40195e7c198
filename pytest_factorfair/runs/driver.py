"""The life of a run in the process that controls it, the same for pytest and for ``run()``.

Its methods are called in this order: check, begin, select; asking, with spend and add for each case;
conclude.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_factorfair.domain import asked
from pytest_factorfair.errors import TO_DO, PendingError
from pytest_factorfair.runs.ledger import Ledger, StartTime
from pytest_factorfair.runs.planning import lock
from pytest_factorfair.runs.submissions import ask_all

if TYPE_CHECKING:
    from pytest_factorfair.domain import Record, Usage
    from pytest_factorfair.runs.conclusion import Conclusion, Result
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.progress import Meter
    from pytest_factorfair.runs.run import Assignment

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
        settings = self.execution.run.settings
        if settings.locked is not None:
            lock.check(self.execution.run, settings.locked)
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
        from pytest_factorfair.runs.answering import recorded

        run = self.execution.run
        self.execution.batches.bring_cases(run.to_ask, self._meter)
        for assignment, exchanges in ask_all(self.execution, run.to_ask, self._meter):
            self.spend(self.execution.account.unaccounted(exchanges))
            self.add(recorded(self.execution, assignment, exchanges, detector=run.detector))

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
                f"{remedy(reason, ())} (first_replies = 0 asks on)"
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
                self._imported_conclusion().ask_further(left_out=left_out)
        except PendingError as error:
            self.pending = error
        except BaseException as error:
            self.pending = self.execution.pending
            if self.pending is not None:
                return
            if isinstance(error, telling) and str(error):
                self._interruption = str(error)
            self.execution.interrupt(self._interruption or INTERRUPTED)
            raise
        finally:
            self._meter.clear()

    def conclude(self) -> Result:
        """Judge the gates and write the reports, however the asking ended."""
        if self.execution.run.large:
            cases = len(self.execution.run.assignments)
            self._meter.announce(f"factorfair: judging the answers to {cases:,} cases ...")
        return self._imported_conclusion().write(
            interruption=self._interruption, left_out=self._left_out, pending=self.pending
        )

    def _imported_conclusion(self) -> Conclusion:
        """The conclusion, made on first use so that the first request does not wait for its imports."""
        if self._conclusion is None:
            from pytest_factorfair.runs.conclusion import Conclusion

            self._conclusion = Conclusion(self.execution, self.ledger, self._meter, start=self.start)
        return self._conclusion
