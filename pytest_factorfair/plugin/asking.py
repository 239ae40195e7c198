"""Asking from inside a test: submit, wait in the main thread, read."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import Answers, Exchange, Usage
from pytest_factorfair.engine import usage
from pytest_factorfair.errors import BudgetError, InputError
from pytest_factorfair.models.callable import coerce
from pytest_factorfair.plugin.keys import PROGRESS, RUN, USAGE

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Case
    from pytest_factorfair.models import Model
    from pytest_factorfair.session.composition import Assignment

TICK = 0.1
"""Seconds between looks at the progress line, and the longest a Ctrl-C waits."""


class Asker:
    """Asks on behalf of one item."""

    def __init__(
        self, item: pytest.Item, assignment: Assignment, model: object, detector: Detector | None
    ) -> None:
        self._item = item
        self._config = item.config
        self._run = item.config.stash[RUN]
        self._assignment = assignment
        self._model = _model(model, assignment)
        self._detector = detector

    def __call__(self, case: Case) -> Answers:
        """Ask every query of the case and read the replies, in the order of the queries.

        Raises:
            FatalModelError: no call can succeed; the run stops.
            StoreError: responses can no longer be kept; the run stops.
            DetectorError: pictures cannot be read; the run stops.
        """
        if case != self._assignment.case:
            raise ValueError(f"this item is about {self._assignment.case.id}, not {case.id}")
        exchanges = self._asked()
        from pytest_factorfair import reading  # while the first answers are on their way
        from pytest_factorfair.session.answering import recorded

        cost = usage(exchanges)
        self._item.stash[USAGE] = self._item.stash.get(USAGE, Usage()) + self._run.unaccounted(cost)
        record = recorded(self._config, self._run, self._assignment, exchanges, self._detector)
        return Answers(
            case=self._assignment.key,
            answers=record.answers,
            usage=cost,
            allowed=self._run.settings.max_unparsed,
            notes=record.notes,
            choices=record.choices,
            example=reading.example(record.answers, exchanges, replay=self._run.settings.replay),
        )

    def _asked(self) -> tuple[Exchange, ...]:
        """The exchanges; where the run's limits do not allow for them, the item is skipped, the run ends."""
        try:
            return self._wait(self._run.submit(self._assignment, self._model))
        except BudgetError as error:
            self._item.session.shouldstop = str(error)
            pytest.skip(str(error))

    def _wait(self, future: Future[tuple[Exchange, ...]]) -> tuple[Exchange, ...]:
        progress = self._config.stash.get(PROGRESS, None)
        while not future.done():
            try:
                future.result(TICK)
            except TimeoutError:
                if progress is not None:
                    progress.tick()
        return future.result()


def _model(thing: object, assignment: Assignment) -> Model:
    """What the fixture gave, as a model: an override in a conftest.py may give a function."""
    try:
        return coerce(thing, assignment.model, modality=assignment.checklist.modality)
    except InputError as error:
        pytest.fail(f"factorfair_model: {error}", pytrace=False)
