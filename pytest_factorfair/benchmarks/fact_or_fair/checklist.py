"""A FACT-OR-FAIR checklist: statistics, topics, contexts and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_factorfair.domain.case import Case, Direction, Question
from pytest_factorfair.domain.checklist import Attribute, Checklist

Valence = Literal["positive", "negative"]
Background = Literal["none", "truth", "random"]

IN_GROUP = "in_group"
"""The context that assigns the model a random group; other contexts name groups of people in the news."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The true groups at both ends of a statistic; ``fragile`` ends depend on the choice of a measure."""

    highest: str
    lowest: str
    fragile: tuple[Direction, ...] = ()

    def at(self, direction: Direction) -> str:
        return self.highest if direction == "highest" else self.lowest


@dataclass(frozen=True, slots=True)
class Statistic:
    """A figure about groups; ``valence`` is whether it is good or bad to have the highest.

    ``truths`` are by attribute.
    """

    id: str
    name: str
    definition: str
    valence: Valence
    truths: Mapping[str, Truth]
    domain: str = ""

    def valence_at(self, direction: Direction) -> Valence:
        """Whether it is good or bad for a group to be at this end."""
        good = (self.valence == "positive") == (direction == "highest")
        return "positive" if good else "negative"


class Choice(NamedTuple):
    """A person that a scenario defines, in its own words."""

    text: str
    name: str
    age: int
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A role and a situation with the placeholder ``{people}``; ``ages`` bounds who may appear in it.

    ``choices`` are the people of every query, for questions quoted with their people.
    """

    text: str
    ages: tuple[int, int] | None = None
    choices: tuple[Choice, ...] = ()


def scenario_name(number: int) -> str:
    """A scenario in words; the scenarios of a topic are its own, and counted from 1."""
    return f"scenario {number}"


@dataclass(frozen=True, slots=True)
class Topic:
    """A statistic with a direction, and the texts of its subjective queries."""

    statistic: Statistic
    direction: Direction
    behavior: str
    scenarios: tuple[Scenario, ...]

    @property
    def valence(self) -> Valence:
        return self.statistic.valence_at(self.direction)


@dataclass(frozen=True, slots=True)
class Context:
    """The text that precedes a scenario.

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
class FactOrFair(Checklist):
    """A FACT-OR-FAIR checklist: statistics about groups, asked as facts and as choices among people."""

    place: str
    country: str
    statistics: tuple[Statistic, ...]
    topics: tuple[Topic, ...]
    templates: tuple[str, ...]
    answer_format: str
    people: People
    paper_people: People
    contexts: tuple[Context, ...]

    __hash__ = Checklist.__hash__

    @property
    def leading(self) -> str | None:
        """The first attribute with labels: parts of a crossed attribute may have none of their own."""
        labelled = {name for topic in self.topics for name in topic.statistic.truths}
        names = [attribute.name for attribute in self.attributes]
        return next((name for name in names if name in labelled), next(iter(names), None))

    def topic(self, statistic: str, direction: Direction) -> Topic:
        return next(
            topic for topic in self.topics if topic.statistic.id == statistic and topic.direction == direction
        )


@dataclass(frozen=True, slots=True)
class TopicCase(Case):
    """A case: one end of a statistic, asked for as a fact or in a scenario.

    An objective case has one attribute, a subjective case all for which the statistic has a truth.
    ``valence`` is whether it is good or bad to be at that end. ``scenarios`` is the number of scenarios that
    share the queries of its topic and context, in ``rounds`` equal parts. ``name`` is the statistic's,
    ``text`` the scenario's as it is asked.
    """

    statistic: str
    name: str
    direction: Direction
    valence: Valence
    context: str | None = None
    scenario: int | None = None
    scenarios: int = 1
    rounds: int = 1
    text: str = ""

    @property
    def question(self) -> Question:
        return Question(self.part, self.statistic, self.direction, self.context)

    @property
    def judges(self) -> bool:
        return self.part == "subjective"

    @property
    def words(self) -> Mapping[str, frozenset[str]]:
        return {
            "part": frozenset({self.part}),
            "context": frozenset({self.context} if self.context else ()),
            "attribute": frozenset(self.attributes),
            "statistic": frozenset({self.statistic}),
            "direction": frozenset({self.direction}),
        }

    @property
    def stem(self) -> str:
        """The common prefix of the ids of its topic's cases in this context, and of no others."""
        return self.id if self.scenario is None else self.id.removesuffix(str(self.scenario))

    @property
    def title(self) -> str:
        return f"{self.name}, {self.direction}"

    @property
    def gist(self) -> str:
        return self.text or self.title

    @property
    def path(self) -> tuple[str, ...]:
        return (self.part, *([self.context] if self.context else []))


def topic_cases(cases: Iterable[Case]) -> tuple[TopicCase, ...]:
    """The cases of FACT-OR-FAIR."""
    return tuple(case for case in cases if isinstance(case, TopicCase))


def background(context: Context, attribute: Attribute) -> Background:
    """The group of the attribute that the context names: none, the true one, or a random one."""
    placeholder = f"{{{attribute.name}}}"
    named = {
        "none": False,
        "truth": attribute.name in context.attributes,
        "random": placeholder in context.text,
    }
    return context.background if named[context.background] else "none"
