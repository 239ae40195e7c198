"""Repeated answers at temperature 0, counted by hand."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_factorfair.domain import Answer, CaseKey, Record
from pytest_factorfair.models import deterministic
from pytest_factorfair.runs.tabulating import copied, distinct

ANSWER = Answer("q", "answered", "", "A", {"gender": "Female"}, {}, "k")


def _record(model: str, *repeats: int) -> Record:
    answers = tuple(dataclasses.replace(ANSWER, query=f"q{n}", repeat=n) for n in repeats)
    return Record(CaseKey(model, "facts", "case"), answers)


def test_only_the_first_answer_to_a_prompt_counts() -> None:
    records = [_record("cold", 0, 1, 0, 2, 0), _record("warm", 0, 1, 0, 2, 0)]
    cold, warm = distinct(records, {"cold"})
    assert [answer.repeat for answer in cold.answers] == [0, 0, 0]
    assert warm is records[1]
    (line,) = copied(records, {"cold"})
    assert line == (
        "cold: 2 of 5 answers repeat a prompt word for word, and the model is deterministic: they are copies "
        "and not counted"
    )


def test_without_copies_there_is_no_note() -> None:
    assert list(copied([_record("cold", 0, 0)], {"cold"})) == []
    assert distinct([_record("cold", 0, 0)], {"cold"}) == (_record("cold", 0, 0),)


@pytest.mark.parametrize(("identity", "dropped", "expected"), [
    ({"parameters": {"temperature": 0}}, (), True),
    ({"parameters": {"temperature": 0.0}}, (), True),
    ({"temperature": 0}, (), True),
    ({"parameters": {"temperature": 0.7}}, (), False),
    ({"parameters": {}}, (), False),
    ({"provider": "sim"}, (), False),
    ({"parameters": {"temperature": 0}}, ("temperature",), False),
    ({"parameters": {"temperature": 0}}, ("max_tokens",), True),
])  # fmt: skip
def test_deterministic_models_are_recognised(
    identity: dict[str, object], dropped: tuple[str, ...], *, expected: bool
) -> None:
    assert deterministic(identity, dropped) is expected
