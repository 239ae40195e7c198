"""The ledger: adding a record twice changes nothing, and missing cases are known."""

from __future__ import annotations

from pytest_factorfair.domain import Answer, AnswerColumns, CaseKey, Record, Usage
from pytest_factorfair.runs.ledger import Ledger

A, B, C = (CaseKey("m", "c", name) for name in "abc")


def test_records_come_in_the_order_of_the_plan() -> None:
    ledger = Ledger([A, B, C])
    for key in (C, A, C):
        ledger.add(Record(key, ()))
    assert [record.case for record in ledger.records] == [A, C]
    assert (ledger.expected, ledger.missing) == (3, 1)


def test_the_last_record_of_a_case_counts() -> None:
    ledger = Ledger([A])
    ledger.add(Record(A, (), ("first",)))
    ledger.add(Record(A, (), ("second",)))
    assert ledger.records == (Record(A, (), ("second",)),)


def test_records_of_unexpected_cases_are_left_out() -> None:
    ledger = Ledger([B])
    ledger.add(Record(A, ()))
    assert (ledger.records, ledger.expected, ledger.missing) == ((), 1, 1)


def test_answers_beyond_a_number_are_kept_by_column() -> None:
    """Beyond a number of answers, records are stored by column, beginning with the one that exceeds it."""
    answers = [Answer(str(n), "answered", "", "A", {"gender": "Female"}, {}, "k") for n in range(3)]
    ledger = Ledger([A, B], plain=3)
    ledger.add(Record(A, tuple(answers)))
    ledger.add(Record(B, (answers[0],)))
    assert ledger.records == (Record(A, tuple(answers)), Record(B, (answers[0],)))
    assert [type(record.answers) for record in ledger.records] == [tuple, AnswerColumns]


def test_usage_adds_up() -> None:
    ledger = Ledger([A])
    ledger.spend(Usage(calls=2, cached=1, tokens_in=10, tokens_out=3, cost=0.5))
    ledger.spend(Usage(calls=1, cost=None))
    assert ledger.usage == Usage(calls=3, cached=1, tokens_in=10, tokens_out=3, cost=None)
