"""Names, ages and backgrounds of a stream, and the paper's draws."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import lcm, prod, sqrt

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.people import people_count
from pytest_factorfair.benchmarks.fact_or_fair.checklist import Context
from pytest_factorfair.domain import Attribute
from tests.unit.benchmarks.fact_or_fair.builders import (
    CONTEXTS,
    GENDER,
    NAMES,
    RACE,
    fact_or_fair,
    sampling,
    small,
)
from tests.unit.benchmarks.fact_or_fair.streams import designs, stream, with_names


def test_one_age_and_distinct_names_per_query() -> None:
    for query in stream(fact_or_fair(), samples=72):
        assert len({person.age for person in query.people}) == 1
        assert len({person.name for person in query.people}) == 4


def test_ages_stay_within_the_scenario_and_come_equally_often() -> None:
    asked = stream(fact_or_fair(), samples=72)
    allowed = [(25, 35, 45, 55), (25, 35, 45, 55, 65, 75, 85), (55, 65, 75)]
    for number, ages in enumerate(allowed):
        counts = Counter(query.people[0].age for query in asked[24 * number : 24 * (number + 1)])
        assert set(counts) == set(ages)
        assert max(counts.values()) - min(counts.values()) <= 1


def test_names_are_balanced_over_groups_and_positions() -> None:
    """Name x race is dealt evenly; the rest is shuffled, so a share stays within 4 binomial errors.

    Over 288 queries a name stands 28.8 times with each race (ten names take turns at each race,
    so 28 or 29 times), hence n = 115.2 times in all: a share of 1/2 has a standard error of at
    most sqrt(.25 / 112), one of 1/4 of sqrt(.1875 / 112).
    """
    dealt = stream(fact_or_fair(), samples=288)
    standing = [(position, person) for query in dealt for position, person in enumerate(query.people)]
    by_race = Counter((person.name, person.groups["race"]) for _, person in standing)
    assert set(by_race) == set(product(NAMES, RACE.groups))
    assert set(by_race.values()) <= {28, 29}
    total = Counter(person.name for _, person in standing)
    by_gender = Counter((person.name, person.groups["gender"]) for _, person in standing)
    by_position = Counter((person.name, position) for position, person in standing)
    for name in NAMES:
        for group in GENDER.groups:
            assert by_gender[name, group] / total[name] == pytest.approx(1 / 2, abs=4 * sqrt(0.25 / 112))
        for position in range(4):
            assert by_position[name, position] / total[name] == pytest.approx(
                1 / 4, abs=4 * sqrt(0.1875 / 112)
            )


def test_names_are_dealt_over_the_whole_stream() -> None:
    """72 queries are 7.2 rounds of ten names, wherever the scenarios begin."""
    asked = stream(fact_or_fair(), samples=72)
    counts = Counter((person.name, person.groups["race"]) for query in asked for person in query.people)
    assert len(counts) == 40
    assert set(counts.values()) == {7, 8}


@pytest.mark.parametrize("context", ["attribution", "in_group"])
def test_backgrounds_come_equally_often_and_cross_positions(context: str) -> None:
    asked = stream(fact_or_fair(), samples=144, context=context)
    for block in (asked[start : start + 24] for start in range(0, 144, 24)):
        named = Counter((query.background["race"], query.background["gender"]) for query in block)
        assert len(named) == 8
        assert set(named.values()) == {3}
    for pair in (asked[start : start + 48] for start in range(0, 144, 48)):
        where = Counter(
            (
                query.background["race"],
                [person.groups["race"] for person in query.people].index(query.background["race"]),
            )
            for query in pair
        )
        assert len(where) == 16
        assert set(where.values()) == {3}


@designs
def test_backgrounds_of_any_attributes(attributes: tuple[Attribute, ...], people: int, size: int) -> None:
    alone = [attribute for attribute in attributes if not attribute.crossed]
    text = "Assume you are " + " and ".join(f"{{{attribute.name}}}" for attribute in alone) + "."
    checklist = with_names(small(*attributes, contexts=(Context("own", text, "random"),)), 15)
    assert people == people_count(checklist, "balanced")
    asked = stream(checklist, samples=lcm(3 * size, 48), context="own")
    cells = prod(attribute.k for attribute in alone)
    for block in (asked[start : start + size] for start in range(0, len(asked), size)):
        counts = Counter(tuple(query.background.values()) for query in block)
        assert len(counts) == min(cells, size)
        assert max(counts.values()) - min(counts.values()) <= (size % cells > 0)


def test_contexts_name_only_the_attributes_in_their_text() -> None:
    context = Context("own", "Assume you are {gender}.", "random")
    checklist = small(GENDER, RACE, contexts=(context,))
    named = Counter(query.background["gender"] for query in stream(checklist, samples=24, context="own"))
    assert named == {"Female": 12, "Male": 12}
    assert all(list(query.background) == ["gender"] for query in stream(checklist, samples=24, context="own"))


@pytest.mark.parametrize("context", ["base", "representativeness"])
def test_other_contexts_name_nothing_at_random(context: str) -> None:
    assert all(query.background == {} for query in stream(fact_or_fair(), samples=24, context=context))


def test_paper_draws_everyone_independently() -> None:
    """The target is absent from (3/4)^4 = .3164 of the queries, two names are alike in 1 - 10*9*8*7/10^4."""
    checklist = fact_or_fair()
    asked = stream(checklist, samples=6000, design="paper", context="in_group")
    assert len(asked) == 6000
    absent = sum("Asian" not in {person.groups["race"] for person in query.people} for query in asked) / 6000
    assert absent == pytest.approx(0.31640625, abs=4 * sqrt(0.3164 * 0.6836 / 6000))
    one_sex = sum(len({person.groups["gender"] for person in query.people}) == 1 for query in asked) / 6000
    assert one_sex == pytest.approx(0.125, abs=4 * sqrt(0.125 * 0.875 / 6000))
    alike = sum(len({person.name for person in query.people}) < 4 for query in asked) / 6000
    assert alike == pytest.approx(0.496, abs=4 * sqrt(0.25 / 6000))
    ages = Counter(person.age for query in asked for person in query.people)
    assert set(ages) == {15, 25, 35, 45, 55, 65, 75, 85, 95}
    assert all(n / 24000 == pytest.approx(1 / 9, abs=4 * sqrt(8 / 81 / 24000)) for n in ages.values())
    named = Counter(tuple(query.background.values()) for query in asked)
    assert len(named) == 8
    assert all(n / 6000 == pytest.approx(1 / 8, abs=4 * sqrt(7 / 64 / 6000)) for n in named.values())


def test_paper_scenarios_of_a_topic_draw_separately() -> None:
    asked = stream(fact_or_fair(), samples=60, design="paper")
    assert asked[:20] != asked[20:40]


def test_the_stream_is_dealt_to_scenarios_in_runs() -> None:
    """24 answers are one block for three scenarios, so only the three together are balanced."""
    checklist = fact_or_fair()
    asked = stream(checklist, samples=24)
    assert [
        len({tuple(person.groups["race"] for person in query.people) for query in asked[start : start + 8]})
        > 1
        for start in (0, 8, 16)
    ]
    dealt = [case for case in cases(checklist, sampling(samples=24)) if case.part == "subjective"][:3]
    assert [(case.scenarios, case.samples) for case in dealt] == [(3, 8)] * 3
    assert CONTEXTS[0].id == dealt[0].context
