"""Everything that can be wrong with a checklist, in the order in which it is looked for."""

from __future__ import annotations

from pytest_factorfair.checklist.fact_or_fair import build, pictured, truths, wording
from pytest_factorfair.checklist.fact_or_fair.layout import Checklist
from pytest_factorfair.checklist.fact_or_fair.lineup import people_count
from pytest_factorfair.checklist.problems import Problem


def facts(file: Checklist) -> list[Problem]:
    found = [Problem(("statistics", *each.steps), each.text) for each in truths.problems(file.statistics)]
    return [*found, *wording.unknown_topics(file)]


def texts(file: Checklist) -> list[Problem]:
    known = build.truth_sets(file)
    if not known:
        return [_uncovered(file)]
    if file.modality == "image":
        return list(pictured.problems(file))
    people = people_count(build.checklist(file, known[0]), "balanced")
    return list(wording.problems(file, asked=build.attributes(file), people=people))


def _uncovered(file: Checklist) -> Problem:
    """The first block without the truth set that the first block has."""
    blocks = {
        ("statistics", "statistics", id_, name, "truths"): block.truths
        for id_, each in build.selected(file).items()
        for name, block in each.blocks.items()
    }
    first = next(iter(next(iter(blocks.values()))))
    steps = next(steps for steps, known in blocks.items() if first not in known)
    return Problem(steps, f"lacks '{first}', which other statistics have; no truth set covers them all")
