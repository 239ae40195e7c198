"""Designs to try, and what a topic and context ask under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.people import Lineup, lineups
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.domain import Design, Sampling
from tests.unit.benchmarks.fact_or_fair.builders import (
    AGE_GROUP,
    GENDER,
    RACE,
    attribute,
    crossed,
    sampling,
)

# Attributes, people per query, queries per block.
DESIGNS = {
    "gender and race": ((GENDER, RACE), 4, 24),
    "gender alone": ((GENDER,), 2, 2),
    "three groups alone": ((AGE_GROUP,), 3, 3),
    "race alone": ((RACE,), 4, 4),
    "2 x 3": ((GENDER, AGE_GROUP), 6, 6),
    "2 x 2": ((GENDER, attribute("other", 2)), 2, 4),
    "3 x 3": ((AGE_GROUP, attribute("other", 3)), 3, 18),
    "2 x 2 x 3": ((GENDER, attribute("other", 2), AGE_GROUP), 6, 36),
    "4 x 2 x 2": ((RACE, GENDER, attribute("other", 2)), 4, 16),
    "2 x 4 x 3": ((GENDER, RACE, AGE_GROUP), 12, 24),
    "4 x 4": ((RACE, attribute("other", 4)), 4, 16),
    "2 x 6": ((GENDER, attribute("region", 6)), 6, 12),
    "6 x 4, beyond search": ((attribute("region", 6), RACE), 12, 24),
    "2 x 2 x 5, beyond search": ((GENDER, attribute("other", 2), attribute("region", 5)), 10, 20),
    "crossed, eight groups": ((GENDER, RACE, crossed(RACE, GENDER)), 8, 8),
    "crossed, eight groups of three": (
        (*(attribute(name, 2) for name in "abc"), crossed(*(attribute(name, 2) for name in "abc"))),
        8,
        8,
    ),
    "crossed, twelve groups": ((RACE, AGE_GROUP, crossed(RACE, AGE_GROUP)), 12, 12),
    "crossed, does not fit": (
        (
            *(attribute(name, 2) for name in "abc"),
            AGE_GROUP,
            crossed(*(attribute(name, 2) for name in "abc")),
        ),
        6,
        24,
    ),
}
designs = pytest.mark.parametrize(("attributes", "people", "size"), DESIGNS.values(), ids=DESIGNS)


def names(count: int) -> tuple[str, ...]:
    return tuple(f"Name{number}" for number in range(count))


def with_names(checklist: FactOrFair, count: int) -> FactOrFair:
    return replace(checklist, people=replace(checklist.people, names=names(count)))


def stream(
    checklist: FactOrFair,
    *,
    samples: int,
    context: str = "base",
    design: Design = "balanced",
    seed: int = 7,
) -> list[Lineup]:
    """All line-ups of the first topic in a context, scenario after scenario."""
    asked = sampling(design, samples=samples, seed=seed)
    topic = checklist.topics[0]
    dealt = [
        case
        for case in cases(checklist, asked)
        if (case.part, case.statistic, case.direction, case.context)
        == ("subjective", topic.statistic.id, topic.direction, context)
    ]
    return [lineup for case in dealt for lineup in lineups(checklist, case, asked)]


def equal(counts: Mapping[Any, int], cells: int) -> bool:
    """Whether all cells of a cross table occur, equally often."""
    return len(counts) == cells and len(set(counts.values())) == 1


def case(checklist: FactOrFair, asked: Sampling, id_: str) -> TopicCase:
    return next(case for case in cases(checklist, asked) if case.id == id_)
