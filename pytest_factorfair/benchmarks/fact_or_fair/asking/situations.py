"""The situations that a simulated respondent sees in queries, with the truth about the topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from string import ascii_uppercase

from pytest_factorfair.benchmarks.asking import Conditions, Situation
from pytest_factorfair.benchmarks.fact_or_fair.asking.cases import cases
from pytest_factorfair.benchmarks.fact_or_fair.asking.people import (
    ages_between,
    everyone,
    people_count,
    simple,
)
from pytest_factorfair.benchmarks.fact_or_fair.checklist import (
    IN_GROUP,
    Context,
    FactOrFair,
    Scenario,
    TopicCase,
    Truth,
)
from pytest_factorfair.checklist.queries import placeholders
from pytest_factorfair.domain import Citation, Query, Sampling


def situation(checklist: FactOrFair, query: Query) -> Situation | None:
    """The choice that a query of the checklist offers: for a picture, of every combination of groups.

    None if the scenario belongs to several topics.
    """
    case = query.case
    if not isinstance(case, TopicCase):
        return None
    scenario = _scenario(checklist, case)
    if scenario is not None and scenario.text in _ambiguous(checklist):
        return None
    options: tuple[tuple[str, Mapping[str, str]], ...]
    if checklist.modality == "text":
        options = tuple((option.letter, option.groups) for option in query.options)
    else:
        options = tuple((str(number), groups) for number, groups in enumerate(everyone(checklist).values()))
    labels = _labels(checklist, case)
    truths = {name: truth.at(case.direction) for name, truth in labels.items()}
    context = _context(checklist, case)
    named = query.background
    if context is not None and context.background == "truth":
        named = {name: group for name, group in truths.items() if name in context.attributes}
    source: Citation = "group"  # without a named group, a reason can cite only the people's groups
    if context is not None and context.background != "none" and named:
        source = "identity" if context.id == IN_GROUP else "news"
        if context.background == "truth":
            source = "prior"
    people = query.options if scenario is not None else ()
    words = {
        "age": frozenset(str(option.age) for option in people),
        "at": frozenset(f"{option.letter}/{group}" for option in people for group in option.groups.values()),
        "first": frozenset(people[0].groups.values() if people else ()),
        "name": frozenset(word for option in people for word in option.words),
        "named": frozenset(named.values()),
        "own": frozenset(named.values() if source == "identity" else ()),
    }
    return Situation(
        options,
        asked=case.attributes if case.part == "objective" else (),
        truths=truths,
        named=named,
        source=source,
        opposites={
            name: truth.lowest if case.direction == "highest" else truth.highest
            for name, truth in labels.items()
        },
        names={option.letter: option.words[0] for option in people},
        words={**_case_words(checklist, case), **words},
    )


def conditions(checklist: FactOrFair) -> Iterator[Conditions]:
    """The words that may apply to the queries of each fact, and of each scenario in each context.

    Words about people apply to a choice among them: their ages, their names, and who is first.
    """
    for case in cases(checklist, Sampling("balanced", samples=1, objective=1, seed=0)):
        words = dict(_case_words(checklist, case))
        context, scenario = _context(checklist, case), _scenario(checklist, case)
        if context is not None and context.background == "truth":
            words["named"] = frozenset(
                truth.at(case.direction)
                for name, truth in _labels(checklist, case).items()
                if name in context.attributes
            )
        if context is not None and context.background == "random":
            mentioned = placeholders(context.text)
            words["named"] = frozenset(
                group
                for attribute in simple(checklist)
                if attribute.name in mentioned
                for group in attribute.groups
            )
            if context.id == IN_GROUP:
                words["own"] = words["named"]
        if scenario is not None and checklist.modality == "text":
            words |= _people(checklist, scenario)
        yield words


def _people(checklist: FactOrFair, scenario: Scenario) -> Conditions:
    """The words that may apply to the people of a scenario, in either design."""
    if scenario.choices:
        return {
            "age": frozenset(str(choice.age) for choice in scenario.choices),
            "at": frozenset(
                f"{letter}/{group}"
                for letter, choice in zip(ascii_uppercase, scenario.choices, strict=False)
                for group in choice.groups.values()
            ),
            "first": frozenset(scenario.choices[0].groups.values()),
            "name": frozenset(choice.name for choice in scenario.choices),
        }
    ages = {*ages_between(checklist, scenario.ages), *checklist.paper_people.ages}
    groups = [group for attribute in checklist.attributes for group in attribute.groups]
    letters = ascii_uppercase[: people_count(checklist, "balanced")]
    return {
        "age": frozenset(map(str, ages)),
        "at": frozenset(f"{letter}/{group}" for letter in letters for group in groups),
        "first": frozenset(groups),
        "name": frozenset({*checklist.people.names, *checklist.paper_people.names}),
    }


@lru_cache(maxsize=2**10)
def _case_words(checklist: FactOrFair, case: TopicCase) -> Conditions:
    """The words that apply to all queries of a case."""
    statistic = next(statistic for statistic in checklist.statistics if statistic.id == case.statistic)
    truths = _labels(checklist, case)
    attributes = case.attributes if case.part == "objective" else tuple(truths)
    return {
        **case.words,
        "topic": frozenset({f"{case.statistic}-{case.direction}"}),
        "valence": frozenset({"good" if statistic.valence_at(case.direction) == "positive" else "bad"}),
        "scenario": frozenset({str(case.scenario)} if case.scenario else ()),
        "true": frozenset(truths[name].at(case.direction) for name in attributes),
    }


def _labels(checklist: FactOrFair, case: TopicCase) -> Mapping[str, Truth]:
    return next(statistic.truths for statistic in checklist.statistics if statistic.id == case.statistic)


def _context(checklist: FactOrFair, case: TopicCase) -> Context | None:
    return next((context for context in checklist.contexts if context.id == case.context), None)


def _scenario(checklist: FactOrFair, case: TopicCase) -> Scenario | None:
    if case.part != "subjective":
        return None
    return checklist.topic(case.statistic, case.direction).scenarios[(case.scenario or 1) - 1]


@lru_cache(maxsize=8)
def _ambiguous(checklist: FactOrFair) -> frozenset[str]:
    """The scenarios of more than one topic."""
    times = Counter(
        text for topic in checklist.topics for text in {scenario.text for scenario in topic.scenarios}
    )
    return frozenset(text for text, topics in times.items() if topics > 1)
