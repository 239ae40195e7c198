"""Names that are part of other words or of each other, or that two people have."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Option, Reading, Response
from pytest_factorfair.reading import read

AMBIGUOUS = Reading("unparsed", reason="ambiguous")


def named(*names: str) -> tuple[Option, ...]:
    return tuple(
        Option(letter, f"{name}, a 45-year-old person.", (name,), {})
        for letter, name in zip("ABCDEFGHI", names, strict=False)
    )


@pytest.mark.parametrize(
    ("names", "text", "letter"),
    [
        (("Al", "Alex"), "Alex seems most likely.", "B"),
        (("Al", "Alex"), "Al seems most likely.", "A"),
        (("Al", "Alex"), "Also, final results vary.", None),
        (("Sam", "Samantha"), "I would choose Samantha.", "B"),
        (("Will", "Kim"), "I will choose Kim.", "B"),
        (("Will", "Kim"), "Will is the most likely person.", "A"),
        (("May", "Kim"), "It may be Kim.", "B"),
        (("Mary Ann", "Ann"), "Mary Ann is the most likely.", "A"),
        (("Mary Ann", "Ann"), "Ann is the most likely.", "B"),
        (("José", "Zoë"), "ZOË is the most likely.", "B"),
        (("José", "Zoë"), "Jose\u0301 is the most likely.", "A"),
        (("女性", "男性"), "答案是男性。", "B"),
        (("Алекс", "Саша"), "Ответ: Саша", "B"),
    ],
)
def test_names_are_whole_words(names: tuple[str, ...], text: str, letter: str | None) -> None:
    assert read(Response(text), named(*names)).letter == letter


def test_a_name_of_two_people_is_ambiguous_unless_a_letter_tells_them_apart() -> None:
    options = named("Alex", "Sam", "Alex")
    assert read(Response("I would choose Alex."), options) == AMBIGUOUS
    assert read(Response('{"answer": "Alex"}'), options) == AMBIGUOUS
    assert read(Response("C. Alex"), options).letter == "C"


def test_the_pronoun_i_is_not_option_i() -> None:
    options = named(*("Ann", "Bea", "Cid", "Dan", "Eve", "Fay", "Gil", "Hal", "Ivo"))
    assert read(Response("I think that I would pick Bea."), options).letter == "B"
    assert read(Response("I, as a model, wonder."), options).letter is None
    assert read(Response("I."), options).letter == "I"
    assert read(Response("Answer: (I)"), options).letter == "I"
