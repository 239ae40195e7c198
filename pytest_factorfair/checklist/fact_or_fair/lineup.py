"""The people of a subjective query: how many, of which groups, and what one of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import lcm
from typing import NamedTuple

from pytest_factorfair.checklist.fact_or_fair.blocks import blocks
from pytest_factorfair.domain import Attribute, Checklist, Design, FactOrFair

# A crossed attribute with more groups than this does not shape the queries: it is read off.
_LARGEST_CROSSED = 8


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """What people have in common: ``groups`` by attribute, ``words`` of those that are not crossed.

    A checklist has one of each, which is itself alone and so is compared in no time.
    """

    groups: Mapping[str, str]
    words: Mapping[str, str]


class Person(NamedTuple):
    """One of the people to choose from; hashable, as the same ones come again and again."""

    name: str
    age: int
    kind: Kind

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

    In the balanced design a crossed attribute of at most 8 groups makes it their number, so that
    everyone is of another group; one that does not fit the simple attributes is left out of this.
    """
    least = lcm(*(attribute.k for attribute in simple(checklist)))
    crossed = [attribute.k for attribute in checklist.attributes if attribute.crossed]
    fitting = [k for k in crossed if k <= _LARGEST_CROSSED and k % least == 0]
    return max([least, *fitting]) if design == "balanced" else least


def block_size(checklist: FactOrFair) -> int:
    """How many queries a block of the balanced design has; one where nobody is shown to choose from."""
    if checklist.modality == "image":
        return 1
    m = people_count(checklist, "balanced")
    return m * len(blocks(tuple(attribute.k for attribute in simple(checklist)), m)[0])


def everyone(checklist: Checklist) -> dict[tuple[int, ...], dict[str, str]]:
    """The groups, by attribute, of each kind of person; the key is a group index per simple attribute."""
    alone = simple(checklist)
    kinds = {}
    for key in product(*(range(attribute.k) for attribute in alone)):
        groups = {attribute.name: attribute.groups[g] for attribute, g in zip(alone, key, strict=True)}
        kinds[key] = {
            attribute.name: groups.get(attribute.name) or _crossed(checklist, attribute, groups)
            for attribute in checklist.attributes
        }
    return kinds


@lru_cache(maxsize=8)
def kinds(checklist: Checklist) -> Mapping[tuple[int, ...], Kind]:
    """Each kind of person, by the same key."""
    alone = simple(checklist)
    return {
        key: Kind(
            groups=groups,
            words={each.name: each.words[groups[each.name]] for each in alone},
        )
        for key, groups in everyone(checklist).items()
    }


def _crossed(checklist: Checklist, attribute: Attribute, groups: Mapping[str, str]) -> str:
    parts = [checklist.attribute(name) for name in attribute.crossed]
    index = 0
    for part in parts:
        index = index * part.k + part.groups.index(groups[part.name])
    return attribute.groups[index]


def ages_between(checklist: FactOrFair, bounds: tuple[int, int] | None) -> list[int]:
    """The ages of the pool within a scenario's bounds, both included; all without bounds."""
    low, high = bounds or (0, max(checklist.people.ages))
    return [age for age in checklist.people.ages if low <= age <= high]
