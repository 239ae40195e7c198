"""The codec of answers, and answers kept by column, preserve every answer."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.domain import OUTCOMES, Answer, AnswerColumns, CaseKey, Record
from pytest_factorfair.domain.answer import from_json, members, to_json
from pytest_factorfair.labelling.records import JudgedPicture
from pytest_factorfair.runs import transport

TEXT = st.text(st.characters(exclude_categories=()), max_size=8).filter(
    lambda text: text == json.loads(json.dumps(text))  # halves of a surrogate pair, but not both in a row
)
SHARE = st.floats(0, 1)
ANSWER = st.builds(
    Answer,
    query=TEXT,
    outcome=st.sampled_from(OUTCOMES),
    reason=TEXT,
    letter=st.none() | TEXT,
    groups=st.dictionaries(TEXT, TEXT, max_size=3),
    background=st.dictionaries(TEXT, TEXT, max_size=2),
    key=TEXT,
    repeat=st.integers(0, 10**6),
    confidence=st.dictionaries(TEXT, SHARE, max_size=3),
    offered=st.dictionaries(TEXT, st.lists(TEXT, max_size=4).map(tuple), max_size=2),
    probabilities=st.lists(SHARE, max_size=4).map(tuple),
    shares=st.dictionaries(TEXT, st.dictionaries(TEXT, SHARE, max_size=3), max_size=2),
    age=st.none() | st.integers(0, 120),
)


@given(st.lists(ANSWER, max_size=3).map(tuple))
def test_the_codec_decodes_what_it_encoded(answers: tuple[Answer, ...]) -> None:
    text = to_json(answers)
    assert text.isascii()
    assert tuple(map(from_json, json.loads(text))) == answers


@given(ANSWER)
def test_every_reader_and_writer_has_the_same_answer(answer: Answer) -> None:
    """Between processes, in a report, in a sample's key and in memory; reports round confidences."""
    record = Record(CaseKey("m", "c", "a"), (answer,))
    assert transport.unpack(Record, transport.pack(record)) == record
    picture = JudgedPicture(record.case, 1, answer.query, answer.key, answer.repeat, (answer,))
    assert JudgedPicture.from_json(json.loads(json.dumps(picture.to_json()))) == picture
    row = json.loads(f"{{{members(answer, decimals=3)}}}")
    rounded = {name: round(share, 3) for name, share in answer.confidence.items()}
    assert from_json(row) == replace(answer, confidence=rounded)
    assert from_json(json.loads(f"{{{members(answer, key=False)}}}")) == replace(answer, key="")
    assert tuple(AnswerColumns((answer,))) == (answer,)


@given(st.lists(ANSWER, max_size=3).map(tuple))
def test_answers_kept_by_column_are_unchanged(answers: tuple[Answer, ...]) -> None:
    columns = AnswerColumns(answers)
    assert tuple(columns) == answers
    assert len(columns) == len(answers)
    assert columns[1:] == answers[1:]
    assert [columns[index] for index in range(len(answers))] == list(answers)
    assert columns == answers == columns
    assert columns == AnswerColumns(columns)
    assert columns != (*answers, *answers, Answer("more", "error", "", None, {}, {}, ""))
    case = CaseKey("m", "c", "a")
    assert Record(case, columns).outcomes == Record(case, answers).outcomes


def test_recurring_fields_are_kept_once() -> None:
    faces = [
        Answer(str(n), "answered", "", None, {"race": "White"}, {}, str(n), n, {"race": n / 9})
        for n in range(9)
    ]
    earlier, later = AnswerColumns(faces[:5]), AnswerColumns(faces[5:])
    assert len({id(answer.groups) for answer in (*earlier, *later)}) == 1
