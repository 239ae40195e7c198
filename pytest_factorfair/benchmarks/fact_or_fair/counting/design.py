"""The design of a first look: which kinds of people its questions offer, and under which conditions.

Kinds and conditions follow from the checklist and its line-ups; none is listed by hand. A *kind* is a way to
single out people: a group, a combination of two, a group at a letter, the group that the topic's label or the
context names, a first name. A *condition* is a set of questions: one value of what varies between questions,
two values together, or a part of a topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from string import ascii_uppercase
from typing import NamedTuple

import numpy as np

from pytest_factorfair.benchmarks.fact_or_fair.asking.people import age_bands, simple
from pytest_factorfair.benchmarks.fact_or_fair.asking.queries import queries
from pytest_factorfair.benchmarks.fact_or_fair.checklist import (
    IN_GROUP,
    Context,
    FactOrFair,
    TopicCase,
    background,
)
from pytest_factorfair.benchmarks.first_look import Conditions, Factor, conditions
from pytest_factorfair.domain import DIRECTIONS, Attribute, Query, Sampling
from pytest_factorfair.statistics.arrays import BoolArray, IntArray

STEREOTYPED = "the person of the stereotyped "
"""Begins the kinds of people whom the label of a topic says, before the attribute."""


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """The N questions of a first look about people, with up to L letters.

    - ``rows``: the number of each question, by case and query; ``cases``: the case of each,
      ``queries`` its id.
    - ``context`` (N,): its index; ``stated`` are contexts that state the truth, ``naming`` (N,) those that
      name a group. ``positive`` (N,): whether it is good to be chosen. ``topic`` (N,): topic and scenario.
    - ``offered`` (N, L): the letters that a question has.
    - ``named``: for each attribute, the people (N, L) of the group that the context names or states.
    - ``kinds``: their words, and whom they single out, ``shown`` (N, L, F).
    - ``labels``: for each attribute, the group that a topic's label, a stereotype, says.
    """

    rows: Mapping[tuple[str, str], int]
    cases: tuple[TopicCase, ...]
    queries: tuple[str, ...]
    context: IntArray
    stated: BoolArray
    naming: BoolArray
    positive: BoolArray
    topic: IntArray
    offered: BoolArray
    named: tuple[BoolArray, ...]
    kinds: tuple[str, ...]
    shown: BoolArray
    labels: tuple[Factor, ...]
    conditions: Conditions

    @property
    def live(self) -> BoolArray:
        """The questions that offer a kind of person, and others, (N, F)."""
        number = self.shown.sum(axis=1)
        return np.asarray((number > 0) & (number < self.offered.sum(axis=1)[:, None]))


class _Asked(NamedTuple):
    """The questions with everything that conditions and kinds are made from."""

    checklist: FactOrFair
    simple: tuple[Attribute, ...]
    cases: tuple[TopicCase, ...]
    queries: tuple[Query, ...]
    groups: Mapping[str, IntArray]
    names: IntArray
    people: tuple[str, ...]
    labels: Mapping[str, tuple[IntArray, IntArray]]
    """The labelled group of each question, by attribute, and that of the other end."""
    mentioned: Mapping[str, IntArray]
    """The group that the context names at random."""

    def column(self, values: Iterable[int]) -> IntArray:
        return np.fromiter(values, np.int64, len(self.queries))

    def unique(self, attribute: Attribute) -> bool:
        """Whether every question offers one person of each group."""
        offered = np.sort(self.groups[attribute.name], axis=1)
        return offered.shape[1] == attribute.k and bool((offered == np.arange(attribute.k)).all())


@lru_cache(maxsize=4)
def design_of(checklist: FactOrFair, cases: tuple[TopicCase, ...], sampling: Sampling) -> Design:
    """The design of the subjective ones among these cases, of which there are some."""
    asked = _asked(checklist, cases, sampling)
    shown = {words: mask for words, mask in _kinds(asked) if mask.any()}
    unique = {mask.tobytes(): words for words, mask in reversed(shown.items())}
    kinds = tuple(words for words, mask in shown.items() if unique[mask.tobytes()] == words)
    offered = next(iter(asked.groups.values())) >= 0
    contexts = [next(c for c in checklist.contexts if c.id == case.context) for case in asked.cases]
    context = asked.column(checklist.contexts.index(context) for context in contexts)
    topics = {key: number for number, key in enumerate(dict.fromkeys(map(_topic, asked.cases)))}
    return Design(
        rows={(c.id, q.id): row for row, (c, q) in enumerate(zip(asked.cases, asked.queries, strict=True))},
        cases=asked.cases,
        queries=tuple(query.id for query in asked.queries),
        context=context,
        stated=np.array([context.background == "truth" for context in contexts]),
        naming=np.array([context.background != "none" for context in contexts]),
        positive=np.array([case.valence == "positive" for case in asked.cases]),
        topic=asked.column(topics[_topic(case)] for case in asked.cases),
        offered=offered,
        named=tuple(mask for _, mask in _named(asked)),
        kinds=kinds,
        shown=np.stack([shown[words] for words in kinds], axis=-1),
        labels=tuple(_label(asked, attribute) for attribute in checklist.attributes),
        conditions=_conditions(asked),
    )


def _topic(case: TopicCase) -> tuple[str, str, int | None]:
    return case.statistic, case.direction, case.scenario


def _asked(checklist: FactOrFair, cases: Sequence[TopicCase], sampling: Sampling) -> _Asked:
    """The questions about people in these cases."""
    pairs = [
        (case, query)
        for case in cases
        if case.part == "subjective"
        for query in queries(checklist, case, sampling)
    ]
    of_cases, of_queries = zip(*pairs, strict=True)
    letters = max(len(query.options) for query in of_queries)
    people = tuple(dict.fromkeys(option.words[0] for query in of_queries for option in query.options))
    numbers = {name: number for number, name in enumerate(people)}
    columns = {attribute.name: attribute.groups.index for attribute in checklist.attributes}
    groups = {name: np.full((len(pairs), letters), -1) for name in columns}
    names = np.full((len(pairs), letters), -1)
    for row, query in enumerate(of_queries):
        for letter, option in enumerate(query.options):
            names[row, letter] = numbers[option.words[0]]
            for name, index in columns.items():
                groups[name][row, letter] = index(option.groups[name])
    truths = {statistic.id: statistic.truths for statistic in checklist.statistics}
    labels, mentioned = {}, {}
    for attribute in checklist.attributes:
        ends = [truths[case.statistic].get(attribute.name) for case in of_cases]
        for_ends = [
            [-1 if truth is None else columns[attribute.name](truth.at(way)) for way in DIRECTIONS]
            for truth in ends
        ]
        both, lowest = np.array(for_ends), [case.direction == "lowest" for case in of_cases]
        labels[attribute.name] = (
            np.where(lowest, both[:, 1], both[:, 0]),
            np.where(lowest, both[:, 0], both[:, 1]),
        )
        backgrounds = [query.background.get(attribute.name) for query in of_queries]
        mentioned[attribute.name] = np.array(
            [-1 if group is None else columns[attribute.name](group) for group in backgrounds]
        )
    return _Asked(
        checklist, simple(checklist), of_cases, of_queries, groups, names, people, labels, mentioned
    )


def _person(*words: str) -> str:
    """A person with an article: "an Asian person", "a Black female person"."""
    article = "an" if words[0][:1].lower() in "aeiou" else "a"
    return " ".join((article, *words, "person"))


def _named(asked: _Asked) -> Iterator[tuple[Attribute, BoolArray]]:
    """The people of the group that the context names, or states to be the true one, by attribute."""
    contexts = {context.id: context for context in asked.checklist.contexts}
    for attribute in asked.simple:
        states = [background(contexts[case.context or ""], attribute) == "truth" for case in asked.cases]
        group = np.where(states, asked.labels[attribute.name][0], asked.mentioned[attribute.name])
        mask = (asked.groups[attribute.name] == group[:, None]) & (group >= 0)[:, None]
        if mask.any():
            yield attribute, mask


def _kinds(asked: _Asked) -> Iterator[tuple[str, BoolArray]]:
    """The kinds of people, each with the people (N, L) that are of it."""
    every = {
        attribute.name: {
            attribute.words[group]: asked.groups[attribute.name] == number
            for number, group in enumerate(attribute.groups)
        }
        for attribute in asked.checklist.attributes
    }
    for masks in every.values():
        yield from ((_person(word), mask) for word, mask in masks.items())
    for first, second in combinations([every[attribute.name] for attribute in reversed(asked.simple)], 2):
        for (word, mask), (other_word, other_mask) in product(first.items(), second.items()):
            yield _person(word, other_word), mask & other_mask
    for attribute in asked.simple:
        for word, mask in every[attribute.name].items():
            for number, letter in enumerate(ascii_uppercase[: mask.shape[1]]):
                yield f"{_person(word)} at letter {letter}", mask & (np.arange(mask.shape[1]) == number)
    yield from _singled_out(asked)
    for number, name in enumerate(asked.people):
        yield f"the person named {name}", asked.names == number


def _singled_out(asked: _Asked) -> Iterator[tuple[str, BoolArray]]:
    """The people whom the topic's label or the context singles out."""
    for attribute in asked.checklist.attributes:
        name, groups = attribute.name.replace("_", " "), asked.groups[attribute.name]
        label, opposite = asked.labels[attribute.name]
        yield f"{STEREOTYPED}{name}", (groups == label[:, None]) & (label >= 0)[:, None]
        opposed = (groups == opposite[:, None]) & (opposite >= 0)[:, None]
        yield f"the person of the {name} least like the stereotype", opposed
    named = list(_named(asked))
    for attribute, mask in named:
        yield f"the person of the named {attribute.name.replace('_', ' ')}", mask
    for (first_attribute, mask), (second_attribute, other_mask) in combinations(named, 2):
        names = f"{first_attribute.name} and {second_attribute.name}".replace("_", " ")
        yield f"the person of the named {names}", mask & other_mask


CONTEXTS: Mapping[str, str] = {
    "none": "told nothing beforehand",
    "truth": "after hearing the statistic",
    "random": "after news about somebody",
}


def _context_clause(context: Context) -> str:
    return "asked to answer as somebody" if context.id == IN_GROUP else CONTEXTS[context.background]


def _factors(asked: _Asked) -> dict[str, Factor]:
    """What varies between the questions, by name; a statistic has a direction, but a topic both."""
    checklist, cases = asked.checklist, asked.cases
    bands = dict(enumerate(age_bands(checklist)))
    ages = [_common_age(query) for query in asked.queries]
    offered = {option.age for query in asked.queries for option in query.options if option.age}
    scenarios = max(case.scenarios for case in cases)
    domains = {statistic.id: statistic.domain for statistic in checklist.statistics}
    factors = {
        "context": Factor.of(
            (case.context for case in cases),
            {context.id: _context_clause(context) for context in checklist.contexts},
        ),
        "statistic": Factor.of(
            (case.statistic for case in cases),
            {statistic.id: f"about {statistic.name}" for statistic in checklist.statistics},
        ),
        "direction": Factor.of(
            (case.direction for case in cases),
            {"highest": "asked who is most likely", "lowest": "asked who is least likely"},
        ),
        "valence": Factor.of(
            (case.valence == "positive" for case in cases),
            {False: "where it is bad to be chosen", True: "where it is good to be chosen"},
        ),
        "domain": Factor.of(
            (domains[case.statistic] for case in cases),
            {domain: f"on {domain} topics" for domain in domains.values() if domain},
        ),
        "scenario": Factor.of(
            (case.scenario for case in cases),
            {number: f"in scenario {number}" for number in range(1, scenarios + 1)},
        ),
        "age": Factor.of(ages, {age: f"among people aged {age}" for age in sorted(offered)}),
        "band": Factor.of(
            (next((number for number, band in bands.items() if age in band), None) for age in ages),
            {number: f"among people aged {band[0]} to {band[-1]}" for number, band in bands.items()},
        ),
    }
    for attribute in checklist.attributes:
        words = [attribute.words[group] for group in attribute.groups]
        name = attribute.name
        factors[f"mentioned {name}"] = Factor(
            asked.mentioned[name], [f"told of {_person(word)}" for word in words]
        )
        factors[f"label {name}"] = _label(asked, attribute)
    for attribute in asked.simple:
        factors |= _places(asked, attribute)
    for number, name in enumerate(asked.people):
        shown = (asked.names == number).any(axis=1)
        factors[f"name {name}"] = Factor(np.where(shown, 0, -1), [f"with {name} among them"])
    return factors


def _label(asked: _Asked, attribute: Attribute) -> Factor:
    """The group of an attribute that the label of each topic says."""
    about = f"where the stereotyped {attribute.name.replace('_', ' ')} is"
    clauses = [f"{about} {attribute.words[group]}" for group in attribute.groups]
    return Factor(asked.labels[attribute.name][0], clauses)


def _common_age(query: Query) -> int:
    """The age of all people of a question; -1 if they differ or have none."""
    ages = {option.age for option in query.options}
    return ages.pop() or -1 if len(ages) == 1 else -1


def _places(asked: _Asked, attribute: Attribute) -> dict[str, Factor]:
    """Where the groups of an attribute stand, who of two is first, and what else each of them is."""
    groups, words = asked.groups[attribute.name], [attribute.words[group] for group in attribute.groups]
    factors = {
        f"{attribute.name} at {letter}": Factor(
            groups[:, number], [f"with {_person(word)} at letter {letter}" for word in words]
        )
        for number, letter in enumerate(ascii_uppercase[: groups.shape[1]])
    }
    if not asked.unique(attribute):
        return factors
    letter_of = np.argsort(groups, axis=1)
    for first, second in combinations(range(attribute.k), 2):
        clauses = [
            f"with the {words[earlier]} person before the {words[later]} one"
            for earlier, later in ((second, first), (first, second))
        ]
        before = (letter_of[:, first] < letter_of[:, second]).astype(np.int64)
        factors[f"{words[first]} before {words[second]}"] = Factor(before, clauses)
    for other in asked.simple:
        if other is not attribute:
            other_groups = np.take_along_axis(asked.groups[other.name], letter_of, axis=1)
            for group, word in enumerate(words):
                clauses = [f"if the {word} person is {other.words[is_]}" for is_ in other.groups]
                factors[f"{other.name} of {word}"] = Factor(other_groups[:, group], clauses)
    return factors


TOGETHER = (
    ("statistic", "direction", "scenario"),
    ("statistic", "direction", "context"),
    ("statistic", "direction", "scenario", "context"),
)
"""Parts of a topic that are conditions."""

WITH_MENTIONED = (("context", "valence"), ("context", "domain"), ("context", "statistic"))
"""What is a condition together with the group that the context names at random."""


def _conditions(asked: _Asked) -> Conditions:
    """Every value, every two values of enough questions, and parts of topics."""
    factors = _factors(asked)
    mentioned = [name for name in factors if name.startswith("mentioned ")]
    together = [*TOGETHER, *((*names, name) for names in WITH_MENTIONED for name in mentioned)]
    return conditions(factors, len(asked.queries), together)
