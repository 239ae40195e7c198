"""Reading the probabilities of letters from a distribution over tokens."""

from __future__ import annotations

import json

import pytest

from pytest_factorfair.domain import Exchange, Query, Response
from pytest_factorfair.reading import answer
from pytest_factorfair.reading.answers import likeliest
from tests.unit.reading.option_sets import PEOPLE

LETTERS = ("A", "B")


def test_the_variants_of_a_letter_are_summed() -> None:
    tokens = {"A": 0.4, " A": 0.1, 'B"': 0.2, '"A"': 0.05, "\u2581B": 0.1, "I": 0.15}
    reading = likeliest(json.dumps(tokens), LETTERS)
    assert (reading.outcome, reading.letter) == ("answered", "A")
    assert reading.probabilities == pytest.approx({"A": 0.55, "B": 0.3})


@pytest.mark.parametrize(
    ("tokens", "outcome"),
    [
        ({"A": 0.6, "the": 0.39, "x": 0.006}, "unparsed"),
        ({"A": 0.6, "the": 0.39, "x": 0.005}, "answered"),
        ({"A": 0.6, "B": 0.39, "x": 0.01}, "answered"),
    ],
)
def test_an_unlisted_letter_is_at_most_as_likely_as_the_rarest_listed_token(
    tokens: dict[str, float], outcome: str
) -> None:
    assert likeliest(json.dumps(tokens), LETTERS).outcome == outcome


@pytest.mark.parametrize(
    "text",
    [
        "", "A", "[]", "{}", "null", '["A"]', '{"A": "0.5"}', '{"A": NaN, "B": 0.5}', '{"A": Infinity}',
        '{"A": -0.1, "B": 0.5}', '{"A": 0.6, "B": 0.402}', '{"A": null}', '{"A": 1.2}', "[" * 9999,
    ],
)  # fmt: skip
def test_what_is_no_distribution_is_unparsed(text: str) -> None:
    reading = likeliest(text, LETTERS)
    assert (reading.outcome, reading.reason) == ("unparsed", "no probabilities")


@pytest.mark.parametrize("tokens", [{"\u0410": 0.9, "\u0411": 0.1}, {"AB": 0.9}, {"answer": 0.5}])
def test_tokens_in_another_script_or_merged_are_no_letters(tokens: dict[str, float]) -> None:
    assert likeliest(json.dumps(tokens), LETTERS).reason == "no letter among the likeliest tokens"


@pytest.mark.parametrize("tiny", [0.0, 4e-7])
def test_letters_that_have_next_to_no_probability_are_no_answer(tiny: float) -> None:
    """Letters with almost no probability are no answer, although local models list every letter."""
    reading = likeliest(json.dumps({"I": 0.9, "A": tiny, "B": tiny}), LETTERS)
    assert (reading.outcome, reading.reason) == ("unparsed", "no letter among the likeliest tokens")


def test_rounding_may_exceed_one() -> None:
    assert likeliest('{"A": 0.6, "B": 0.4009}', LETTERS).outcome == "answered"


def test_an_answer_has_the_groups_of_the_likeliest_letter_and_all_probabilities() -> None:
    asked = Query("q1", "Who?", PEOPLE, repeat=0, seed=1, background={})
    text = '{"C": 0.5, "A": 0.2, "D": 0.1, "B": 0.1}'
    answered = answer(Exchange(asked, "k1", Response(text)), answers="probabilities")
    assert (answered.letter, answered.groups) == ("C", {"gender": "female", "race": "Hispanic"})
    assert answered.probabilities == (0.2, 0.1, 0.5, 0.1)
    refused = answer(Exchange(asked, "k1", Response("", "refusal")), answers="probabilities")
    assert (refused.outcome, refused.probabilities) == ("refused", ())
