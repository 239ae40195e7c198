"""The simulated image model: the groups that its code cards show."""

from __future__ import annotations

import asyncio
from ast import literal_eval
from collections import Counter
from dataclasses import replace
from functools import cache
from math import sqrt
from pathlib import Path

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.domain import Attribute, Request, Response, Sampling
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.simulated.painter import build
from pytest_factorfair.models.spec import parse
from pytest_factorfair.pictures import cards, classes
from tests.unit.checklist.files import fact_or_fair

pytestmark = pytest.mark.usefixtures("codes")

GROUPS = {"White": "White", "Black": "Black", "Latino_Hispanic": "Hispanic", "East Asian": "Asian",
          "Female": "Female", "Male": "Male"}  # fmt: skip
SAMPLING = Sampling("balanced", 1, 1, seed=7, images=6).of("image")


@cache
def portraits() -> FactOrFair:
    return fact_or_fair("fact_or_fair_t2i", truth="audited", base=Path())


def paint(spec: str, *parts: str) -> list[tuple[TopicCase, Response]]:
    """The pictures for the cases of a part, or of both parts."""
    model = build(parse(spec, {}, checklists=(portraits(),)))
    asked = [
        (case, Request.of(query))
        for case in cases(portraits(), SAMPLING)
        if not parts or case.part in parts
        for query in queries(portraits(), case, SAMPLING)
    ]

    async def all_of_them() -> list[Response]:
        return [await model.ask(request) for _, request in asked]

    return [(case, response) for (case, _), response in zip(asked, asyncio.run(all_of_them()), strict=True)]


def shown(response: Response) -> dict[str, str]:
    """The groups of the only person on a picture, by its codes."""
    ((person,), _) = literal_eval((response.image or b"").decode())
    return {head: GROUPS[classes.HEADS[head][code]] for head, code in person.items()}


@pytest.mark.parametrize(
    ("spec", "part", "expected"),
    [
        ("sim:oracle", "objective", {"race": 1.0, "gender": 1.0}),
        ("sim:oracle", "subjective", {"race": 0.25, "gender": 1.0}),
        ("sim:contrary", "objective", {"race": 0.0}),
        ("sim:contrary?attribute=race", "subjective", {"race": 0.0, "gender": 0.5}),
        ("sim:ideal", "subjective", {"gender": 0.5}),
        ("sim:uniform", "objective", {"race": 0.25}),
        ("sim:stereotyped?strength=0.4&attribute=race", "subjective", {"race": 0.4 + 0.6 / 4}),
        ("sim:reversed?attribute=race", "objective", {"race": 0.0, "gender": 0.0}),
        (
            "sim:stereotyped?strength=0.4&attribute=race&when=direction:highest",
            "highest",
            {"race": 0.4 + 0.6 / 4},
        ),
        ("sim:stereotyped?strength=0.4&attribute=race&when=direction:highest", "lowest", {"race": 0.25}),
        ("sim:oracle?attribute=race+oracle?attribute=gender", "subjective", {"race": 1.0, "gender": 1.0}),
        ("sim:ideal?knowledge=0.6", "objective", {"race": 0.6 + 0.4 / 4, "gender": 0.6 + 0.4 / 2}),
    ],
)
def test_true_groups_are_shown_as_often_as_they_should(
    spec: str, part: str, expected: dict[str, float]
) -> None:
    """The share of true groups, in cases whose statistic has one."""
    parts = [part] if part in ("objective", "subjective") else []
    pictures, statistics = (
        paint(spec, *parts),
        {statistic.id: statistic for statistic in portraits().statistics},
    )
    pictures = [
        (case, response)
        for case, response in pictures
        if part in (case.part, case.part != "objective" and case.direction)
    ]
    far = {}
    for attribute, share in expected.items():
        true = [
            shown(response)[attribute] == statistics[case.statistic].truths[attribute].at(case.direction)
            for case, response in pictures
            if attribute in case.attributes
        ]
        rate, error = sum(true) / len(true), sqrt(share * (1 - share) / len(true))
        if abs(rate - share) > 4 * error:
            far[attribute] = rate
    assert not far


def test_constant_shows_one_group() -> None:
    pictures = paint("sim:constant?group=Hispanic", "subjective")
    seen = Counter(shown(response)["race"] for _, response in pictures)
    assert seen == {"Hispanic": 38 * 6}


def test_avoiding_shows_everyone_else() -> None:
    pictures = paint("sim:avoiding?group=Black,Asian", "subjective")
    seen = Counter(shown(response)["race"] for _, response in pictures)
    assert set(seen) == {"Hispanic", "White"}
    assert abs(seen["White"] / (38 * 6) - 0.5) < 4 * sqrt(0.25 / (38 * 6))


def test_one_of_several_combinations_of_groups() -> None:
    pictures = paint("sim:constant?group=Black/Male,White/Female", "subjective")
    seen = Counter(tuple(sorted(shown(response).values())) for _, response in pictures)
    assert set(seen) == {("Black", "Male"), ("Female", "White")}


def test_same_request_same_picture_wherever_asked() -> None:
    pictures, repeated = (paint("sim:stereotyped") for _ in range(2))
    assert [response.image for _, response in pictures] == [response.image for _, response in repeated]
    assert len({response.image for _, response in pictures}) == 456  # each with a seed of its own


def test_refusals_come_at_their_rate() -> None:
    responses = [response for _, response in paint("sim:refusing?rate=0.3")]
    refused = sum(response.finish == "refusal" for response in responses)
    assert abs(refused / len(responses) - 0.3) < 4 * sqrt(0.3 * 0.7 / len(responses))
    assert all((response.image is None) == (response.finish == "refusal") for response in responses)


def test_nonsense_shows_nobody() -> None:
    responses = [response for _, response in paint("sim:nonsense")]
    assert all(response.finish == "stop" and response.image for response in responses)


def test_a_prompt_of_nothing_known_shows_nobody() -> None:
    model = build(parse("sim:ideal", {}, checklists=(portraits(),)))
    response = asyncio.run(model.ask(Request("A portrait of a cat.", 0, 5)))
    assert response.image == cards.blank(seed=5)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sim:position_biased", "model 'sim:position_biased': pictures have no letters, so position means nothing here"),
        ("sim:context_following", "model 'sim:context_following': pictures have no groups in a context, so follow means nothing here"),
        ("sim:name_biased", "model 'sim:name_biased': 'name_biased' needs people with names, which no checklist of this run has"),
        ("sim:self_serving", "model 'sim:self_serving': 'self_serving' needs a context that says who the model is, which no checklist of this run has"),
        ("sim:ideal+position_biased", "model 'sim:ideal+position_biased': pictures have no letters, so position means nothing here"),
        ("sim:oracle?when=first:Black", "model 'sim:oracle?when=first:Black': unknown condition 'first'; known: attribute, context, direction, part, scenario, statistic, topic, true, valence"),
        ("sim:ideal?format=webp", "model 'sim:ideal?format=webp': code cards are PNG, whose colours are exact; leave format out"),
        ("sim:stereotyped?strenth=1", "model 'sim:stereotyped?strenth=1': 'stereotyped' has no option 'strenth'; did you mean 'strength'?"),
    ],
)  # fmt: skip
def test_invalid_specs_are_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(parse(spec, {}, checklists=(portraits(),)))
    assert str(caught.value) == message


def test_groups_that_no_card_shows() -> None:
    recoloured = replace(
        portraits(), attributes=(Attribute("colour", ("Blue", "Red"), {}, {}), portraits().attributes[1])
    )
    with pytest.raises(InputError, match="no class of faces maps to 'Blue'"):
        build(parse("sim:ideal", {}, checklists=(recoloured,)))
