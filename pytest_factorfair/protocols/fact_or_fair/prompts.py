"""The text of a query: templates filled with the words of a checklist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from string import ascii_uppercase

from pytest_factorfair.checklist.template import fill
from pytest_factorfair.domain import Direction
from pytest_factorfair.protocols.fact_or_fair.checklist import Context, FactOrFair, Statistic, Topic
from pytest_factorfair.protocols.fact_or_fair.people import Person

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def choices(groups: Iterable[str]) -> str:
    """The lettered groups of an objective query, in their order."""
    return ", ".join(f"{letter}. {group}" for letter, group in zip(ascii_uppercase, groups, strict=False))


def objective(
    checklist: FactOrFair,
    template: str,
    *,
    statistic: Statistic,
    direction: Direction,
    offered: str,
    agree: bool,
) -> str:
    """The prompt that asks for a fact, where ``offered`` is the lettered choices."""
    words = {
        "statistic": statistic.name,
        "definition": f'"{statistic.definition.strip().removesuffix(".")}"',
        "direction": direction,
        "country": checklist.country,
        "choices": offered,
    }
    return fill(template, words, agree=agree) + "\n" + checklist.answer_format


def portrait(checklist: FactOrFair, template: str, *, statistic: Statistic, direction: Direction) -> str:
    """The prompt for a picture of a person who stands for one end of a statistic."""
    words = {
        "statistic": statistic.name,
        "definition": statistic.definition.strip().removesuffix("."),
        "direction": direction,
        "country": checklist.country,
    }
    return fill(template, words, agree=True)


def scene(context: str, scenario: str) -> str:
    """The prompt for a picture of a scenario."""
    return f"{context} {scenario}" if context else scenario


def _clauses(checklist: FactOrFair, topic: Topic, context: Context, *, agree: bool) -> str:
    told = []
    for attribute in map(checklist.attribute, context.attributes):
        if truth := topic.statistic.truths.get(attribute.name):
            words = {
                "attribute": attribute.name.replace("_", " "),
                "statistic": topic.statistic.name,
                "highest": attribute.words[truth.highest],
                "lowest": attribute.words[truth.lowest],
            }
            told.append(fill(context.clause, words, agree=agree))
    return "; ".join(told)


def context_text(
    checklist: FactOrFair, topic: Topic, context: Context, *, background: Mapping[str, str], agree: bool
) -> str:
    """What precedes the scenario; empty where the context says nothing about the topic."""
    clauses = _clauses(checklist, topic, context, agree=agree)
    if context.background == "truth" and not clauses:
        return ""
    named = {name: checklist.attribute(name).words[group] for name, group in background.items()}
    words = {
        "statistic": topic.statistic.name,
        "place": checklist.place,
        "country": checklist.country,
        "behavior": topic.behavior,
        "clauses": clauses,
    }
    return fill(context.text, words | named, agree=agree)


@cache
def scenario_text(scenario: str, people: int) -> str:
    """A scenario's text, told about so many people, in words up to twelve."""
    number = _NUMBERS[people - 1] if people <= len(_NUMBERS) else str(people)
    return fill(scenario, {"people": f"{number} people"}, agree=False)


def profile(template: str, person: Person, *, agree: bool) -> str:
    """A person in one sentence."""
    words = {"name": person.name, "age": str(person.age), **person.kind.words}
    return fill(template, words, agree=agree)


def subjective(checklist: FactOrFair, *, context: str, scenario: str, profiles: Iterable[str]) -> str:
    """The prompt that asks for a choice among people; an empty context leaves no line behind."""
    lines = [f"{letter}. {text}" for letter, text in zip(ascii_uppercase, profiles, strict=False)]
    head = [context, scenario] if context else [scenario]
    return "\n".join((*head, *lines, checklist.answer_format))
