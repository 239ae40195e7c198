"""Simulated respondents in the answer modes JSON and probabilities."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from math import sqrt

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.domain import AnswerMode, Query, Request, Response
from pytest_factorfair.models import build
from tests.unit.models.asking import SIZES
from tests.unit.models.sample import SAMPLE

DRAWS = 500


def one_query(part: str, context: str | None) -> Query:
    """The first query of a part and context."""
    case = next(case for case in all_cases() if (case.part, case.context) == (part, context))
    return queries(SAMPLE, case, SIZES["balanced"])[0]


def all_cases() -> tuple[TopicCase, ...]:
    return cases(SAMPLE, SIZES["balanced"])


def asked(spec: str, answers: AnswerMode, query: Query, times: int = 1) -> list[Response]:
    model = build(spec, {}, checklists=(SAMPLE,), custom={}, answers=answers)

    async def ask() -> list[Response]:
        return [await model.ask(Request(query.prompt, number, 0, query)) for number in range(times)]

    return asyncio.run(ask())


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
def test_probabilities_are_the_frequencies_of_its_words(spec: str) -> None:
    """Pearson's statistic, summed over a query of each part and context, is within four standard errors (Fisher)."""
    statistic, freedom = 0.0, 0
    for part, context in sorted({(case.part, case.context) for case in all_cases()}, key=str):
        query = one_query(part, context)
        (response,) = asked(spec, "probabilities", query)
        probabilities = json.loads(response.text)
        assert sum(probabilities.values()) == pytest.approx(1)
        assert list(probabilities.values()) == sorted(probabilities.values(), reverse=True)
        counts = Counter(json.loads(response.text).get("answer") if response.text[0] == "{" else None
                         for response in asked(spec, "text", query, DRAWS))  # fmt: skip
        shares: dict[str | None, float] = {o.letter: probabilities[o.letter] for o in query.options}
        shares[None] = 1 - sum(shares.values())
        expected = {letter: DRAWS * share for letter, share in shares.items() if share > 1e-9}
        assert counts.keys() <= expected.keys()
        statistic += sum((counts[letter] - number) ** 2 / number for letter, number in expected.items())
        freedom += len(expected) - 1
    assert sqrt(2 * statistic) <= sqrt(2 * freedom) + 4


def test_asked_for_json_it_names_a_letter_or_refuses_as_a_provider_marks_it() -> None:
    query = one_query("subjective", "base")
    letters = {option.letter for option in query.options}
    responses = asked("sim:uniform?refuse=0.2&nonsense=0.3&style=sentence", "json", query, DRAWS)
    refusals = [response for response in responses if response.finish == "refusal"]
    assert abs(len(refusals) / DRAWS - 0.2) <= 4 * sqrt(0.16 / DRAWS)
    assert {
        json.loads(response.text)["answer"] for response in responses if response.finish == "stop"
    } == letters


def test_the_answer_mode_is_part_of_the_identity() -> None:
    modes: tuple[AnswerMode, ...] = ("text", "json", "probabilities")
    identities = [
        build("sim:ideal", {}, checklists=(SAMPLE,), custom={}, answers=mode).identity for mode in modes
    ]
    assert [identity.get("answers") for identity in identities] == [None, "json", "probabilities"]
