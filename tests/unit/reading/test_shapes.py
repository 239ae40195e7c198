"""The shapes of unparsed replies, and their notes in a summary."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import CaseKey, Exchange, Query, Record, Response
from pytest_factorfair.reading import answer, notes, shapes
from pytest_factorfair.reading.outcomes import shape
from tests.unit.reading.option_sets import PEOPLE


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Alex or Sam.", "<name> or <name>."),
        ("sam, 34, or CASEY, 29", "<name>, <number>, or <name>, <number>"),
        ("B) no, C", "<letter>) no, <letter>"),
        ("A person like me: I", "A person like me: I"),
        ("Alexandra of 1,200.5 people", "Alexandra of <number> people"),
        ('{"answer": "E"}', '{"answer": "E"}'),
        ("\x1b[31mred\x1b[0m\n\n \u202etext\u202c", "red text"),
        (" \n", "nothing"),
        ("", "nothing"),
        ("so many words " * 99, "so many words so many words so many words so many words s..."),
    ],
)
def test_names_letters_and_numbers_differ_but_the_words_are_the_shape(reply: str, expected: str) -> None:
    assert shape(reply, PEOPLE) == expected


def exchange(number: int, reply: str | None) -> Exchange:
    query = Query(f"q{number}", "Who?", PEOPLE, repeat=0, seed=0, background={})
    return Exchange(
        query, f"k{number}", None if reply is None else Response(reply), error="" if reply else "down"
    )


def record(model: str, *replies: str | None) -> Record:
    exchanges = [exchange(number, reply) for number, reply in enumerate(replies)]
    answers = tuple(map(answer, exchanges))
    return Record(CaseKey(model, "list", "case"), answers, shapes=shapes(answers, exchanges))


def test_only_replies_that_could_not_be_parsed_have_shapes() -> None:
    recorded = record(
        "m", '{"answer": "A"}', "I'm sorry, I can't choose.", None, "Alex or Sam", "Casey or Sam"
    )
    assert [answer.outcome for answer in recorded.answers] == [
        "answered",
        "refused",
        "error",
        "unparsed",
        "unparsed",
    ]
    assert recorded.shapes == {"<name> or <name>": 2}


def test_a_summary_names_the_three_most_frequent_shapes_of_each_model() -> None:
    records = [
        record("m", "Alex or Sam", "Alex or Sam", "two", "two", "two"),
        record("n", '{"answer": "A"}'),
        record("m", "Casey or Sam", "four 4", "one"),
        record("o", "one"),
    ]
    assert list(notes(records)) == [
        'm: 8 unparsed replies, most often like "<name> or <name>" (3), "two" (3), "four <number>" (1)',
        'o: 1 unparsed reply, most often like "one" (1)',
    ]
