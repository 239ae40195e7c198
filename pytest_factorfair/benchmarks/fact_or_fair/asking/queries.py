"""Expand a case to queries, the same on every machine: prompts with the options behind their letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from math import factorial
from random import Random
from string import ascii_uppercase

from pytest_factorfair.benchmarks.fact_or_fair.asking.people import Person, lineups, people_count
from pytest_factorfair.benchmarks.fact_or_fair.checklist import (
    Context,
    FactOrFair,
    Statistic,
    Topic,
    TopicCase,
)
from pytest_factorfair.checklist.queries import Draft, fill, numbered
from pytest_factorfair.domain import ENGLISH, Language, Option, Query, Sampling
from pytest_factorfair.languages import Prompts
from pytest_factorfair.languages import words as words_of

SHOWN = 2**13
"""The size of the cache of options: a run shows each of the shipped checklist's 3,072 many times."""


def queries(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> tuple[Query, ...]:
    """The queries of a case, in the order in which they are asked."""
    if checklist.modality == "text":
        drafts = _facts if case.part == "objective" else _choices
    else:
        drafts = _portraits if case.part == "objective" else _scenes
    return numbered(
        drafts(checklist, case, sampling), case=case, seed=sampling.seed, direction=case.direction
    )


def _facts(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:
    """Questions for a fact; in the paper's design the first template only, the groups shuffled each time."""
    statistic = next(statistic for statistic in checklist.statistics if statistic.id == case.statistic)
    attribute = checklist.attribute(case.attributes[0])
    balanced = sampling.design == "balanced"
    key = f"{sampling.seed}/{checklist.name}/{case.id}"
    prompts = words_of(checklist.language).prompts
    words = {
        "statistic": statistic.name,
        "definition": _quoted(_defined(statistic, prompts), prompts),
        "direction": prompts.directions[case.direction],
        "country": checklist.country,
    }
    orders = _orders(attribute.groups, case.samples, key=key, templates=len(checklist.templates))
    if not balanced:
        draw = Random(key)  # noqa: S311 - reproducible designs, not secrets
        orders = ((tuple(draw.sample(attribute.groups, attribute.k)), 0) for _ in range(case.samples))
    for order, template in orders:
        options = tuple(
            Option(
                letter,
                attribute.labels.get(group, group),
                (group, *attribute.aliases.get(group, ())),
                {attribute.name: group},
            )
            for letter, group in zip(ascii_uppercase, order, strict=False)
        )
        choices = prompts.separator.join(
            prompts.option.replace("{letter}", option.letter).replace("{text}", option.text)
            for option in options
        )
        question = fill(
            checklist.templates[template],
            words | {"choices": choices},
            agree=balanced,
            language=checklist.language,
        )
        yield f"{question}\n{checklist.answer_format}", options, {}


def _defined(statistic: Statistic, prompts: Prompts) -> str:
    return statistic.definition.strip().removesuffix(prompts.full_stop)


_INNER = str.maketrans('"“”«»「」', "'‘’“”『』")  # noqa: RUF001 - quotation marks of several languages


def _quoted(definition: str, prompts: Prompts) -> str:
    """A definition in the quotes of the language; quotes of the same kind in it become inner ones."""
    inner = {sign: _INNER[sign] for sign in _INNER if chr(sign) in prompts.definition}
    return prompts.definition.replace("{text}", definition.translate(inner))


def _orders(
    groups: tuple[str, ...], samples: int, *, key: str, templates: int
) -> Iterator[tuple[tuple[str, ...], int]]:
    """An order of the groups and the number of a template for each question.

    Every k orders in a row put each group at each letter once. No prompt recurs before all have been asked.
    """
    k = len(groups)
    draw = Random(key)  # noqa: S311 - reproducible designs, not secrets
    base_count = min(-(-samples // k), factorial(k - 1))
    bases: dict[tuple[str, ...], None] = {}
    while len(bases) < base_count:
        bases[(groups[0], *draw.sample(groups[1:], k - 1))] = None
    orders = [(*base[turn:], *base[:turn]) for base in bases for turn in range(k)]
    for index in range(samples):
        order = index % factorial(k)
        yield orders[order], (index // factorial(k) + order) % templates


def _choices(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:
    """Questions for a choice among people, which follow the text of the context."""
    topic = checklist.topic(case.statistic, case.direction)
    scene = topic.scenarios[(case.scenario or 1) - 1]
    scenario = scenario_text(scene.text, people_count(checklist, sampling.design), checklist.language)
    quoted = tuple(
        Option(letter, choice.text, (choice.name,), choice.groups, choice.age)
        for letter, choice in zip(ascii_uppercase, scene.choices, strict=False)
    )
    balanced = sampling.design == "balanced"
    people = checklist.people if balanced else checklist.paper_people
    preambles: dict[tuple[str, ...], str] = {}
    for lineup in lineups(checklist, case, sampling):
        named = tuple(lineup.background.values())
        if named not in preambles:
            context = next(context for context in checklist.contexts if context.id == case.context)
            preambles[named] = context_text(
                checklist, topic, context, background=lineup.background, agree=balanced
            )
        options = quoted or tuple(
            _option(letter, person, people.profile, agree=balanced, language=checklist.language)
            for letter, person in zip(ascii_uppercase, lineup.people, strict=False)
        )
        # A context that says nothing about the topic adds no line.
        head = [preambles[named], scenario] if preambles[named] else [scenario]
        lines = [f"{option.letter}. {option.text}" for option in options]
        yield "\n".join((*head, *lines, checklist.answer_format)), options, lineup.background


@cache
def scenario_text(scenario: str, people: int, language: Language = ENGLISH) -> str:
    """A scenario's text about this many people, in words if the language has one for the number."""
    prompts = words_of(language).prompts
    number = prompts.numbers[people - 1] if people <= len(prompts.numbers) else str(people)
    words = {"people": prompts.people.replace("{number}", number)}
    return fill(scenario, words, agree=False, language=language)


@lru_cache(SHOWN)
def _option(letter: str, person: Person, profile: str, *, agree: bool, language: Language) -> Option:
    words = {"name": person.name, "age": str(person.age), **person.kind.words}
    text = fill(profile, words, agree=agree, language=language)
    return Option(letter, text, (person.name,), person.groups, person.age)


def context_text(
    checklist: FactOrFair, topic: Topic, context: Context, *, background: Mapping[str, str], agree: bool
) -> str:
    """The text before the scenario; empty if the context says nothing about the topic."""
    clauses = []
    for attribute in map(checklist.attribute, context.attributes):
        if truth := topic.statistic.truths.get(attribute.name):
            ends = {
                "attribute": attribute.label or attribute.name.replace("_", " "),
                "statistic": topic.statistic.name,
                "highest": attribute.words[truth.highest],
                "lowest": attribute.words[truth.lowest],
            }
            clauses.append(fill(context.clause, ends, agree=agree, language=checklist.language))
    if context.background == "truth" and not clauses:
        return ""
    named = {name: checklist.attribute(name).words[group] for name, group in background.items()}
    words = {
        "statistic": topic.statistic.name,
        "place": checklist.place,
        "country": checklist.country,
        "behavior": topic.behavior,
        "clauses": words_of(checklist.language).prompts.clauses.join(clauses),
    }
    return fill(context.text, words | named, agree=agree, language=checklist.language)


def _portraits(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:
    """Prompts for a portrait of a person at one end of a statistic; the paper's keep its capitals."""
    statistic = next(statistic for statistic in checklist.statistics if statistic.id == case.statistic)
    prompts = words_of(checklist.language).prompts
    words = {
        "statistic": statistic.name,
        "definition": _defined(statistic, prompts),
        "direction": prompts.directions[case.direction],
        "country": checklist.country,
    }
    templates = checklist.templates
    if not sampling.verbatim:
        words |= {
            "statistic": _in_sentence(statistic.name),
            "definition": _as_noun(words["definition"], prompts),
        }
        words |= {f"opening_{name}": word[:1].upper() + word[1:] for name, word in words.items()}
        templates = tuple(_OPENING.sub(r"{opening_\1}", template) for template in templates)
    for index in range(case.samples):
        yield fill(templates[index % len(templates)], words, agree=True, language=checklist.language), (), {}


# A placeholder that begins a sentence; "U.S." does not end one.
_OPENING = re.compile(r"(?:^|(?<=(?<![A-Z])[.?!] ))\{(statistic|definition)\}")


def _in_sentence(title: str) -> str:
    """A title's words in lower case, but for abbreviations: "HIV rate", "COVID-19 mortality rate"."""
    return " ".join(word if word[1:] != word[1:].lower() else word.lower() for word in title.split())


def _as_noun(definition: str, prompts: Prompts) -> str:
    """A definition inside a sentence, with its article: "the percentage of people living with HIV"."""
    first_word, space, tail = definition.partition(" ")
    first_word = _in_sentence(first_word)
    added = [
        f"{article} " for article in prompts.noun_articles[:1] if first_word not in prompts.noun_articles
    ]
    return "".join((*added, first_word, space, tail))


def _scenes(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Iterator[Draft]:  # noqa: ARG001 - one signature
    """Prompts for pictures of a scenario, which follow the text of the context."""
    topic = checklist.topic(case.statistic, case.direction)
    context = next(context for context in checklist.contexts if context.id == case.context)
    preamble = context_text(checklist, topic, context, background={}, agree=True)
    scene = topic.scenarios[(case.scenario or 1) - 1].text
    prompt = f"{preamble} {scene}" if preamble else scene
    yield from ((prompt, (), {}) for _ in range(case.samples))


def explained(checklist: FactOrFair, case: TopicCase, sampling: Sampling) -> Query | None:
    """The first query of a subjective case, asked with its reason; None for an objective one.

    It has another prompt, and so an id and a store key of its own: a model that must give reasons may choose
    differently, so these choices are not scored.
    """
    if case.part != "subjective":
        return None
    query = queries(checklist, case, sampling)[0]
    prompt = query.prompt.removesuffix(checklist.answer_format)
    prompt += words_of(checklist.language).prompts.reason_format
    draft = (prompt, query.options, query.background)
    (asked,) = numbered([draft], case=case, seed=sampling.seed, direction=query.direction)
    return replace(asked, explained=True)


def citable(checklist: FactOrFair) -> tuple[str, ...]:
    """The statistics that a reason may cite."""
    return tuple(statistic.name for statistic in checklist.statistics)
