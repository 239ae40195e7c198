"""Style of a checklist that is already valid: clues to a group, reversed directions, repetition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import combinations

from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Node, Step, dotted
from pytest_factorfair.checklist.wording import HINTS, any_of, group_names
from pytest_factorfair.domain import DIRECTIONS, Direction
from pytest_factorfair.protocols.fact_or_fair.layout import Checklist, Scenario

NEAR = 0.85
_SHARED = 0.5  # texts that have fewer of their words in common are not compared letter by letter

_ASKED: dict[Direction, str] = {"highest": "most likely", "lowest": "least likely"}

_Scenarios = list[tuple[tuple[Step, ...], Scenario]]


def findings(root: Node, file: Checklist) -> Iterator[Problem]:
    """What is bad style in a valid checklist."""
    yield from _clues(file)
    yield from _directions(file)
    yield from _duplicates(root, file)
    yield from _form(file)
    yield from _unasked(root, file)


def _scenarios(file: Checklist, direction: Direction) -> _Scenarios:
    return [
        (("topics", id_, direction, "scenarios", place), scenario)
        for id_, topic in file.topics.items()
        for place, scenario in enumerate(getattr(topic, direction).scenarios)
    ]


def _behaviors(file: Checklist) -> Iterator[tuple[tuple[Step, ...], str]]:
    for id_, topic in file.topics.items():
        for direction in DIRECTIONS:
            yield ("topics", id_, direction, "behavior"), getattr(topic, direction).behavior


def _clues(file: Checklist) -> Iterator[Problem]:
    groups = group_names(each.groups or {} for each in file.statistics.attributes.values())
    hints = any_of(HINTS.split())
    texts = [(steps, each.text) for direction in DIRECTIONS for steps, each in _scenarios(file, direction)]
    for steps, text in (*texts, *_behaviors(file)):
        for word in dict.fromkeys(groups.findall(text)):
            yield Problem(steps, f"names a group: '{word}'")
        for word in dict.fromkeys(hints.findall(text)):
            yield Problem(steps, f"hints at a group: '{word}'")


def _directions(file: Checklist) -> Iterator[Problem]:
    for direction in DIRECTIONS:
        wrong = _ASKED["lowest" if direction == "highest" else "highest"]
        for steps, scenario in _scenarios(file, direction):
            text = " ".join(scenario.text.lower().split())
            if wrong in text:
                yield Problem(steps, f"asks who is {wrong} under '{direction}'")
            if _ASKED[direction] not in text:
                yield Problem(steps, f"does not ask who is {_ASKED[direction]}")


def _duplicates(root: Node, file: Checklist) -> Iterator[Problem]:
    scenarios = [each for direction in DIRECTIONS for each in _scenarios(file, direction)]
    scenarios.sort(key=lambda each: root.find(each[0])[0].place)
    words = [re.findall(r"\w+", scenario.text.lower()) for _, scenario in scenarios]
    for (earlier, one), (later, other) in combinations(enumerate(words), 2):
        if _alike(one, other):
            likeness = "the same as" if one == other else "nearly the same as"
            node, _ = root.find(scenarios[earlier][0])
            yield Problem(scenarios[later][0], f"is {likeness} {dotted(node.steps)}, line {node.line}")


def _alike(one: list[str], other: list[str]) -> bool:
    """Whether the texts' ratio is above the limit; cheap upper bounds of it are asked first."""
    if len(set(one) & set(other)) < _SHARED * min(len(set(one)), len(set(other))):
        return False
    matcher = SequenceMatcher(None, " ".join(one), " ".join(other), autojunk=False)
    return all(ratio() > NEAR for ratio in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio))


def _form(file: Checklist) -> Iterator[Problem]:
    for steps, behavior in _behaviors(file):
        if behavior.endswith("."):
            yield Problem(steps, "ends with a full stop, and stands inside a sentence")
    if file.modality == "text":
        yield from _questions(file)


def _questions(file: Checklist) -> Iterator[Problem]:
    """What a picture's prompt, which is no question, need not have."""
    for place, template in enumerate(file.objective.templates):
        if "{country}" not in template:
            yield Problem(("objective", "templates", place), "does not say where: {country}")
    for direction in DIRECTIONS:
        for steps, scenario in _scenarios(file, direction):
            if "?" not in scenario.text:
                yield Problem(steps, "asks nothing: it has no question mark")


def _unasked(root: Node, file: Checklist) -> Iterator[Problem]:
    """Statistics written into a checklist itself that no topic asks about; a shared file may have more."""
    for id_ in file.statistics.statistics if file.topics else ():
        steps = ("statistics", "statistics", id_)
        if id_ not in file.topics and root.find(steps)[0].steps == steps:
            yield Problem(steps, "no topic asks about it, so nothing does")
