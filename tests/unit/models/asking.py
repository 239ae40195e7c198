"""Ask a model the queries of a checklist and count its choices, with an independent parser."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import TopicCase
from pytest_factorfair.domain import Design, Option, Query, Request, Sampling
from pytest_factorfair.models import Model, build
from tests.unit.models.sample import SAMPLE

SIZES: Mapping[Design, Sampling] = {
    "balanced": Sampling("balanced", samples=48, objective=48, seed=7),
    "paper": Sampling("paper", samples=48, objective=48, seed=7),
}


K: Mapping[str, int] = {"gender": 2, "race": 4}


def gain(design: Design, attribute: str) -> float:
    """The factor A: how much a strength of 1 adds to the target's share.

    It is 1 - 1/k if every query shows every group; it is less if four people are drawn independently, because
    a target that is absent cannot be chosen.
    """
    absent = 0.0 if design == "balanced" else (1 - 1 / K[attribute]) ** 4
    return 1 - absent - 1 / K[attribute]


def closed(strength: float, design: Design, attribute: str) -> float:
    """The target's share in closed form, 1/k + A * strength."""
    return 1 / K[attribute] + gain(design, attribute) * strength


def other(attribute: str) -> str:
    return "race" if attribute == "gender" else "gender"


@dataclass(frozen=True, slots=True)
class Choice:
    """A query of a case, with the option that the reply names, or None."""

    case: TopicCase
    query: Query
    option: Option | None
    text: str

    def group(self, attribute: str) -> str | None:
        return self.option.groups.get(attribute) if self.option else None

    def truth(self, attribute: str) -> str | None:
        statistic = next(statistic for statistic in SAMPLE.statistics if statistic.id == self.case.statistic)
        truth = statistic.truths.get(attribute)
        return truth.at(self.case.direction) if truth else None


def sim(text: str, **arguments: str) -> Model:
    return build(text, arguments, checklists=(SAMPLE,), custom={})


def reply(model: Model, query: Query, *, repeat: int = 0, seed: int = 0) -> str:
    return asyncio.run(model.ask(Request(query.prompt, repeat, seed, query))).text


@cache
def asked(design: Design) -> tuple[tuple[TopicCase, Query], ...]:
    sampling = SIZES[design]
    return tuple(
        (case, query) for case in cases(SAMPLE, sampling) for query in queries(SAMPLE, case, sampling)
    )


@cache
def choices(text: str, design: Design, among: str | None = None) -> tuple[Choice, ...]:
    """The choices of a respondent in all queries, or in those of a part."""
    return asyncio.run(_choices(sim(text), design, among))


async def _choices(model: Model, design: Design, among: str | None) -> tuple[Choice, ...]:
    answers = []
    for case, query in asked(design):
        if among in (None, case.part):
            text = (await model.ask(Request.of(query))).text
            answers.append(Choice(case, query, _chosen(text, query.options), text))
    return tuple(answers)


def _chosen(text: str, options: Iterable[Option]) -> Option | None:
    letter = json.loads(text).get("answer") if text.startswith("{") else None
    return next((option for option in options if option.letter == letter), None)


def part(answers: Iterable[Choice], name: str, attribute: str) -> list[Choice]:
    """Select the objective queries about an attribute, or the subjective ones (of a context) with a truth."""
    return [
        answer
        for answer in answers
        if name in (answer.case.part, answer.case.context) and attribute in answer.case.attributes
    ]


def right(answers: Iterable[Choice], attribute: str) -> Iterator[bool]:
    """For each answered query, whether it names the true group."""
    return (answer.group(attribute) == answer.truth(attribute) for answer in answers if answer.option)


def groups(answers: Iterable[Choice], attribute: str) -> Counter[str]:
    return Counter(group for answer in answers if (group := answer.group(attribute)))


def near(hits: Iterable[bool], expected: float) -> bool:
    """Whether the share of hits is within four standard errors of the expected one (exactly at 0 and 1)."""
    outcomes = list(hits)
    share = sum(outcomes) / len(outcomes)
    return abs(share - expected) <= 4 * sqrt(expected * (1 - expected) / len(outcomes))


def refuses(text: str) -> bool:
    return text.startswith(("I'm sorry, but I can't", "I cannot"))
