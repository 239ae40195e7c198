"""Rules about figures and labels: what a statistics file must be to itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from string import ascii_uppercase

from pytest_factorfair.checklist.fact_or_fair.layout import Attribute, Block, Statistic, Statistics
from pytest_factorfair.checklist.groups import ambiguous
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.domain import DIRECTIONS, Direction
from pytest_factorfair.errors import nearest

# Placeholders, and the keys that a statistic has besides its attributes.
RESERVED = frozenset(Statistic.model_fields) | {
    "age",
    "attribute",
    "behavior",
    "choices",
    "clauses",
    "country",
    "direction",
    "highest",
    "lowest",
    "people",
    "place",
    "statistic",
}


def problems(file: Statistics) -> Iterator[Problem]:
    """Everything in the statistics that cannot be right, though each value by itself could be."""
    for name, attribute in file.attributes.items():
        yield from _attribute(name, attribute, file)
    yield from _waivers(file)
    yield from _names(file)
    for id_, statistic in file.statistics.items():
        for name, block in statistic.blocks.items():
            yield from _block(("statistics", id_, name), block, file, groups(file, name))


def groups(file: Statistics, name: str) -> tuple[str, ...]:
    """The names of an attribute's groups; those of a crossed one are joined, in the order of the product."""
    attribute = file.attributes[name]
    if attribute.groups is not None:
        return tuple(attribute.groups)
    parts = [file.attributes.get(part) for part in attribute.crossed or ()]
    return tuple(" ".join(each) for each in product(*(part.groups or () for part in parts if part)))


def _attribute(name: str, attribute: Attribute, file: Statistics) -> Iterator[Problem]:
    steps = ("attributes", name)
    if name in RESERVED:
        yield Problem(steps, f"'{name}' means something else here; call it {name}_group")
    if len(groups(file, name)) > len(ascii_uppercase):
        yield Problem(steps, f"has {len(groups(file, name))} groups; an answer has one of 26 letters")
    yield from _crossed(steps, attribute, file)
    yield from ambiguous((*steps, "groups"), attribute.groups or {})


def _crossed(steps: tuple[Step, ...], attribute: Attribute, file: Statistics) -> Iterator[Problem]:
    for position, part in enumerate(attribute.crossed or ()):
        spot = (*steps, "crossed", position)
        if part not in file.attributes:
            yield Problem(spot, f"unknown attribute '{part}'{nearest(part, file.attributes)}")
        elif file.attributes[part].crossed:
            yield Problem(spot, f"'{part}' is itself crossed; name the attributes it is made of")


def _waivers(file: Statistics) -> Iterator[Problem]:
    known = {
        name for each in file.statistics.values() for block in each.blocks.values() for name in block.truths
    }
    for name in file.waivers:
        if name not in known:
            yield Problem(("waivers", name), f"no statistic has a truth set '{name}'{nearest(name, known)}")


def _names(file: Statistics) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for id_, statistic in file.statistics.items():
        owner = owners.setdefault(statistic.name.casefold(), id_)
        if owner != id_:
            yield Problem(("statistics", id_, "name"), f"'{statistic.name}' is already the name of {owner}")
        if not statistic.blocks:
            yield Problem(
                ("statistics", id_), f"needs a block for an attribute: {', '.join(file.attributes)}"
            )


def _block(
    steps: tuple[Step, ...], block: Block, file: Statistics, known: tuple[str, ...]
) -> Iterator[Problem]:
    found = [*_figures(steps, block, known), *_groups(steps, block, known)]
    yield from found
    if not found:
        yield from _ties(steps, block)
        for truth in block.truths:
            if truth not in file.waivers:
                yield from _labels((*steps, "truths", truth), truth, block)


def _figures(steps: tuple[Step, ...], block: Block, known: tuple[str, ...]) -> Iterator[Problem]:
    if block.figures is None:
        return
    for group in block.figures:
        if group not in known:
            yield Problem((*steps, "figures", group), f"unknown group{nearest(group, known)}")
    lacking = [group for group in known if group not in block.figures]
    if lacking and block.figures.keys() <= set(known):
        yield Problem((*steps, "figures"), f"the figure of {', '.join(lacking)} is missing")


def _groups(steps: tuple[Step, ...], block: Block, known: tuple[str, ...]) -> Iterator[Problem]:
    for truth, ends in block.truths.items():
        for direction in DIRECTIONS:
            group = getattr(ends, direction)
            if group not in known:
                spot = (*steps, "truths", truth, direction)
                yield Problem(spot, f"unknown group '{group}'{nearest(group, known)}")


def _labels(steps: tuple[Step, ...], truth: str, block: Block) -> Iterator[Problem]:
    ends = block.truths[truth]
    if ends.highest == ends.lowest:
        yield Problem(steps, f"highest and lowest are both {ends.highest}")
        return
    for direction in DIRECTIONS:
        given, extreme = getattr(ends, direction), _extreme(block, direction)
        if direction not in block.fragile and len(extreme) == 1 and given not in extreme:
            told, right = (f"{group} ({(block.figures or {})[group]:.12g})" for group in (given, *extreme))
            remedy = f"correct the label, list '{direction}' under fragile, or waive '{truth}'"
            yield Problem((*steps, direction), f"is {told}, but the figures say {right}; {remedy}")


def _ties(steps: tuple[Step, ...], block: Block) -> Iterator[Problem]:
    for direction in DIRECTIONS:
        tied = _extreme(block, direction)
        if len(tied) > 1 and direction not in block.fragile:
            text = f"{' and '.join(tied)} tie for the {direction}; list '{direction}' under fragile"
            yield Problem((*steps, "figures"), text)


def _extreme(block: Block, direction: Direction) -> tuple[str, ...]:
    """The groups with the highest or lowest figure: none without figures, several in a tie."""
    if not block.figures:
        return ()
    extreme = (max if direction == "highest" else min)(block.figures.values())
    return tuple(group for group, figure in block.figures.items() if figure == extreme)
