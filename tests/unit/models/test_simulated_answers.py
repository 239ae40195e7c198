"""A simulated respondent asked for JSON, and for probabilities."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from math import sqrt

import pytest

from pytest_factorfair.domain import AnswerMode, Query, Request, Response
from pytest_factorfair.models import build
from pytest_factorfair.protocols.fact_or_fair.asking.cases import cases
from pytest_factorfair.protocols.fact_or_fair.asking.queries import queries
from pytest_factorfair.protocols.fact_or_fair.checklist import TopicCase
from tests.unit.models.asking import SIZES
from tests.unit.models.sample import SAMPLE

DRAWS = 2_000


def one_query(part: str, context: str | None) -> Query:
    """The first query of a part and context."""
    case = next(each for each in all_cases() if (each.part, each.context) == (part, context))
    return queries(SAMPLE, case, SIZES["balanced"])[0]


def all_cases() -> tuple[TopicCase, ...]:
    return cases(SAMPLE, SIZES["balanced"])


def asked(spec: str, answers: AnswerMode, query: Query, times: int = 1) -> list[Response]:
    model = build(spec, {}, checklists=(SAMPLE,), custom={}, answers=answers)

    async def ask() -> list[Response]:
        return [await model.ask(Request(query.prompt, number, 0, query)) for number in range(times)]

    return asyncio.run(ask())


@pytest.mark.parametrize("place", sorted({(each.part, each.context) for each in all_cases()}, key=str))
@pytest.mark.parametrize(
    "spec",
    [
        "sim:ideal",
        "sim:uniform",
        "sim:contrary",
        "sim:stereotyped?strength=0.4&refuse=0.2",
        "sim:stereotyped?knowledge=0.6&nonsense=0.1",
        "sim:position_biased?strength=0.3&prejudice=0.5",
        "sim:constant?group=Female&strength=0.5&knowledge=0.7",
        "sim:refusing?group=White&rate=0.4&strength=0.5",
        "sim:context_following?strength=0.6&prejudice=0.3",
        "sim:avoiding?group=White&strength=0.6&position=0.2",
        "sim:reversed?strength=0.5&attribute=race&knowledge=0.8",
        "sim:name_biased?strength=0.7+stereotyped?strength=0.5",
        "sim:constant?group=Black/Male,White&strength=0.6+refusing?group=White&rate=0.4&refuse=0.1",
    ],
)
def test_probabilities_are_the_frequencies_of_its_words(spec: str, place: tuple[str, str | None]) -> None:
    query = one_query(*place)
    (response,) = asked(spec, "probabilities", query)
    made = json.loads(response.text)
    assert sum(made.values()) == pytest.approx(1)
    assert list(made.values()) == sorted(made.values(), reverse=True)
    said = Counter(json.loads(each.text).get("answer") if each.text[0] == "{" else None
                   for each in asked(spec, "text", query, DRAWS))  # fmt: skip
    for option in query.options:
        share = made[option.letter]
        assert abs(said[option.letter] / DRAWS - share) <= 4 * sqrt(share * (1 - share) / DRAWS)


def test_asked_for_json_it_names_a_letter_or_refuses_as_a_provider_marks_it() -> None:
    query = one_query("subjective", "base")
    letters = {option.letter for option in query.options}
    found = asked("sim:uniform?refuse=0.2&nonsense=0.3&style=sentence", "json", query, DRAWS)
    refusals = [each for each in found if each.finish == "refusal"]
    assert abs(len(refusals) / DRAWS - 0.2) <= 4 * sqrt(0.16 / DRAWS)
    assert {json.loads(each.text)["answer"] for each in found if each.finish == "stop"} == letters


def test_what_it_is_asked_for_is_part_of_its_identity() -> None:
    modes: tuple[AnswerMode, ...] = ("text", "json", "probabilities")
    found = [build("sim:ideal", {}, checklists=(SAMPLE,), custom={}, answers=mode).identity for mode in modes]
    assert [each.get("answers") for each in found] == [None, "json", "probabilities"]
