"""The people of a subjective query: how many it shows, and their groups, names and ages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from itertools import count, pairwise, product, repeat
from math import lcm
from random import Random
from typing import NamedTuple

from pytest_factorfair.benchmarks.fact_or_fair.asking.blocks import Block, blocks
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair, TopicCase
from pytest_factorfair.checklist.queries import placeholders
from pytest_factorfair.domain import Attribute, Checklist, Design, Direction, Sampling

# A crossed attribute with more groups does not shape queries; its groups follow from its parts.
_LARGEST_CROSSED = 8


@dataclass(frozen=True, slots=True, eq=False)
class PersonKind:
    """The groups of one kind of people, by attribute; ``words`` leaves out crossed attributes.

    Each combination exists once per checklist and is compared by identity, which is fast.
    """

    groups: Mapping[str, str]
    words: Mapping[str, str]


class Person(NamedTuple):
    """One of the people to choose from; hashable, because the same people recur."""

    name: str
    age: int
    kind: PersonKind

    @property
    def groups(self) -> Mapping[str, str]:
        return self.kind.groups


class Lineup(NamedTuple):
    """The people of one query in the order of their letters, and the groups its context names."""

    people: tuple[Person, ...]
    background: Mapping[str, str]


def simple(checklist: Checklist) -> tuple[Attribute, ...]:
    """The attributes that are not the product of others."""
    return tuple(attribute for attribute in checklist.attributes if not attribute.crossed)


def people_count(checklist: FactOrFair, design: Design) -> int:
    """How many people a query shows, m: the least common multiple of the k of the simple attributes.

    In the balanced design, m is the number of groups of a crossed attribute if it has at most 8, so that no
    two people share a group. A crossed attribute is ignored if its number of groups is not a multiple of m.
    """
    multiple = lcm(*(attribute.k for attribute in simple(checklist)))
    crossed = [attribute.k for attribute in checklist.attributes if attribute.crossed]
    fitting = [k for k in crossed if k <= _LARGEST_CROSSED and k % multiple == 0]
    return max([multiple, *fitting]) if design == "balanced" else multiple


def block_size(checklist: FactOrFair) -> int:
    """Queries per block of the balanced design; 1 for pictures, which offer no people to choose from."""
    if checklist.modality == "image":
        return 1
    m = people_count(checklist, "balanced")
    return m * len(blocks(tuple(attribute.k for attribute in simple(checklist)), m)[0])


def everyone(checklist: Checklist) -> dict[tuple[int, ...], dict[str, str]]:
    """The groups, by attribute, of each kind of person; the key is a group index per simple attribute."""
    simple_attributes = simple(checklist)
    kinds = {}
    for key in product(*(range(attribute.k) for attribute in simple_attributes)):
        groups = {
            attribute.name: attribute.groups[g] for attribute, g in zip(simple_attributes, key, strict=True)
        }
        for attribute in checklist.attributes:
            if attribute.crossed:
                index = 0
                for part in map(checklist.attribute, attribute.crossed):
                    index = index * part.k + part.groups.index(groups[part.name])
                groups[attribute.name] = attribute.groups[index]
        kinds[key] = {attribute.name: groups[attribute.name] for attribute in checklist.attributes}
    return kinds


@lru_cache(maxsize=8)
def kinds(checklist: Checklist) -> Mapping[tuple[int, ...], PersonKind]:
    """Each kind of person, by the keys of ``everyone``."""
    simple_attributes = simple(checklist)
    return {
        key: PersonKind(
            groups=groups,
            words={
                attribute.name: attribute.words[groups[attribute.name]] for attribute in simple_attributes
            },
        )
        for key, groups in everyone(checklist).items()
    }


def ages_between(checklist: FactOrFair, bounds: tuple[int, int] | None) -> list[int]:
    """The ages of the pool within a scenario's bounds, both included; all without bounds."""
    low, high = bounds or (0, max(checklist.people.ages))
    return [age for age in checklist.people.ages if low <= age <= high]


BANDS = 3
"""The number of age bands in which answers are compared."""


def age_bands(checklist: FactOrFair) -> tuple[tuple[int, ...], ...]:
    """The ages of the people in bands of as equal numbers of ages as possible: 25-35, 45-55, 65-75."""
    ages = sorted(set(checklist.people.ages))
    ends = [round(len(ages) * number / BANDS) for number in range(BANDS + 1)]
    bands = (tuple(ages[start:end]) for start, end in pairwise(ends))
    return tuple(band for band in bands if band)


# A person's number within the composition, and the kind of person.
_Place = tuple[int, tuple[int, ...]]
_Places = tuple[_Place, ...]


def lineups(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> list[Lineup]:
    """The line-ups of a subjective case, the same on every machine."""
    stream = _stream(checklist, case.statistic, case.direction, case.context, sampling.seed)
    return list((_balanced if sampling.design == "balanced" else _paper)(stream, case))


DRAWN_AS = {"base": "baseline"}
"""The word that seeds a context's draws; changing it would change prompts and the keys of stored answers."""


@dataclass(frozen=True, eq=False)
class _Stream:
    """The blocks and random draws that the cases of a topic and context share."""

    checklist: FactOrFair
    statistic: str
    direction: Direction
    context: str | None
    seed: int

    def rng(self, *parts: object) -> Random:
        """A generator for one purpose, independent of those for other purposes, blocks and seeds."""
        context = DRAWN_AS.get(self.context or "", self.context)
        key = (self.seed, self.checklist.name, f"{self.statistic}-{self.direction}", context, *parts)
        return Random("/".join(map(str, key)))  # noqa: S311 - reproducible designs, not secrets

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        return simple(self.checklist)

    @cached_property
    def kinds(self) -> Mapping[tuple[int, ...], PersonKind]:
        return kinds(self.checklist)

    @cached_property
    def named(self) -> tuple[Attribute, ...]:
        """The attributes for which the context names a random group."""
        context = next(context for context in self.checklist.contexts if context.id == self.context)
        asked = placeholders(context.text) if context.background == "random" else frozenset()
        return tuple(attribute for attribute in self.attributes if attribute.name in asked)

    @cached_property
    def people(self) -> int:
        return people_count(self.checklist, "balanced")

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of this stream, in order."""
        cycle = blocks(tuple(attribute.k for attribute in self.attributes), self.people)
        start = self.rng("first").randrange(len(cycle))
        return cycle[start:] + cycle[:start]

    @cached_property
    def block(self) -> Callable[[int], list[tuple[_Places, Mapping[str, str]]]]:
        """The queries of a block, by its number."""
        return cache(partial(_block, self))

    @cached_property
    def names(self) -> Callable[[int], list[tuple[str, ...]]]:
        """The names of a round, by its number."""
        return cache(partial(_names, self))


_stream = lru_cache(maxsize=256)(_Stream)
"""Keeps the streams of a checklist: further looks ask more of them."""


def _paper(stream: _Stream, case: TopicCase) -> Iterator[Lineup]:
    """Names, groups, ages and the context's groups, drawn independently and uniformly."""
    checklist = stream.checklist
    pools, m = checklist.paper_people, people_count(checklist, "paper")
    offered = list(stream.kinds.values())
    draw = stream.rng("paper", case.scenario)
    for _ in range(case.samples):
        people = tuple(
            Person(draw.choice(pools.names), draw.choice(pools.ages), draw.choice(offered)) for _ in range(m)
        )
        named = {attribute.name: draw.choice(attribute.groups) for attribute in stream.named}
        yield Lineup(people, named)


def _balanced(stream: _Stream, case: TopicCase) -> Iterator[Lineup]:
    """The case's part of the stream of blocks; people of a query share an age and have distinct names."""
    size = len(stream.blocks[0]) * stream.people
    pool = len(dict.fromkeys(stream.checklist.people.names))
    for position, age in zip(_places(case, size), _ages(stream, case), strict=False):
        people, background = stream.block(position // size)[position % size]
        names = stream.names(position // pool)[position % pool]
        yield Lineup(
            tuple([Person(names[number], age, stream.kinds[kind]) for number, kind in people]), background
        )


def _places(case: TopicCase, size: int) -> Iterator[int]:
    """The positions of the case's queries in the stream of blocks that its topic and context share.

    In each round the scenarios take whole blocks in turn and split the remaining ones evenly. More rounds
    therefore begin with the same queries, and after each round a topic has whole blocks.
    """
    whole, remainder = divmod(case.samples // case.rounds, size)
    turn = (case.scenario or 1) - 1
    length = (whole * case.scenarios + -(-remainder * case.scenarios // size)) * size
    for begin in range(0, case.rounds * length, length):
        for block in range(whole):
            start = begin + (block * case.scenarios + turn) * size
            yield from range(start, start + size)
        start = begin + whole * case.scenarios * size + turn * remainder
        yield from range(start, start + remainder)


def _block(stream: _Stream, number: int) -> list[tuple[_Places, Mapping[str, str]]]:
    """One block of the stream in random order, with the groups that the context names."""
    draw = stream.rng("people", number)
    scenes: list[_Places] = []
    for composition in stream.blocks[number % len(stream.blocks)]:
        line = draw.sample(tuple(enumerate(composition)), stream.people)
        scenes += [(*line[turn:], *line[:turn]) for turn in range(stream.people)]
    dealt = list(zip(scenes, _backgrounds(stream, number, scenes), strict=True))
    draw.shuffle(dealt)
    return dealt


def _backgrounds(stream: _Stream, number: int, scenes: Sequence[_Places]) -> Iterator[Mapping[str, str]]:
    """The groups that a context names: each combination equally often, and balanced over positions.

    For the attribute with the most groups it names the group of the person at a given position, so that the
    rotations of a composition name each person's group once. Groups of other attributes are distributed
    evenly over its groups.
    """
    if not stream.named:
        yield from repeat({}, len(scenes))
        return
    draw = stream.rng("background", number)
    lead, *secondary = sorted(stream.named, key=lambda attribute: -attribute.k)
    index = stream.attributes.index(lead)
    hands = {group: _hand(secondary, len(scenes) // lead.k, draw) for group in lead.groups}
    for places, spot in zip(scenes, _spots(stream, number, draw), strict=True):
        group = lead.groups[places[spot][1][index]]
        yield {lead.name: group, **dict(hands[group].pop())}


def _hand(attributes: Sequence[Attribute], size: int, draw: Random) -> list[tuple[tuple[str, str], ...]]:
    names = [attribute.name for attribute in attributes]
    combinations = list(product(*(attribute.groups for attribute in attributes)))
    start = draw.randrange(len(combinations))
    dealt = (combinations[(start + index) % len(combinations)] for index in range(size))
    return draw.sample([tuple(zip(names, groups, strict=True)) for groups in dealt], size)


def _spots(stream: _Stream, number: int, draw: Random) -> list[int]:
    """The position, for each query of a block, of the person with the group that its context names.

    Each composition has one position, and all positions are equally frequent over the stream. A block with
    fewer compositions than positions changes the position within a composition: two back per rotation,
    because people move one back, so that each person is named once.
    """
    m, size = stream.people, len(stream.blocks[0])
    positions = stream.rng("spots").sample(range(m), m)
    starts = draw.sample([positions[(number * size + index) % m] for index in range(size)], size)
    step = 0 if size >= m else -2
    return [(start + step * turn) % m for start in starts for turn in range(m)]


def _names(stream: _Stream, number: int) -> list[tuple[str, ...]]:
    """One round of names: for each query, the names in the order of the people's numbers.

    A round has as many queries as there are names, and each number has each name once. The number determines
    the group of the attribute with the most groups, so no name is tied to a group.
    """
    pool = list(dict.fromkeys(stream.checklist.people.names))
    draw = stream.rng("names", number)
    order = draw.sample(pool, len(pool))
    starts = draw.sample(range(len(pool)), stream.people)
    return [tuple(order[(start + turn) % len(pool)] for start in starts) for turn in range(len(pool))]


def _ages(stream: _Stream, case: TopicCase) -> Iterator[int]:
    """The scenario's ages, in a new order each round."""
    topic = stream.checklist.topic(case.statistic, case.direction)
    pool = ages_between(stream.checklist, topic.scenarios[(case.scenario or 1) - 1].ages)
    for number in count():
        yield from stream.rng("ages", case.scenario, number).sample(pool, len(pool))
