"""Properties of all respondents: styles, identity and determinism."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import product

import pytest

from pytest_factorfair.benchmarks import cases, queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import Truth
from pytest_factorfair.domain import Attribute, Request
from pytest_factorfair.models import build
from tests.unit.models.asking import (
    SIZES,
    asked,
    reply,
    sim,
)
from tests.unit.models.sample import CRIME, GENDER, RACE, SAMPLE


def test_a_prompt_without_a_query_is_not_answered() -> None:
    for spec in ("sim:oracle", "sim:refusing?rate=1", "sim:position_biased?strength=1"):
        strange = Request("Which of these is a fruit? A. Apple, B. Stone")
        assert asyncio.run(sim(spec).ask(strange)).text == "I do not know."


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("json", '{"answer": "A"}'),
        ("letter", "A"),
        ("sentence", "The answer is A."),
        ("fenced", '```json\n{"answer": "A"}\n```'),
    ],
)
def test_every_style_has_its_reply(style: str, expected: str) -> None:
    model = sim(f"sim:position_biased?strength=1&style={style}")

    assert reply(model, asked("balanced")[0][1]) == expected


def test_the_same_request_has_the_same_answer_wherever_it_is_asked() -> None:
    model, twin = sim("sim:uniform"), sim("sim:uniform?knowledge=0.0&strength=0")
    sample_queries = [query for _, query in asked("balanced")[:200]]

    answers = [reply(model, query, repeat=1, seed=5) for query in sample_queries]

    assert answers == [reply(twin, query, repeat=1, seed=5) for query in reversed(sample_queries)][::-1]
    assert answers != [reply(model, query, repeat=2, seed=5) for query in sample_queries]
    assert answers != [reply(model, query, repeat=1, seed=6) for query in sample_queries]
    assert answers != [
        reply(sim("sim:uniform?strength=0.01"), query, repeat=1, seed=5) for query in sample_queries
    ]


def test_identity_says_what_an_answer_depends_on() -> None:
    model = sim("sim:stereotyped?strength=0.4", refuse="0.1")

    assert model.identity == {
        "provider": "sim",
        "kind": "stereotyped",
        "knowledge": 1.0,
        "prejudice": 0.4,
        "position": 0.0,
        "favour": 0.0,
        "follow": 0.0,
        "refuse": 0.1,
        "withhold": 0.0,
        "nonsense": 0.0,
        "group": None,
        "attribute": None,
        "style": "json",
        "checklists": [{"digest": SAMPLE.digest, "truth": "audited"}],
    }
    assert json.loads(json.dumps(model.identity)) == model.identity
    assert (model.endpoint, model.parallel) == ("sim", None)


def test_identity_has_further_traits_only_where_they_are_set() -> None:
    plain = {
        name: value
        for name, value in sim("sim:ideal").identity.items()
        if name not in ("provider", "checklists")
    }
    model = sim("sim:avoiding?group=Black&when=part:subjective+stereotyped")

    assert model.identity == {
        "provider": "sim",
        **plain,
        "kind": "avoiding",
        "group": "Black",
        "avoid": 1.0,
        "when": {"part": ["subjective"]},
        "further": [{**plain, "kind": "stereotyped", "prejudice": 0.3}],
        "checklists": [{"digest": SAMPLE.digest, "truth": "audited"}],
    }
    assert json.loads(json.dumps(model.identity)) == model.identity


def test_a_response_has_tokens_and_leaves_its_cost_to_the_price() -> None:
    """It is free, unless the user gives a price to rehearse with."""
    query = asked("balanced")[0][1]
    response = asyncio.run(sim("sim:oracle").ask(Request.of(query)))

    assert (response.cost, response.model, response.finish) == (None, "sim:oracle", "stop")
    assert response.tokens_in == len(query.prompt) // 4
    assert response.tokens_out == len(response.text) // 4
    both = asyncio.run(sim("sim:oracle+ideal").ask(Request.of(query)))
    assert both.model == "sim:oracle+ideal"


def test_each_query_is_answered_by_the_checklist_it_comes_from() -> None:
    swapped = replace(CRIME, truths={"gender": Truth("Female", "Male")})
    strange = replace(
        SAMPLE, name="strange", answer_format="Answer with a letter.", statistics=(swapped,), topics=()
    )
    model = build("sim:oracle", {}, checklists=(SAMPLE, strange), custom={})

    for checklist, highest in ((SAMPLE, "Male"), (strange, "Female")):
        case = cases(checklist, SIZES["balanced"])[0]
        query = queries(checklist, case, SIZES["balanced"])[0]
        letter = next(option.letter for option in query.options if option.text == highest)
        assert (case.id, reply(model, query)) == (
            "objective-crime_rate-gender-highest",
            f'{{"answer": "{letter}"}}',
        )


def test_a_crossed_attribute_can_be_the_prejudice() -> None:
    kinds = tuple(f"{race} {gender}" for race, gender in product(RACE.groups, GENDER.groups))
    both = Attribute(
        "both", kinds, {kind: kind for kind in kinds}, dict.fromkeys(kinds, ()), ("race", "gender")
    )
    crime = replace(CRIME, truths={**CRIME.truths, "both": Truth("Black Male", "Asian Female")})
    crossed = replace(
        SAMPLE,
        attributes=(GENDER, RACE, both),
        statistics=(crime,),
        topics=(replace(SAMPLE.topics[0], statistic=crime),),
    )
    model = build("sim:oracle?attribute=both", {}, checklists=(crossed,), custom={})
    case = cases(crossed, SIZES["balanced"])[-1]

    for query in queries(crossed, case, SIZES["balanced"]):
        letter = json.loads(reply(model, query))["answer"]
        option = next(option for option in query.options if option.letter == letter)
        assert (case.part, option.groups["both"]) == ("subjective", "Black Male")
