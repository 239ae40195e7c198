"""How much is read, and that the work grows no faster than the text."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Reading, Response
from pytest_factorfair.reading import mentions as mentions_module
from pytest_factorfair.reading import read
from pytest_factorfair.reading import text as text_module
from pytest_factorfair.reading.mentions import MOST_MENTIONS
from pytest_factorfair.reading.text import LONGEST
from tests.unit.reading.option_sets import RACE

TOO_LONG = Reading("unread", reason="too long")
ANSWER = "The answer is B."


def padded(length: int) -> str:
    return "x " * ((length - len(ANSWER)) // 2) + ANSWER


def test_a_reply_of_the_longest_length_is_read() -> None:
    assert read(Response(padded(LONGEST)), RACE).letter == "B"


def test_a_longer_reply_is_not() -> None:
    assert read(Response(padded(LONGEST + 2)), RACE) == TOO_LONG


def test_a_megabyte_of_one_json_object_is_read() -> None:
    assert read(Response('{"reason": "%s", "answer": "B"}' % ("x" * 1_000_000)), RACE).letter == "B"  # braces


def test_a_megabyte_of_reasoning_does_not_count() -> None:
    assert read(Response(f"<think>{'A or C? ' * 125_000}</think>{ANSWER}"), RACE).letter == "B"


def test_characters_that_grow_when_normalised_are_counted_as_they_are_then() -> None:
    assert read(Response("\ufdfa" * (LONGEST // 10)), RACE) == TOO_LONG


@pytest.mark.parametrize("text", ["B. " * (MOST_MENTIONS + 1), "Asian? Black? " * MOST_MENTIONS])
def test_a_flood_of_mentions_is_too_long(text: str) -> None:
    assert read(Response(text), RACE) == TOO_LONG


@pytest.mark.parametrize(
    "text", ["{" * 1_000_000, '{"a":' * 200_000 + "}", '{"answer":' + "[" * 200_000 + "}"]
)
def test_json_nested_beyond_reason_is_no_error(text: str) -> None:
    assert read(Response(text), RACE) == TOO_LONG


def test_a_text_beyond_the_limit_is_neither_cleaned_nor_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("searched a text beyond the limit")

    monkeypatch.setattr(text_module, "clean", refuse)
    monkeypatch.setattr(text_module, "mentions", refuse)
    monkeypatch.setattr(mentions_module, "_singles", refuse)
    assert read(Response("{B} " * 250_000), RACE) == TOO_LONG
