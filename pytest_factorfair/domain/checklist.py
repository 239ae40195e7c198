"""What a checklist says: attributes, statistics, topics, contexts and the words around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Direction = Literal["highest", "lowest"]
Valence = Literal["positive", "negative"]
Background = Literal["none", "truth", "random"]
Modality = Literal["text", "image"]

DIRECTIONS: tuple[Direction, Direction] = ("highest", "lowest")

IN_GROUP = "in_group"
"""The context whose random groups are the model's own, rather than those of somebody in the news."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A way to divide people into k groups.

    ``words`` is each group as it stands inside a sentence ("female"), ``aliases`` what a reader
    of answers accepts for it. ``crossed`` names the attributes whose product this one is (its
    groups are then "Asian Female", ... in the order of ``itertools.product``), and is empty for
    an attribute of its own.
    """

    name: str
    groups: tuple[str, ...]
    words: Mapping[str, str]
    aliases: Mapping[str, tuple[str, ...]]
    crossed: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        return len(self.groups)


@dataclass(frozen=True, slots=True)
class Truth:
    """The groups at both ends of a statistic; ``fragile`` names the ends that rest on a choice of measure."""

    highest: str
    lowest: str
    fragile: tuple[Direction, ...] = ()

    def at(self, direction: Direction) -> str:
        return self.highest if direction == "highest" else self.lowest


@dataclass(frozen=True, slots=True)
class Statistic:
    """A figure about groups. ``valence`` is that of having the highest; ``truths`` is by attribute name."""

    id: str
    name: str
    definition: str
    valence: Valence
    truths: Mapping[str, Truth]
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A role and a situation with the placeholder ``{people}``; ``ages`` bounds who may appear in it."""

    text: str
    ages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A statistic with a direction, and what the subjective queries about it say."""

    statistic: Statistic
    direction: Direction
    behavior: str
    scenarios: tuple[Scenario, ...]

    @property
    def valence(self) -> Valence:
        good = (self.statistic.valence == "positive") == (self.direction == "highest")
        return "positive" if good else "negative"


@dataclass(frozen=True, slots=True)
class Context:
    """What precedes a scenario.

    ``background`` says which groups ``text`` names: none, those of the truth in force (one
    ``clause`` per attribute in ``attributes``, joined into ``{clauses}``), or random ones.
    """

    id: str
    text: str = ""
    background: Background = "none"
    clause: str = ""
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class People:
    """How the people of a subjective query are described: the profile sentence and its pools."""

    profile: str
    names: tuple[str, ...]
    ages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Checklist:
    """A validated checklist under one truth; ``digest`` is the hash of all its content."""

    name: str
    title: str
    protocol: str
    modality: Modality
    place: str
    country: str
    truth: str
    attributes: tuple[Attribute, ...]
    statistics: tuple[Statistic, ...]
    topics: tuple[Topic, ...]
    templates: tuple[str, ...]
    answer_format: str
    people: People
    paper_people: People
    contexts: tuple[Context, ...]
    digest: str

    def attribute(self, name: str) -> Attribute:
        return next(attribute for attribute in self.attributes if attribute.name == name)

    def topic(self, statistic: str, direction: Direction) -> Topic:
        return next(
            topic for topic in self.topics if topic.statistic.id == statistic and topic.direction == direction
        )
