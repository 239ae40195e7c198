"""From a name or a path to a validated checklist."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pytest_factorfair.checklist import build, layout, pictured, truths, wording
from pytest_factorfair.checklist.lineup import people_count
from pytest_factorfair.checklist.locate import locate
from pytest_factorfair.checklist.overlay import resolve
from pytest_factorfair.checklist.problems import Problem, refuse, structural
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import Checklist
from pytest_factorfair.errors import InputError


def load(name_or_path: str, *, truth: str, base: Path) -> Checklist:
    """The checklist of a shipped name or a path (relative to ``base``) under one truth set.

    Raises:
        ChecklistError: a file cannot be read or says what cannot be right; names file, line, field.
        InputError: there is no such checklist, or it has no such truth set.
    """
    _, file = parse(name_or_path, base=base)
    known = build.truth_sets(file)
    if truth not in known:
        raise InputError(f"checklist '{file.name}' has no truth set '{truth}'; it has: {', '.join(known)}")
    return build.checklist(file, truth=truth)


def parse(name_or_path: str, *, base: Path) -> tuple[Node, layout.Checklist]:
    """The merged tree of a checklist and its validated layout, before a truth set is chosen.

    Raises:
        InputError: as ``load``, but for the truth set.
    """
    root = resolve(locate(name_or_path, beside=Path(), base=base), base)
    file = _layout(root)
    refuse(root, _facts(file))
    refuse(root, _texts(file))
    return root, file


def _layout(root: Node) -> layout.Checklist:
    declared, _ = root.find(("statistics", "attributes"))
    attributes = declared.value if isinstance(declared.value, dict) else {}
    try:
        return layout.Checklist.model_validate(root.plain(), context=frozenset(attributes))
    except ValidationError as error:
        refuse(root, structural(error))
        raise


def _facts(file: layout.Checklist) -> list[Problem]:
    found = [Problem(("statistics", *each.steps), each.text) for each in truths.problems(file.statistics)]
    return [*found, *wording.unknown_topics(file)]


def _texts(file: layout.Checklist) -> list[Problem]:
    known = build.truth_sets(file)
    if not known:
        return [_uncovered(file)]
    if file.modality == "image":
        return list(pictured.problems(file))
    people = people_count(build.checklist(file, truth=known[0]), "balanced")
    return list(wording.problems(file, asked=build.attributes(file), people=people))


def _uncovered(file: layout.Checklist) -> Problem:
    """The first block without the truth set that the first block has."""
    blocks = {
        ("statistics", "statistics", id_, name, "truths"): block.truths
        for id_, each in build.selected(file).items()
        for name, block in each.blocks.items()
    }
    first = next(iter(next(iter(blocks.values()))))
    steps = next(steps for steps, known in blocks.items() if first not in known)
    return Problem(steps, f"lacks '{first}', which other statistics have; no truth set covers them all")
