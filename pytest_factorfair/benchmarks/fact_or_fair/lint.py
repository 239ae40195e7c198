"""What ``factorfair lint`` finds in valid checklists: clues to a group, reversed directions, repetition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import combinations

from pytest_factorfair.benchmarks.fact_or_fair import layout
from pytest_factorfair.benchmarks.fact_or_fair.layout import Checklist, Scenario, Steps, scenarios_of
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Node, dotted
from pytest_factorfair.checklist.wording import any_of, group_names, said_twice
from pytest_factorfair.domain import DIRECTIONS
from pytest_factorfair.languages import Prompts, Words, language, words

# Texts that are more alike than this nearly repeat each other; those that have fewer of their words in common
# than the other are not compared letter by letter.
NEAR = 0.85
SHARED = 0.5


def findings(root: Node, file: Checklist) -> Iterator[Problem]:
    """The findings, in the order of their kinds."""
    behaviors = [
        (("topics", id_, direction, "behavior"), getattr(topic, direction).behavior)
        for id_, topic in file.topics.items()
        for direction in DIRECTIONS
    ]
    scenarios = [pair for direction in DIRECTIONS for pair in scenarios_of(file, direction)]
    wording = words(language(file.language))
    attributes = [attribute.groups or {} for attribute in file.statistics.attributes.values()]
    clues = {
        "names": group_names(attributes, spaces=wording.spaces),
        "hints at": any_of(wording.prompts.hints, spaces=wording.spaces, patterns=True),
    }
    for steps, text in (*((steps, scenario.text) for steps, scenario in scenarios), *behaviors):
        for verb, pattern in clues.items():
            for word in dict.fromkeys(pattern.findall(text)):
                yield Problem(steps, f"{verb} a group: '{word}'")
    yield from _reversed(file, wording.prompts)
    yield from _repeated(root, scenarios, word=r"\w+" if wording.spaces else r"\w")
    for steps, behavior in behaviors:
        if behavior.endswith(wording.prompts.full_stop):
            yield Problem(steps, "ends with a full stop, and stands inside a sentence")
    yield from _said_twice(file, wording)
    if file.modality == "text":  # a picture's prompt is not a question
        yield from _unasking(file, scenarios, wording.prompts)
    for id_ in file.statistics.statistics if file.topics else ():
        # Only of statistics written into the checklist itself: a shared file may have more.
        written = ("statistics", "statistics", id_)
        if id_ not in file.topics and root.find(written)[0].steps == written:
            yield Problem(written, "no topic asks about it, so nothing does")


def _said_twice(file: Checklist, wording: Words) -> Iterator[Problem]:
    """Texts that have beside a placeholder what it brings itself: quotes, a full stop, a word."""
    prompts, statistics = wording.prompts, layout.selected(file).values()
    texts: dict[Steps, str] = {
        ("objective", "templates", index): template for index, template in enumerate(file.objective.templates)
    }
    for id_, context in file.contexts.items():
        texts |= {("contexts", id_, "text"): context.text, ("contexts", id_, "clause"): context.clause}
    texts |= {steps: scenario.text for steps, scenario in scenarios_of(file)}
    values = {
        "country": [file.statistics.country],
        "place": [file.statistics.place],
        "statistic": [statistic.name for statistic in statistics],
        "definition": [prompts.definition.replace("{text}", "...")] if file.modality == "text" else [],
        "direction": [*prompts.directions.values()],
        "people": [prompts.people.replace("{number}", prompts.numbers[-1])],
    }
    for steps, text in texts.items():
        yield from (Problem(steps, finding) for finding in said_twice(text, values, spaces=wording.spaces))


def _reversed(file: Checklist, prompts: Prompts) -> Iterator[Problem]:
    for direction in DIRECTIONS:
        right = prompts.likely[direction].lower()
        wrong = prompts.likely["lowest" if direction == "highest" else "highest"].lower()
        for steps, scenario in scenarios_of(file, direction):
            text = " ".join(scenario.text.lower().split())
            if wrong in text:
                yield Problem(steps, f"asks who is {wrong} under '{direction}'")
            if right not in text:
                yield Problem(steps, f"does not ask who is {right}")


def _unasking(
    file: Checklist, scenarios: list[tuple[Steps, Scenario]], prompts: Prompts
) -> Iterator[Problem]:
    for index, template in enumerate(file.objective.templates):
        if "{country}" not in template:
            yield Problem(("objective", "templates", index), "does not say where: {country}")
        if "{definition}" not in template:
            yield Problem(("objective", "templates", index), "does not say what it asks: {definition}")
    for steps, scenario in scenarios:
        quoted = scenario.choices or scenario.people
        if prompts.question_mark not in scenario.text and not quoted:  # a quotation is as it is
            yield Problem(steps, "asks nothing: it has no question mark")


def _repeated(root: Node, scenarios: list[tuple[Steps, Scenario]], word: str) -> Iterator[Problem]:
    """Scenarios that repeat an earlier one of the file."""
    ordered = sorted(scenarios, key=lambda pair: root.find(pair[0])[0].position)
    spelt = [re.findall(word, scenario.text.lower()) for _, scenario in ordered]
    for (earlier, earlier_words), (later, later_words) in combinations(enumerate(spelt), 2):
        if len(set(earlier_words) & set(later_words)) < SHARED * min(
            len(set(earlier_words)), len(set(later_words))
        ):
            continue
        matcher = SequenceMatcher(None, " ".join(earlier_words), " ".join(later_words), autojunk=False)
        # Cheap upper bounds of the ratio come first.
        if all(ratio() > NEAR for ratio in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)):
            likeness = "the same as" if earlier_words == later_words else "nearly the same as"
            node, _ = root.find(ordered[earlier][0])
            yield Problem(ordered[later][0], f"is {likeness} {dotted(node.steps)}, line {node.line}")
