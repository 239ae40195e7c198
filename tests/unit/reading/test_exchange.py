"""From an exchange to an answer."""

from __future__ import annotations

from pytest_factorfair.domain import Answer, Exchange, Query, Response
from pytest_factorfair.reading import answer
from tests.unit.reading.option_sets import PEOPLE

QUERY = Query("q1", "Who?", PEOPLE, repeat=0, seed=1, background={"race": "White"})


def test_an_answer_has_the_groups_of_its_option_and_the_background_of_its_query() -> None:
    assert answer(Exchange(QUERY, "k1", Response('{"answer": "B"}'))) == Answer(
        query="q1",
        outcome="answered",
        reason="",
        letter="B",
        groups={"gender": "male", "race": "Black"},
        background={"race": "White"},
        key="k1",
    )


def test_what_was_not_answered_has_no_groups() -> None:
    read = answer(Exchange(QUERY, "k1", Response("", finish="filtered")))
    assert (read.outcome, read.reason, read.letter, read.groups) == (
        "refused",
        "filtered by the provider",
        None,
        {},
    )
    assert read.background == {"race": "White"}


def test_an_error_is_its_own_reason_even_beside_a_response() -> None:
    failed = Exchange(QUERY, "k1", Response('{"answer": "B"}'), error="400 Bad Request: prompt too long")
    read = answer(failed)
    assert (read.outcome, read.reason, read.letter) == ("error", "400 Bad Request: prompt too long", None)


def test_no_response_and_no_error_is_an_error() -> None:
    read = answer(Exchange(QUERY, "k1", None))
    assert (read.outcome, read.reason) == ("error", "no response")
