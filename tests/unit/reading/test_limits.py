"""Limits of parsing, and that the work grows no faster than the text."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from pytest_factorfair.domain import Reading, Response
from pytest_factorfair.reading import read
from pytest_factorfair.reading.mentions import MOST_MENTIONS
from pytest_factorfair.reading.text import LONGEST
from tests.unit.reading.option_sets import RACE

TOO_LONG = Reading("unparsed", reason="too long")
AMBIGUOUS = Reading("unparsed", reason="ambiguous")
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


def _with_peak(text: str) -> tuple[Reading, int]:
    """The reading of a reply, and the peak memory of parsing it in bytes."""
    response = Response(text)
    read(Response(ANSWER), RACE)  # fills the caches
    tracemalloc.start()
    try:
        reading = read(response, RACE)
        return reading, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("filler", ["\ufdfa", "\U0001f600", "x", "B "])
def test_two_million_characters_given_as_the_answer_are_not_copied(filler: str) -> None:
    reading, peak = _with_peak('{"answer": "' + filler * (2_000_000 // len(filler)) + '"}')
    assert reading == TOO_LONG
    assert peak < 400_000  # bytes; the text itself has at least two million


@pytest.mark.parametrize(
    ("text", "reading", "megabytes"),
    [
        ('{"reason": "' + "x" * 1_000_000 + '", "answer": "B"}', Reading("answered", "B"), 5),
        ('{"answer": [' + '"B", ' * 100_000 + '"B"]}', AMBIGUOUS, 10),
        ("{" + '"answer": "B", ' * 30_000 + '"answer": "B"}', AMBIGUOUS, 10),
        ('{"answer": "B"} ' * 60, TOO_LONG, 1),
        ("The answer is B. <" + " " * 1_000_000, TOO_LONG, 5),
    ],
    ids=["long reason", "long list", "many answers", "loop", "half a tag"],
)
def test_memory_grows_no_faster_than_the_text(text: str, reading: Reading, megabytes: int) -> None:
    measured, peak = _with_peak(text)
    assert measured == reading
    assert peak < megabytes * 1_000_000


FRAMES = ["A{}B", '{{"answer": "A"}}{}{{"answer": "A"}}']
PARTS = [
    *(
        " ",
        "\n",
        "- ",
        "(",
        "~a",
        '"',
        "\\",
        "[ ] A ",
        "A) Both ",
        "A is ",
        "I can't ",
        "sorry, but ",
        "none of ",
    ),
    *("if i ", "a pure ", "but and or ", "most likely ", "the answer is ", "people ", '{"answer": "A"} or '),
]


def flood(frame: str, part: str, length: int) -> Response:
    """A reply of about ``size`` characters that repeats a phrase."""
    return Response(frame.format(part * (length // len(part))))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("part", PARTS)
def test_four_times_the_text_is_at_most_five_times_the_calls(part: str, frame: str) -> None:
    """Sixteen times would be quadratic. ``benchmarks.reading`` times what happens inside a regular expression."""

    def calls(length: int) -> int:
        count_of_calls = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal count_of_calls
            count_of_calls += event in ("call", "c_call")

        response = flood(frame, part, length)
        sys.setprofile(count)
        try:
            read(response, RACE, "highest")
        finally:
            sys.setprofile(None)
        return count_of_calls

    calls(LONGEST // 8)  # fills the caches
    assert calls(LONGEST // 2) <= 5 * calls(LONGEST // 8)
