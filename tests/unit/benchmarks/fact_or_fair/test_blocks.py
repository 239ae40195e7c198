"""The balance of blocks, by counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

from pytest_factorfair.benchmarks.fact_or_fair.asking.blocks import blocks
from pytest_factorfair.benchmarks.fact_or_fair.asking.people import Lineup, block_size, people_count, simple
from pytest_factorfair.domain import Attribute
from tests.unit.benchmarks.fact_or_fair.builders import (
    AGE_GROUP,
    GENDER,
    RACE,
    attribute,
    crossed,
    fact_or_fair,
    small,
)
from tests.unit.benchmarks.fact_or_fair.streams import designs, equal, stream, with_names


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
        standing = [
            (position, person.groups) for query in block for position, person in enumerate(query.people)
        ]
        for shown in attributes:
            alone = Counter((position, groups[shown.name]) for position, groups in standing)
            assert shown.crossed or equal(alone, people * shown.k)
        for former, later in combinations(simple(checklist), 2):
            pairs = Counter(
                (position, groups[former.name], groups[later.name]) for position, groups in standing
            )
            assert equal(pairs, people * former.k * later.k)


@designs
def test_every_query_shows_each_group_equally_often(
    attributes: tuple[Attribute, ...], people: int, size: int
) -> None:
    checklist = with_names(small(*attributes), 15)
    for query in stream(checklist, samples=3 * size):
        for shown in (shown for shown in attributes if not shown.crossed or shown.k == people):
            assert equal(Counter((person.groups[shown.name],) for person in query.people), shown.k)


def test_the_block_of_fact_or_fair() -> None:
    """Race x position 6, race x gender 12, race x gender x position 3; two races share a gender 8 times."""
    block = stream(fact_or_fair(), samples=24)
    standing = [(position, person.groups) for query in block for position, person in enumerate(query.people)]
    assert set(Counter((position, groups["race"]) for position, groups in standing).values()) == {6}
    assert set(Counter((groups["race"], groups["gender"]) for _, groups in standing).values()) == {12}
    assert set(
        Counter((position, groups["race"], groups["gender"]) for position, groups in standing).values()
    ) == {3}
    shared: Counter[tuple[str, ...]] = Counter()
    for query in block:
        for left_groups, right_groups in combinations(
            sorted(person.groups["race"] + "/" + person.groups["gender"] for person in query.people), 2
        ):
            shared[left_groups.split("/")[0], right_groups.split("/")[0]] += (
                left_groups.split("/")[1] == right_groups.split("/")[1]
            )
    assert set(shared.values()) == {8}
    assert len(shared) == 6


def test_a_crossed_attribute_is_the_product_of_its_parts() -> None:
    checklist = small(GENDER, RACE, crossed(RACE, GENDER))
    for query in stream(checklist, samples=24):
        for person in query.people:
            assert person.groups["race_gender"] == f"{person.groups['race']} {person.groups['gender']}"


def test_groups_of_a_large_crossed_attribute_follow_from_its_parts() -> None:
    nine = crossed(AGE_GROUP, attribute("other", 3))
    checklist = small(AGE_GROUP, attribute("other", 3), nine)
    assert people_count(checklist, "balanced") == 3
    shown = {person.groups[nine.name] for query in stream(checklist, samples=54) for person in query.people}
    assert shown == set(nine.groups)


def test_paper_queries_ignore_crossed_attributes_when_counting_people() -> None:
    assert people_count(small(GENDER, RACE, crossed(RACE, GENDER)), "paper") == 4


def test_blocks_too_large_to_be_whole_take_turns() -> None:
    """For 4 and 4 groups there are 24 one-to-one pairings of them, in 6 blocks of 4 pairings."""
    all_blocks = blocks((4, 4), 4)
    pairings = [frozenset(composition) for block in all_blocks for composition in block]
    assert [len(block) for block in all_blocks] == [4] * 6
    assert len(set(pairings)) == 24


def test_a_stream_goes_through_all_blocks_in_turn() -> None:
    """Six blocks of 16 queries hold each of the 24 pairings in each of its 4 rotations."""
    four_groups = attribute("other", 4)
    asked = stream(small(RACE, four_groups), samples=96)
    pairings = Counter(
        frozenset((person.groups["race"], person.groups["other"]) for person in query.people)
        for query in asked
    )
    assert len(pairings) == 24
    assert set(pairings.values()) == {4}


def test_order_within_blocks_depends_on_block_topic_context_and_seed() -> None:
    checklist = fact_or_fair()

    def seen(lineup_stream: list[Lineup]) -> list[tuple[str, ...]]:
        return [tuple(person.groups["race"] for person in lineup.people) for lineup in lineup_stream]

    lineups = stream(checklist, samples=72)
    orders = [
        seen(lineups)[:24],
        seen(lineups)[24:48],
        seen(stream(checklist, samples=24, seed=8)),
        seen(stream(checklist, samples=24, context="in_group")),
        seen(stream(replace(checklist, topics=checklist.topics[1:]), samples=24)),
        seen(stream(replace(checklist, name="another"), samples=24)),
    ]
    assert len({tuple(order) for order in orders}) == len(orders)
    assert seen(stream(checklist, samples=72)) == seen(lineups)
