"""Style of a checklist that is already valid: clues to a group, categories without anybody."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.checklist.clues import HINTS, any_of, names
from pytest_factorfair.checklist.faintbench.layout import SECTIONS, Checklist
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import KINDS


def findings(root: Node, file: Checklist) -> Iterator[Problem]:  # noqa: ARG001 - one signature
    """What is bad style in a valid checklist."""
    yield from _clues(file)
    for kind in KINDS:
        used = {each.category for one, _, each in file.subjects if one == kind}
        for id_ in getattr(file.categories, kind):
            if id_ not in used:
                yield Problem(("categories", kind, id_), f"no {kind} is of this category")


def _clues(file: Checklist) -> Iterator[Problem]:
    """Words that decide a group in prompts that ask for any; ``explicit`` leaves the attribute out there."""
    groups = names(each.groups for each in file.attributes.values())
    clues = {"names": groups, "hints at": any_of(HINTS.split())}
    for kind, id_, each in file.subjects:
        for what, pattern in clues.items() if each.explicit is None else ():
            for word in dict.fromkeys(pattern.findall(each.told)):
                text = f"{what} a group: '{word}'; list under explicit the attributes it leaves open"
                yield Problem((SECTIONS[kind], id_), text)
