"""Asking from inside a test: submit, wait in the main thread, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import UNLOGGED, Answers, Usage
from pytest_factorfair.errors import TO_DO, BudgetError, InputError, PendingError
from pytest_factorfair.plugin.keys import EXECUTION, PROGRESS, RECORD, USAGE

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Case, Query, Response
    from pytest_factorfair.runs.answering import ReadAnswer
    from pytest_factorfair.runs.run import Assignment


class Asker:
    """Asks on behalf of one item."""

    def __init__(
        self, item: pytest.Item, assignment: Assignment, model: object, detector: Detector | None
    ) -> None:
        self._item = item
        self._execution = item.config.stash[EXECUTION]
        self._assignment = assignment
        self._detector = detector
        own = self._execution.run.models[assignment.model]
        if model is own:
            self._model = own
            return
        # Here, because it imports asyncio, which collecting does not need.
        from pytest_factorfair.models.callable import coerce

        try:  # an override in a conftest.py may return a function
            self._model = coerce(model, assignment.model, modality=assignment.checklist.modality)
        except InputError as error:
            pytest.fail(f"factorfair_model: {error}", pytrace=False)

    def __call__(self, case: Case) -> Answers:
        """Ask every query of the case and read the replies, in the order of the queries.

        If a limit of the run is reached, or answers are in batches, the item is skipped and the run ends. An
        item that a log lacks is skipped, too, and recorded.

        Raises:
            FatalModelError: no call can succeed; the run stops.
            StoreError: responses can no longer be stored; the run stops.
            DetectorError: pictures cannot be read; the run stops.
        """
        item, execution, assignment = self._item, self._execution, self._assignment
        if case != assignment.case:
            raise ValueError(f"this item is about {assignment.case.id}, not {case.id}")
        if item.config.pluginmanager.hasplugin("pytest_forked") and item.get_closest_marker("forked"):
            pytest.fail("mark forked: a fork cannot ask; leave the mark out", pytrace=False)
        settings = execution.run.settings
        try:
            submitted = execution.submissions.submit(assignment, self._model)
            exchanges = execution.submissions.wait(submitted, item.config.stash[PROGRESS].tick)
            from pytest_factorfair import reading  # imported while the first answers were on their way

            item.stash[USAGE] = item.stash.get(USAGE, Usage()) + execution.account.unaccounted(exchanges)
            record = execution.submissions.reader.record(assignment, exchanges, detector=self._detector)
        except (BudgetError, PendingError) as error:
            item.session.shouldstop = problem = str(error).partition(TO_DO)[0]
            pytest.skip(problem)
        except InputError as error:
            pytest.fail(str(error), pytrace=False)
        if all(answer.reason == UNLOGGED for answer in record.answers):
            item.stash[RECORD] = record
            pytest.skip(UNLOGGED)
        return Answers(
            record,
            usage=Usage.of(exchanges),
            example=reading.example(
                record.answers,
                exchanges,
                reuse=settings.reuse,
                modes=execution.run.other_modes(self._model),
                logged=execution.run.logged(self._model),
            ),
        )


def reader(config: pytest.Config) -> ReadAnswer:
    """The implementations of the hook ``pytest_factorfair_read_answer`` in conftest.py files."""
    hook = config.hook.pytest_factorfair_read_answer

    def read(response: Response, query: Query) -> object:
        return hook(response=response, query=query)

    return read
