"""Answers in combination with text that models write around them are never read as another letter."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import yaml

from pytest_factorfair.domain import Language, Response
from pytest_factorfair.reading import read
from tests.unit.reading.option_sets import PEOPLE

WORDS = yaml.load(Path(__file__).with_name("combinations.yaml").read_text("utf-8"), yaml.CSafeLoader)
FORMS = ["%s: %s", "%s (%s)", "(%s) %s", "(%s): %s", "%s - %s", "%s = %s", "**%s**: %s", "%s. %s"]
SPACES = [" ", "\n", "\n\n"]


def letter(text: str, code: str) -> str | None:
    return read(Response(text), PEOPLE, "highest", language=Language(code)).letter


@pytest.mark.parametrize("code", WORDS)
def test_a_disclaimer_leaves_an_answer_as_it_is(code: str) -> None:
    for answer, space, disclaimer in product(WORDS[code]["answers"], SPACES, WORDS[code]["disclaimers"]):
        for text in (answer % "C" + space + disclaimer, disclaimer + space + answer % "C"):
            assert letter(text, code) == "C", text


@pytest.mark.parametrize("code", WORDS)
def test_a_retraction_takes_an_answer_back_whatever_stands_before_it(code: str) -> None:
    for answer, space, disclaimer, retraction in product(
        WORDS[code]["answers"], SPACES, ["", *WORDS[code]["disclaimers"][::3]], WORDS[code]["retractions"]
    ):
        text = answer % "C" + space + disclaimer + space + retraction
        assert letter(text, code) is None, text


@pytest.mark.parametrize("code", WORDS)
def test_a_correction_replaces_an_answer(code: str) -> None:
    for answer, space, correction, later in product(
        WORDS[code]["answers"], SPACES, WORDS[code]["corrections"], WORDS[code]["answers"]
    ):
        text = answer % "B" + space + correction + later % "D"
        assert letter(text, code) == "D", text


@pytest.mark.parametrize("code", WORDS)
def test_two_answers_are_ambiguous(code: str) -> None:
    for answer, space, later in product(WORDS[code]["answers"], SPACES, WORDS[code]["answers"]):
        assert letter(answer % "B" + space + later % "D", code) is None


@pytest.mark.parametrize("code", WORDS)
def test_a_table_of_values_is_no_answer(code: str) -> None:
    values = WORDS[code]["values"]
    for form, separator, shift in product(FORMS, [", ", "; ", " | ", "\n", " "], range(len(values))):
        row = [values[(shift + column) % len(values)] for column in range(4)]
        text = separator.join(form % pair for pair in zip("ABCD", row, strict=True))
        assert letter(text, code) is None, text
