"""Properties that hold for any reply."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_factorfair.domain import OUTCOMES, Option, Reading, Response
from pytest_factorfair.reading import REASONS, read
from tests.unit.reading.option_sets import GENDER, OPTION_SETS, PEOPLE, RACE

FRAGMENTS = (
    *(
        '{"answer": "',
        '"}',
        "A",
        "B",
        "E",
        "answer: ",
        "I choose ",
        "not ",
        " or ",
        ", ",
        ". ",
        "\n",
        "```",
        "**",
    ),
    *(
        "<think>",
        "</think>",
        "\\boxed{",
        "}",
        "Black",
        "Alex",
        "male",
        "most likely ",
        "wait, ",
        "I can't ",
        "?",
    ),
    *(
        "\ud800",
        "\u200b",
        "\x1b[1m",
        "\ufdfa",
        "答案\uff1a",
        "non-",
        "White-",
        "'",
        "(",
        "&amp;",
        "<b>",
        " is ",
    ),
)
TEXTS = st.one_of(
    st.text(st.characters(), max_size=200),  # with lone surrogates
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
)
OPTIONS = st.sampled_from(list(OPTION_SETS.values()))


@given(TEXTS, OPTIONS)
def test_any_text_has_a_reading_among_the_letters_and_reasons(text: str, options: tuple[Option, ...]) -> None:
    reading = read(Response(text), options)
    offered = {option.letter for option in options}
    assert reading.outcome in OUTCOMES
    assert reading.reason in REASONS
    assert (reading.letter in offered) == (reading.outcome == "answered") == (reading.reason == "")
    assert reading.letter is None or reading.letter in offered


@given(st.sampled_from(string.ascii_uppercase), st.integers(2, 26))
def test_exact_json_is_read_for_every_letter_that_was_offered(letter: str, count: int) -> None:
    options = tuple(
        Option(character, f"Group {character * 3}", (f"Group {character * 3}",), {})
        for character in string.ascii_uppercase
    )
    reading = read(Response(json.dumps({"answer": letter})), options[:count])
    offered = letter <= string.ascii_uppercase[count - 1]
    assert reading == (
        Reading("answered", letter) if offered else Reading("unparsed", reason="names an option not offered")
    )


@given(
    st.sampled_from(RACE + PEOPLE + GENDER), st.sampled_from(["Answer: {}", "I would choose {}.", "**{}**"])
)
def test_text_and_words_of_an_option_name_it(option: Option, form: str) -> None:
    options = next(options for options in OPTION_SETS.values() if option in options)
    for name in (option.letter, option.text, *option.words):
        assert read(Response(form.format(name)), options).letter == option.letter


@given(st.text(st.characters(categories=["Cs"]), min_size=1, max_size=5))
def test_lone_surrogates_around_json_do_not_hide_it(broken: str) -> None:
    assert read(Response(f'{broken}{{"answer": "C"}}{broken}'), RACE).letter == "C"


@given(st.permutations(RACE))
def test_the_letter_follows_the_order_of_the_options(shuffled: list[Option]) -> None:
    options = tuple(
        Option(letter, option.text, option.words, option.groups)
        for letter, option in zip("ABCD", shuffled, strict=True)
    )
    reading = read(Response("The answer is African American."), options)
    option = next(option for option in options if option.letter == reading.letter)
    assert option.text == "Black"


@pytest.mark.parametrize("filler", ["x", " ", "\n", "{", "[", '{"a":', "B ", "<", "*", "\u200b", "I choose "])
def test_a_megabyte_is_read_only_to_find_that_it_is_too_long(filler: str) -> None:
    text = f"The answer is B. {filler * (1_000_000 // len(filler))} The answer is B."
    assert read(Response(text), RACE) == Reading("unparsed", reason="too long")
