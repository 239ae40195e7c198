"""Answers stored by column are the same when unpacked, whatever a model or detector returned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.domain import OUTCOMES, Answer, AnswerColumns, CaseKey, Record

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)  # half a surrogate pair, too
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
)


@given(st.lists(ANSWER, max_size=5).map(tuple))
def test_each_comes_back_as_it_was(answers: tuple[Answer, ...]) -> None:
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


def test_what_recurs_is_kept_once() -> None:
    faces = [
        Answer(str(n), "answered", "", None, {"race": "White"}, {}, str(n), n, {"race": n / 9})
        for n in range(9)
    ]
    earlier, later = AnswerColumns(faces[:5]), AnswerColumns(faces[5:])
    assert len({id(answer.groups) for answer in (*earlier, *later)}) == 1
