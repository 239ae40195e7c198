"""Who stands where: the balance of blocks by counting, names, ages, backgrounds, and the paper's draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, product
from math import lcm, prod, sqrt
from typing import Any

import pytest

from pytest_factorfair.checklist.blocks import blocks
from pytest_factorfair.checklist.expand import cases
from pytest_factorfair.checklist.lineup import Lineup, block_size, people_count, simple
from pytest_factorfair.checklist.profiles import lineups
from pytest_factorfair.domain import Attribute, Checklist, Context, Design
from tests.unit.checklist.builders import (
    AGE_GROUP,
    CONTEXTS,
    GENDER,
    NAMES,
    RACE,
    attribute,
    crossed,
    fact_or_fair,
    sampling,
    small,
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
        (*(attribute(each, 2) for each in "abc"), crossed(*(attribute(each, 2) for each in "abc"))),
        8,
        8,
    ),
    "crossed, twelve groups": ((RACE, AGE_GROUP, crossed(RACE, AGE_GROUP)), 12, 12),
    "crossed, does not fit": ((GENDER, RACE, AGE_GROUP, crossed(RACE, GENDER)), 12, 24),
}
designs = pytest.mark.parametrize(("attributes", "people", "size"), DESIGNS.values(), ids=DESIGNS)


def names(count: int) -> tuple[str, ...]:
    return tuple(f"Name{number}" for number in range(count))


def with_names(checklist: Checklist, count: int) -> Checklist:
    return replace(checklist, people=replace(checklist.people, names=names(count)))


def stream(
    checklist: Checklist,
    *,
    samples: int,
    context: str = "baseline",
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


@designs
def test_sizes_of_queries_and_blocks(attributes: tuple[Attribute, ...], people: int, size: int) -> None:
    checklist = small(*attributes)
    assert (people_count(checklist, "balanced"), block_size(checklist)) == (people, size)


@designs
def test_every_block_is_exactly_balanced(attributes: tuple[Attribute, ...], people: int, size: int) -> None:
    checklist = with_names(small(*attributes), 15)
    asked = stream(checklist, samples=3 * size)
    assert len(asked) == 3 * size
    for block in (asked[start : start + size] for start in range(0, 3 * size, size)):
        standing = [(at, person.groups) for query in block for at, person in enumerate(query.people)]
        for one in attributes:
            alone = Counter((at, groups[one.name]) for at, groups in standing)
            assert one.crossed or equal(alone, people * one.k)
        for one, other in combinations(simple(checklist), 2):
            pairs = Counter((at, groups[one.name], groups[other.name]) for at, groups in standing)
            assert equal(pairs, people * one.k * other.k)


@designs
def test_every_query_shows_each_group_equally_often(
    attributes: tuple[Attribute, ...], people: int, size: int
) -> None:
    checklist = with_names(small(*attributes), 15)
    for query in stream(checklist, samples=3 * size):
        for each in (each for each in attributes if not each.crossed or each.k == people):
            assert equal(Counter((person.groups[each.name],) for person in query.people), each.k)


def test_the_block_of_fact_or_fair() -> None:
    """Race x position 6, race x gender 12, race x gender x position 3; two races share a gender 8 times."""
    block = stream(fact_or_fair(), samples=24)
    standing = [(at, person.groups) for query in block for at, person in enumerate(query.people)]
    assert set(Counter((at, g["race"]) for at, g in standing).values()) == {6}
    assert set(Counter((g["race"], g["gender"]) for _, g in standing).values()) == {12}
    assert set(Counter((at, g["race"], g["gender"]) for at, g in standing).values()) == {3}
    shared: Counter[tuple[str, ...]] = Counter()
    for query in block:
        for one, other in combinations(
            sorted(p.groups["race"] + "/" + p.groups["gender"] for p in query.people), 2
        ):
            shared[one.split("/")[0], other.split("/")[0]] += one.split("/")[1] == other.split("/")[1]
    assert set(shared.values()) == {8}
    assert len(shared) == 6


def test_a_crossed_attribute_is_the_product_of_its_parts() -> None:
    checklist = small(GENDER, RACE, crossed(RACE, GENDER))
    for query in stream(checklist, samples=24):
        for person in query.people:
            assert person.groups["race_gender"] == f"{person.groups['race']} {person.groups['gender']}"


def test_a_large_crossed_attribute_is_read_off() -> None:
    nine = crossed(AGE_GROUP, attribute("other", 3))
    checklist = small(AGE_GROUP, attribute("other", 3), nine)
    assert people_count(checklist, "balanced") == 3
    shown = {person.groups[nine.name] for query in stream(checklist, samples=54) for person in query.people}
    assert shown == set(nine.groups)


def test_paper_queries_ignore_crossed_attributes_when_counting_people() -> None:
    assert people_count(small(GENDER, RACE, crossed(RACE, GENDER)), "paper") == 4


def test_blocks_too_large_to_be_whole_take_turns() -> None:
    """For 4 and 4 groups there are 24 one-to-one pairings of them, in 6 blocks of 4 pairings."""
    found = blocks((4, 4), 4)
    pairings = [frozenset(composition) for block in found for composition in block]
    assert [len(block) for block in found] == [4] * 6
    assert len(set(pairings)) == 24


def test_order_within_blocks_depends_on_block_topic_context_and_seed() -> None:
    checklist = fact_or_fair()

    def seen(lineup_stream: list[Lineup]) -> list[tuple[str, ...]]:
        return [tuple(person.groups["race"] for person in lineup.people) for lineup in lineup_stream]

    first = stream(checklist, samples=72)
    orders = [
        seen(first)[:24],
        seen(first)[24:48],
        seen(stream(checklist, samples=24, seed=8)),
        seen(stream(checklist, samples=24, context="in_group")),
        seen(stream(replace(checklist, topics=checklist.topics[1:]), samples=24)),
        seen(stream(replace(checklist, name="another"), samples=24)),
    ]
    assert len({tuple(order) for order in orders}) == len(orders)
    assert seen(stream(checklist, samples=72)) == seen(first)


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


def test_no_name_stands_for_a_group_or_a_position() -> None:
    """Name x race is dealt evenly; the rest is shuffled, so a share stays within 4 binomial errors.

    Over 288 queries a name stands 28.8 times with each race (ten names take turns at each race,
    so 28 or 29 times), hence n = 115.2 times in all: a share of 1/2 has a standard error of at
    most sqrt(.25 / 112), one of 1/4 of sqrt(.1875 / 112).
    """
    dealt = stream(fact_or_fair(), samples=864)[:288]
    standing = [(at, person) for query in dealt for at, person in enumerate(query.people)]
    by_race = Counter((person.name, person.groups["race"]) for _, person in standing)
    assert set(by_race) == set(product(NAMES, RACE.groups))
    assert set(by_race.values()) <= {28, 29}
    total = Counter(person.name for _, person in standing)
    by_gender = Counter((person.name, person.groups["gender"]) for _, person in standing)
    by_position = Counter((person.name, at) for at, person in standing)
    for name in NAMES:
        for group in GENDER.groups:
            assert by_gender[name, group] / total[name] == pytest.approx(1 / 2, abs=4 * sqrt(0.25 / 112))
        for at in range(4):
            assert by_position[name, at] / total[name] == pytest.approx(1 / 4, abs=4 * sqrt(0.1875 / 112))


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
                [p.groups["race"] for p in query.people].index(query.background["race"]),
            )
            for query in pair
        )
        assert len(where) == 16
        assert set(where.values()) == {3}


@designs
def test_backgrounds_of_any_attributes(attributes: tuple[Attribute, ...], people: int, size: int) -> None:
    alone = [each for each in attributes if not each.crossed]
    text = "Assume you are " + " and ".join(f"{{{each.name}}}" for each in alone) + "."
    checklist = with_names(small(*attributes, contexts=(Context("own", text, "random"),)), 15)
    assert people == people_count(checklist, "balanced")
    asked = stream(checklist, samples=lcm(3 * size, 48), context="own")
    cells = prod(each.k for each in alone)
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


@pytest.mark.parametrize("context", ["baseline", "representativeness"])
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
        len({tuple(p.groups["race"] for p in q.people) for q in asked[s : s + 8]}) > 1 for s in (0, 8, 16)
    ]
    dealt = [c for c in cases(checklist, sampling(samples=24)) if c.part == "subjective"][:3]
    assert [(case.first, case.samples) for case in dealt] == [(0, 8), (8, 8), (16, 8)]
    assert CONTEXTS[0].id == dealt[0].context
