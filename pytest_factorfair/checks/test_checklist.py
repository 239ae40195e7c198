"""What a test over a checklist looks like; this one is collected whenever a model is named."""

import pytest

from pytest_factorfair.domain import Case
from pytest_factorfair.plugin.fixtures import Ask, RecordAnswers


@pytest.mark.factorfair
def test_checklist(factorfair_case: Case, factorfair_ask: Ask, factorfair_record: RecordAnswers) -> None:
    """The model answers the queries of a case with groups we can read."""
    answers = factorfair_ask(factorfair_case)
    factorfair_record(answers)
    if not answers.readable:
        pytest.fail(answers.explain(), pytrace=False)
