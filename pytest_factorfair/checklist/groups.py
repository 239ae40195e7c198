"""Groups of people as files write them down: their layout, their one rule, and the attribute they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from pytest_factorfair.checklist.fields import Layout, Line
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.domain import Attribute


class Group(Layout):
    """A group of people."""

    word: Line = Field(description="The group inside a sentence: 'a female individual'.")
    aliases: list[Line] = Field([], description="What else an answer may call the group.")


def ambiguous(steps: tuple[Step, ...], groups: Mapping[str, Group]) -> Iterator[Problem]:
    """Words and aliases that two groups of an attribute share."""
    owners: dict[str, str] = {}
    for name, group in groups.items():
        for word in spoken(name, group):
            owner = owners.setdefault(word.casefold(), name)
            if owner != name:
                yield Problem((*steps, name), f"'{word}' also means {owner}")


def spoken(name: str, group: Group) -> tuple[str, ...]:
    """Everything that a group may be called."""
    return name, group.word, *group.aliases


def attribute(name: str, groups: Mapping[str, Group]) -> Attribute:
    """The attribute that divides people into these groups."""
    return Attribute(
        name=name,
        groups=tuple(groups),
        words={group: each.word for group, each in groups.items()},
        aliases={group: tuple(each.aliases) for group, each in groups.items()},
    )
