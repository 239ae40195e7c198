"""What a prompt asks, read off its text alone: the inverse of ``prompts`` for simulated respondents."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from string import ascii_uppercase
from typing import TypeVar

from pytest_factorfair.checklist.template import pattern, placeholders
from pytest_factorfair.domain import DIRECTIONS, Attribute, Direction
from pytest_factorfair.protocols.fact_or_fair import prompts
from pytest_factorfair.protocols.fact_or_fair.cases import REASON_FORMAT
from pytest_factorfair.protocols.fact_or_fair.checklist import Context, FactOrFair, Topic
from pytest_factorfair.protocols.fact_or_fair.people import everyone, people_count, simple

_CHOICES = "\0"
_WITH_REASON = "\n" + REASON_FORMAT
_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Asked = tuple[str, Direction]
_Groups = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a query asks: the letters with the groups they stand for, and the groups its context names.

    ``explained`` is a query that wants a reason, too.
    """

    part: str
    statistic: str
    direction: Direction
    context: str | None
    options: tuple[tuple[str, _Groups], ...]
    background: _Groups
    explained: bool = False


class Recogniser:
    """Reads the prompts of one checklist; a prompt of anything else is not recognised.

    All texts are rendered once and looked up, so that a prompt costs a few microseconds. Where two
    contexts read the same about a topic the first is meant; a text that two topics share names none.
    """

    def __init__(self, checklist: FactOrFair) -> None:
        self._ending = "\n" + checklist.answer_format
        self._choices = [(attribute.name, _choices(attribute)) for attribute in checklist.attributes]
        self._questions = _unambiguous(_questions(checklist))
        self._scenes = _unambiguous(_scenes(checklist))
        self._contexts = _contexts(checklist)
        self._profiles = _profiles(checklist)
        self._kinds = _kinds(checklist)
        self._attributes = simple(checklist)

    def recognise(self, prompt: str) -> Recognised | None:
        """What the prompt asks, or None if it is not one of the checklist's."""
        if prompt.endswith(self._ending):
            text = prompt.removesuffix(self._ending)
            return self._subjective(text) or self._objective(text)
        if prompt.endswith(_WITH_REASON):
            seen = self._subjective(prompt.removesuffix(_WITH_REASON))
            return seen and replace(seen, explained=True)
        return None

    def _objective(self, text: str) -> Recognised | None:
        for name, choices in self._choices:
            if found := choices.search(text):
                asked = self._questions.get(text.replace(found[0], _CHOICES))
                if asked and len(set(found.groups())) == len(found.groups()):
                    options = ((letter, {name: group}) for letter, group in _lettered(found.groups()))
                    return Recognised("objective", *asked, None, tuple(options), {})
        return None

    def _subjective(self, text: str) -> Recognised | None:
        head, mark, people = text.rpartition("\nA. ")
        place = self._place(head) if mark else None
        options = self._options(f"A. {people}".split("\n")) if place else None
        if place is None or options is None:
            return None
        asked, (context, background) = place
        return Recognised("subjective", *asked, context, options, background)

    def _place(self, head: str) -> tuple[_Asked, tuple[str, _Groups]] | None:
        """The topic and context of what precedes the people: a context's line, if any, and a scenario."""
        for context, scene in _splits(head):
            asked = self._scenes.get(scene)
            told = self._contexts.get((asked, context)) if asked else None
            if asked and told:
                return asked, told
        return None

    def _options(self, lines: list[str]) -> tuple[tuple[str, _Groups], ...] | None:
        options = []
        for letter, line in _lettered(lines):
            mark, _, text = line.partition(". ")
            groups = self._person(text) if mark == letter else None
            if groups is None:
                return None
            options.append((letter, groups))
        return tuple(options)

    def _person(self, text: str) -> _Groups | None:
        found = next(filter(None, (profile.fullmatch(text) for profile in self._profiles)), None)
        if found is None:
            return None
        return self._kinds.get(tuple(found[attribute.name] for attribute in self._attributes))


def _lettered(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    return zip(ascii_uppercase, texts, strict=False)


def _splits(head: str) -> Iterator[tuple[str, str]]:
    """Every way in which the lines may be a context and a scenario, the empty context first."""
    yield "", head
    lines = head.split("\n")
    yield from (("\n".join(lines[:at]), "\n".join(lines[at:])) for at in range(1, len(lines)))


def _unambiguous(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, _Value]:
    """The pairs as a dictionary, without the keys that stand for more than one value."""
    found: dict[_Key, set[_Value]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return {key: values.pop() for key, values in found.items() if len(values) == 1}


def _questions(checklist: FactOrFair) -> Iterator[tuple[str, _Asked]]:
    """The objective prompts, with a mark in place of the choices."""
    combinations = product(checklist.statistics, DIRECTIONS, checklist.templates, (True, False))
    for statistic, direction, template, agree in combinations:
        text = prompts.objective(
            checklist, template, statistic=statistic, direction=direction, offered=_CHOICES, agree=agree
        )
        yield text.removesuffix("\n" + checklist.answer_format), (statistic.id, direction)


def _choices(attribute: Attribute) -> re.Pattern[str]:
    lettered = prompts.choices([f"({_any(attribute.groups)})"] * attribute.k)
    return re.compile(lettered.replace(". ", r"\. "))


def _any(words: Iterable[str]) -> str:
    """A pattern of alternatives, longer ones first, so that none hides behind its own beginning."""
    return f"(?:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})"


def _scenes(checklist: FactOrFair) -> Iterator[tuple[str, _Asked]]:
    counts = {people_count(checklist, design) for design in ("balanced", "paper")}
    for topic, count in product(checklist.topics, counts):
        for scenario in topic.scenarios:
            yield prompts.scenario_text(scenario.text, count), (topic.statistic.id, topic.direction)


def _contexts(checklist: FactOrFair) -> dict[tuple[_Asked, str], tuple[str, _Groups]]:
    """By topic and text, the first context that reads so and the groups it names."""
    found: dict[tuple[_Asked, str], tuple[str, _Groups]] = {}
    for topic, context in product(checklist.topics, checklist.contexts):
        for background, agree in product(_backgrounds(checklist, context), (True, False)):
            text = prompts.context_text(checklist, topic, context, background=background, agree=agree)
            found.setdefault((_asked(topic), text), (context.id, background))
    return found


def _asked(topic: Topic) -> _Asked:
    return topic.statistic.id, topic.direction


def _backgrounds(checklist: FactOrFair, context: Context) -> list[dict[str, str]]:
    """All combinations of groups that a context may name."""
    random = context.background == "random"
    named = [each for each in simple(checklist) if random and each.name in placeholders(context.text)]
    names = [attribute.name for attribute in named]
    combinations = product(*(attribute.groups for attribute in named))
    return [dict(zip(names, groups, strict=True)) for groups in combinations]


def _profiles(checklist: FactOrFair) -> list[re.Pattern[str]]:
    words = {attribute.name: _any(attribute.words.values()) for attribute in simple(checklist)}
    templates = dict.fromkeys((checklist.people.profile, checklist.paper_people.profile))
    return [pattern(template, {"name": ".+?", "age": r"\d+"} | words) for template in templates]


def _kinds(checklist: FactOrFair) -> dict[tuple[str, ...], _Groups]:
    """The groups of a person by the words of the simple attributes, in their order."""
    alone = simple(checklist)
    return {
        tuple(attribute.words[groups[attribute.name]] for attribute in alone): groups
        for groups in everyone(checklist).values()
    }
