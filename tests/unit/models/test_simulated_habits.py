"""The closed forms of position bias, refusals and following a context, measured with real prompts."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Design
from tests.unit.models.asking import (
    Choice,
    K,
    choices,
    closed,
    near,
    other,
    part,
    refuses,
    right,
)
from tests.unit.models.sample import SAMPLE

BOTH = pytest.mark.parametrize("design", ["balanced", "paper"])
EITHER = pytest.mark.parametrize("attribute", ["gender", "race"])


@BOTH
def test_position_bias_shows_in_the_letters_alone(design: Design) -> None:
    answers = [answer for answer in choices("sim:position_biased", design) if answer.case.context]

    assert near(
        (answer.option is not None and answer.option.letter == "A" for answer in answers), 1 / 4 + 3 / 4 * 0.5
    )
    for race in SAMPLE.attribute("race").groups:
        assert near((answer.group("race") == race for answer in answers), 0.25)


@pytest.mark.parametrize(
    "spec",
    ["sim:uniform", "sim:stereotyped?strength=0.6&attribute=race", "sim:refusing?rate=0.5&group=Black"],
)
@BOTH
def test_without_position_bias_all_letters_are_alike(spec: str, design: Design) -> None:
    letters = [
        answer.option.letter for answer in part(choices(spec, design), "subjective", "race") if answer.option
    ]

    for letter in "ABCD":
        assert near((named_letter == letter for named_letter in letters), 0.25)


@BOTH
def test_refusing_refuses_at_its_rate_whatever_is_asked(design: Design) -> None:
    answers = choices("sim:refusing?rate=0.2", design)

    assert near((answer.option is None for answer in answers if answer.case.context), 0.2)
    assert near((answer.option is None for answer in answers if not answer.case.context), 0.2)
    assert all(refuses(answer.text) for answer in answers if answer.option is None)


@BOTH
def test_refusing_a_group_withholds_it_in_proportion(design: Design) -> None:
    answers = [
        answer for answer in choices("sim:refusing?rate=0.5&group=Black", design) if answer.case.context
    ]
    answered = [answer for answer in answers if answer.option]

    # A quarter would be Black, half of these are withheld: 1/8 of all, and 1/7 of what is left.
    assert near((answer.option is None for answer in answers), 1 / 8)
    assert near((answer.group("race") == "Black" for answer in answered), 1 / 7)
    assert near((answer.group("race") == "Asian" for answer in answered), 2 / 7)
    assert all(refuses(answer.text) for answer in answers if answer.option is None)


def test_refusals_and_nonsense_come_on_top_of_each_other() -> None:
    answers = choices("sim:ideal?refuse=0.3&nonsense=0.2", "balanced")
    replied = [answer for answer in answers if not refuses(answer.text)]

    assert near((refuses(answer.text) for answer in answers), 0.3)
    assert near((answer.option is None for answer in replied), 0.2)


def test_refusing_a_group_withholds_facts_about_it_too() -> None:
    answers = part(choices("sim:refusing?rate=1&group=Black", "balanced"), "objective", "race")

    assert all((answer.option is None) == (answer.truth("race") == "Black") for answer in answers)


@EITHER
@BOTH
def test_context_following_takes_the_group_named_at_random(attribute: str, design: Design) -> None:
    answers = choices(f"sim:context_following?strength=0.6&attribute={attribute}", design)
    attribution = [answer for answer in answers if answer.case.context == "attribution"]
    unbiased = other(attribute)

    assert near(_matches(attribution, attribute), closed(0.6, design, attribute))
    assert near(_matches(attribution, unbiased), 1 / K[unbiased])
    assert near(right(part(answers, "attribution", attribute), attribute), 1 / K[attribute])


@EITHER
@BOTH
def test_context_following_takes_the_group_a_truth_context_names(attribute: str, design: Design) -> None:
    answers = choices(f"sim:context_following?strength=0.6&attribute={attribute}", design)
    seen = part(answers, "representativeness", attribute)

    assert near(right(seen, attribute), closed(0.6, design, attribute))
    assert near(right(part(answers, "base", attribute), attribute), 1 / K[attribute])


def test_context_following_may_be_prejudiced_besides() -> None:
    answers = choices("sim:context_following?strength=0.5&prejudice=0.4&attribute=race", "balanced")

    # Half follow the news, uniform over the groups; the others are prejudiced at 0.4.
    expected = 0.5 / 4 + 0.5 * closed(0.4, "balanced", "race")
    assert near(right(part(answers, "attribution", "race"), "race"), expected)
    assert near(right(part(answers, "base", "race"), "race"), closed(0.4, "balanced", "race"))


def test_nonsense_names_no_option() -> None:
    answers = choices("sim:nonsense", "balanced")

    assert {answer.option for answer in answers} == {None}
    assert not any(refuses(answer.text) for answer in answers)
    assert len({answer.text for answer in answers}) > 1


def _matches(answers: list[Choice], attribute: str) -> list[bool]:
    return [answer.group(attribute) == answer.query.background[attribute] for answer in answers]
