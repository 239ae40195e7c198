"""Asking from inside a test: submit, wait in the main thread, read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import UNLOGGED, Answers, Usage
from pytest_factorfair.errors import TO_DO, BudgetError, InputError, PendingError, attributed
from pytest_factorfair.plugin.keys import EXECUTION, PROGRESS, RECORD, USAGE
from pytest_factorfair.runs.extensions import READ_ANSWER, Hook

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Case, Query, Reading, Response
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
        run_model = self._execution.run.models[assignment.model]
        if model is run_model:
            self._model = run_model
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
            raise pytest.fail.Exception(str(error), pytrace=False) from None
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


def hooks(config: pytest.Config, name: str, arguments: Mapping[str, object]) -> list[Hook]:
    """The implementations of a hook, in the order in which pytest calls them.

    They are called one by one: pytest itself drops a None, and does not say whose result is wrong.
    """
    return [
        Hook(
            f"{_plugin(config, implementation.plugin_name)}: {name}",
            partial(implementation.function, *(arguments[argument] for argument in implementation.argnames)),
        )
        for implementation in reversed(getattr(config.hook, name).get_hookimpls())
    ]


def _plugin(config: pytest.Config, name: str) -> str:
    """A plugin in messages: the path of a conftest.py, or its name."""
    path = Path(name)
    if not path.is_absolute():
        return f"plugin '{name}'"
    return str(path.relative_to(config.rootpath) if path.is_relative_to(config.rootpath) else path)


def reader(config: pytest.Config) -> ReadAnswer:
    """What the hooks ``pytest_factorfair_read_answer`` read in a reply: the first result that is not None."""

    def read(response: Response, query: Query) -> Reading | None:
        from pytest_factorfair.runs.answering import checked  # not before something is asked

        for hook in hooks(config, READ_ANSWER, {"response": response, "query": query}):
            with attributed(hook.where):
                returned = hook.call()
            if (reading := checked(returned, query, hook.where)) is not None:
                return reading
        return None

    return read
