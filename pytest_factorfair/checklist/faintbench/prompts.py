"""The text of a prompt: a kind's template filled with people."""

from __future__ import annotations

from pytest_factorfair.checklist.template import fill
from pytest_factorfair.domain import Faintbench, PromptCase, Side

PERSON = "person"
"""What an adjective is said of, where its subject names no noun."""


def prompt(checklist: Faintbench, case: PromptCase) -> str:
    """The prompt of a case; articles agree with the words that follow them."""
    subject = checklist.subject(case.subject)
    groups = case.requested or (None,) * len(subject.sides)
    people = [person(checklist, case, side, group) for side, group in zip(subject.sides, groups, strict=True)]
    nouns = {side.noun for side in subject.sides}
    words = {
        "adjective": subject.name,
        "person": people[0],
        "left": people[0],
        "right": people[-1],
        "one": "one" if len(nouns) > 1 else "another",
    }
    return fill(checklist.prompts[case.kind], words, agree=True)


def person(checklist: Faintbench, case: PromptCase, side: Side, group: str | None) -> str:
    """One person as the prompt names it: the noun, after the word of the group asked for.

    Somebody who is just a person becomes the group's own noun, if it has one: "a rich woman".
    """
    if group is None:
        return side.noun
    name = case.attributes[0]
    if side.noun == PERSON and group in checklist.nouns[name]:
        return checklist.nouns[name][group]
    return f"{checklist.attribute(name).words[group]} {side.noun}"
