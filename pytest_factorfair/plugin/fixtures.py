"""The fixtures of tests over a checklist."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.plugin.keys import EXECUTION, RECORD

if TYPE_CHECKING:
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Answers, Case
    from pytest_factorfair.models import Model
    from pytest_factorfair.runs.run import Assignment

Ask = Callable[["Case"], "Answers"]
"""Ask the model every query of a case, and read its answers."""

RecordAnswers = Callable[["Answers"], None]
"""Record a case's answers, so that they count towards the scores."""


@pytest.fixture
def factorfair_assignment(request: pytest.FixtureRequest) -> Assignment:
    """The case and the model of this item; parametrized by the plugin, one item each."""
    assignment: Assignment = request.param
    return assignment


@pytest.fixture
def factorfair_case(factorfair_assignment: Assignment) -> Case:
    """The checklist case of this item."""
    return factorfair_assignment.case


@pytest.fixture
def factorfair_model(factorfair_assignment: Assignment, pytestconfig: pytest.Config) -> Model:
    """The model under test. Override it in a conftest.py to wrap or replace it.

    An override may return a ``Model``, or any function that takes the prompt and returns the reply.
    """
    model: Model = pytestconfig.stash[EXECUTION].run.models[factorfair_assignment.model]
    return model


@pytest.fixture(scope="session")
def factorfair_detector(pytestconfig: pytest.Config) -> Detector | None:
    """The detector that reads the pictures of an image model, loaded once per process; None for text.

    Override it in a conftest.py to wrap or replace it.
    """
    detector: Detector | None = pytestconfig.stash[EXECUTION].run.detector
    return detector


@pytest.fixture
def factorfair_ask(
    factorfair_assignment: Assignment,
    factorfair_model: object,
    factorfair_detector: Detector | None,
    request: pytest.FixtureRequest,
) -> Ask:
    """Ask the model every query of a case; stored answers are not asked again."""
    from pytest_factorfair.plugin.asking import Asker

    return Asker(request.node, factorfair_assignment, factorfair_model, factorfair_detector)


@pytest.fixture
def factorfair_record(request: pytest.FixtureRequest) -> RecordAnswers:
    """Record a case's answers, which this item's report carries to the controlling process."""

    def record(answers: Answers) -> None:
        request.node.stash[RECORD] = answers.record

    return record
