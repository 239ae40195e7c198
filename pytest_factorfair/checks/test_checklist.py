"""The shipped test of a checklist; a test of your own looks the same."""

import pytest

from pytest_factorfair.domain import Case
from pytest_factorfair.plugin.fixtures import Ask, RecordAnswers


@pytest.mark.factorfair
def test_checklist(factorfair_case: Case, factorfair_ask: Ask, factorfair_record: RecordAnswers) -> None:
    """The model answers the queries of a case with groups that can be parsed."""
    answers = factorfair_ask(factorfair_case)
    factorfair_record(answers)
    if not answers.readable:
        pytest.fail(answers.explain(), pytrace=False)
