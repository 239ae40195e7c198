"""The closed forms of position bias, refusals and following a context, measured through real prompts."""

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
    made = [each for each in choices("sim:position_biased", design) if each.case.context]

    assert near((each.chosen is not None and each.chosen.letter == "A" for each in made), 1 / 4 + 3 / 4 * 0.5)
    for race in SAMPLE.attribute("race").groups:
        assert near((each.group("race") == race for each in made), 0.25)


@pytest.mark.parametrize(
    "spec",
    ["sim:uniform", "sim:stereotyped?strength=0.6&attribute=race", "sim:refusing?rate=0.5&group=Black"],
)
@BOTH
def test_without_position_bias_all_letters_are_alike(spec: str, design: Design) -> None:
    letters = [
        each.chosen.letter for each in part(choices(spec, design), "subjective", "race") if each.chosen
    ]

    for letter in "ABCD":
        assert near((each == letter for each in letters), 0.25)


@BOTH
def test_refusing_refuses_at_its_rate_whatever_is_asked(design: Design) -> None:
    made = choices("sim:refusing?rate=0.2", design)

    assert near((each.chosen is None for each in made if each.case.context), 0.2)
    assert near((each.chosen is None for each in made if not each.case.context), 0.2)
    assert all(refuses(each.text) for each in made if each.chosen is None)


@BOTH
def test_refusing_a_group_withholds_it_in_proportion(design: Design) -> None:
    made = [each for each in choices("sim:refusing?rate=0.5&group=Black", design) if each.case.context]
    answered = [each for each in made if each.chosen]

    # A quarter would be Black, half of these are withheld: 1/8 of all, and 1/7 of what is left.
    assert near((each.chosen is None for each in made), 1 / 8)
    assert near((each.group("race") == "Black" for each in answered), 1 / 7)
    assert near((each.group("race") == "Asian" for each in answered), 2 / 7)
    assert all(refuses(each.text) for each in made if each.chosen is None)


def test_refusals_and_nonsense_come_on_top_of_each_other() -> None:
    made = choices("sim:ideal?refuse=0.3&nonsense=0.2", "balanced")
    replied = [each for each in made if not refuses(each.text)]

    assert near((refuses(each.text) for each in made), 0.3)
    assert near((each.chosen is None for each in replied), 0.2)


def test_refusing_a_group_withholds_facts_about_it_too() -> None:
    made = part(choices("sim:refusing?rate=1&group=Black", "balanced"), "objective", "race")

    assert all((each.chosen is None) == (each.truth("race") == "Black") for each in made)


@EITHER
@BOTH
def test_context_following_takes_the_group_named_at_random(attribute: str, design: Design) -> None:
    made = choices(f"sim:context_following?strength=0.6&attribute={attribute}", design)
    attribution = [each for each in made if each.case.context == "attribution"]
    unbiased = other(attribute)

    assert near(_matches(attribution, attribute), closed(0.6, design, attribute))
    assert near(_matches(attribution, unbiased), 1 / K[unbiased])
    assert near(right(part(made, "attribution", attribute), attribute), 1 / K[attribute])


@EITHER
@BOTH
def test_context_following_takes_the_group_a_truth_context_names(attribute: str, design: Design) -> None:
    made = choices(f"sim:context_following?strength=0.6&attribute={attribute}", design)
    seen = part(made, "representativeness", attribute)

    assert near(right(seen, attribute), closed(0.6, design, attribute))
    assert near(right(part(made, "base", attribute), attribute), 1 / K[attribute])


def test_context_following_may_be_prejudiced_besides() -> None:
    made = choices("sim:context_following?strength=0.5&prejudice=0.4&attribute=race", "balanced")

    # Half follow the news, uniform over the groups; the others are prejudiced at 0.4.
    expected = 0.5 / 4 + 0.5 * closed(0.4, "balanced", "race")
    assert near(right(part(made, "attribution", "race"), "race"), expected)
    assert near(right(part(made, "base", "race"), "race"), closed(0.4, "balanced", "race"))


def test_nonsense_names_no_option() -> None:
    made = choices("sim:nonsense", "balanced")

    assert {each.chosen for each in made} == {None}
    assert not any(refuses(each.text) for each in made)
    assert len({each.text for each in made}) > 1


def _matches(made: list[Choice], attribute: str) -> list[bool]:
    return [each.group(attribute) == each.query.background[attribute] for each in made]
