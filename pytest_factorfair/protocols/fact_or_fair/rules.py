"""Everything that can be wrong with a checklist, in the order in which it is looked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from string import ascii_uppercase

from pytest_factorfair import domain
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.checklist.wording import ambiguous, placeholders, used
from pytest_factorfair.domain import DIRECTIONS, Direction
from pytest_factorfair.errors import nearest
from pytest_factorfair.protocols.fact_or_fair import build, layout, lint
from pytest_factorfair.protocols.fact_or_fair.layout import (
    Attribute,
    Block,
    Checklist,
    Context,
    Side,
    Statistic,
    Statistics,
    Subjective,
)
from pytest_factorfair.protocols.fact_or_fair.people import people_count


def facts(file: Checklist) -> list[Problem]:
    found = [Problem(("statistics", *each.steps), each.text) for each in statistics(file.statistics)]
    return [*found, *unknown_topics(file)]


def texts(file: Checklist) -> list[Problem]:
    known = build.truth_sets(file)
    if not known:
        return [_uncovered(file)]
    if file.modality == "image":
        return list(pictures(file))
    people = people_count(build.checklist(file, known[0]), "balanced")
    return list(language(file, asked=build.attributes(file), people=people))


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


def statistics(file: Statistics) -> Iterator[Problem]:
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
    yield from _product(steps, attribute, file)
    yield from ambiguous((*steps, "groups"), attribute.groups or {})


def _product(steps: tuple[Step, ...], attribute: Attribute, file: Statistics) -> Iterator[Problem]:
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


Steps = tuple[Step, ...]

TEMPLATE = frozenset({"statistic", "definition", "direction", "choices"})
CLAUSE = frozenset({"attribute", "statistic", "highest", "lowest"})
CONTEXT = frozenset({"statistic", "place", "country", "behavior"})


def language(file: Checklist, *, asked: tuple[domain.Attribute, ...], people: int) -> Iterator[Problem]:
    """Everything in the texts that cannot be right.

    ``asked`` are the attributes the checklist speaks of, ``people`` is how many people a
    subjective query shows.
    """
    if not file.answer_format:
        yield Problem(("answer_format",), "missing; say how a language model is to answer")
    simple = tuple(name for name, each in file.statistics.attributes.items() if not each.crossed)
    shown = tuple(each.name for each in asked if not each.crossed)
    for place, template in enumerate(file.objective.templates):
        steps = ("objective", "templates", place)
        yield from placeholders(template, steps, known={*TEMPLATE, "country"}, needed=TEMPLATE)
    if file.subjective is None:
        yield from _alone(file)
        return
    yield from _subjective(file.subjective, simple, shown, people)
    yield from _missing(file)
    for id_, context in file.contexts.items():
        yield from _context(("contexts", id_), context, file, simple)
    for id_, topic in file.topics.items():
        for direction in DIRECTIONS:
            yield from _side(("topics", id_, direction), getattr(topic, direction), file)


def unknown_topics(file: Checklist) -> Iterator[Problem]:
    """Topics about no statistic of the checklist, told before anything is built from them."""
    for id_ in file.topics:
        if id_ not in file.statistics.statistics:
            yield Problem(("topics", id_), f"unknown statistic{nearest(id_, file.statistics.statistics)}")


def _alone(file: Checklist) -> Iterator[Problem]:
    for key in ("contexts", "topics"):
        if getattr(file, key):
            yield Problem((key,), "is of no use without 'subjective'")


def _missing(file: Checklist) -> Iterator[Problem]:
    for key in ("contexts", "topics"):
        if not getattr(file, key):
            yield Problem((key,), "missing; 'subjective' needs at least one")


def _subjective(
    subjective: Subjective, simple: tuple[str, ...], shown: tuple[str, ...], people: int
) -> Iterator[Problem]:
    steps = ("subjective", "profile")
    yield from placeholders(
        subjective.profile, steps, known={"name", "age", *simple}, needed=["name", *shown]
    )
    if people > len(ascii_uppercase):
        text = f"groups of these sizes need {people} people in a query; an answer has one of 26 letters"
        yield Problem(("statistics", "attributes"), text)
    elif len(subjective.names) < people:
        text = f"a query shows {people} people, so at least {people} names are needed, not "
        yield Problem(("subjective", "names"), text + str(len(subjective.names)))


def _context(steps: Steps, context: Context, file: Checklist, simple: tuple[str, ...]) -> Iterator[Problem]:
    known = set(CONTEXT)
    if context.background == "random":
        known |= set(simple)
    if context.background == "truth":
        known.add("clauses")
        yield from _clause(steps, context, file)
    else:
        for key in ("clause", "attributes"):
            if getattr(context, key):
                yield Problem((*steps, key), "is of no use without 'background: truth'")
    needed = {"clauses"} if context.background == "truth" else set()
    yield from placeholders(context.text, (*steps, "text"), known=known, needed=needed)
    if context.background == "random" and not used(context.text) & set(simple):
        yield Problem((*steps, "text"), f"names no attribute: {', '.join(f'{{{each}}}' for each in simple)}")


def _clause(steps: Steps, context: Context, file: Checklist) -> Iterator[Problem]:
    yield from placeholders(context.clause, (*steps, "clause"), known=CLAUSE, needed={"highest", "lowest"})
    if not context.attributes:
        yield Problem((*steps, "attributes"), "missing; list the attributes that get a clause")
    for place, name in enumerate(context.attributes):
        if name not in file.statistics.attributes:
            hint = nearest(name, file.statistics.attributes)
            yield Problem((*steps, "attributes", place), f"unknown attribute '{name}'{hint}")


def _side(steps: Steps, side: Side, file: Checklist) -> Iterator[Problem]:
    yield from placeholders(side.behavior, (*steps, "behavior"), known=(), needed=())
    reader = next((id_ for id_, each in file.contexts.items() if "behavior" in used(each.text)), None)
    if reader is not None and not side.behavior:
        yield Problem((*steps, "behavior"), f"missing; the context '{reader}' tells it")
    for place, scenario in enumerate(side.scenarios):
        spot = (*steps, "scenarios", place)
        yield from placeholders(scenario.text, (*spot, "text"), known={"people"}, needed={"people"})
        if scenario.text.count("{people}") > 1:
            yield Problem((*spot, "text"), "has {people} more than once")
        if scenario.ages is not None:
            yield from _ages((*spot, "ages"), scenario.ages, file)


def _ages(steps: Steps, ages: list[int], file: Checklist) -> Iterator[Problem]:
    low, high = ages
    pool = file.subjective.ages if file.subjective else []
    if not any(low <= age <= high for age in pool):
        listed = ", ".join(str(age) for age in pool)
        yield Problem(steps, f"no age of the pool lies from {low} to {high}: {listed}")


PICTURE_TEMPLATE = frozenset({"statistic", "direction"})
PICTURE_CONTEXT = frozenset({"statistic", "place", "country"})


def pictures(file: Checklist) -> Iterator[Problem]:
    """Everything in the texts that cannot be right."""
    for place, template in enumerate(file.objective.templates):
        known = {*PICTURE_TEMPLATE, "definition", "country"}
        yield from placeholders(
            template, ("objective", "templates", place), known=known, needed=PICTURE_TEMPLATE
        )
    for key in ("answer_format", "subjective"):
        if getattr(file, key):
            yield Problem((key,), "is of no use with 'modality: image'")
    yield from _pictured_contexts(file)
    for id_, topic in file.topics.items():
        for direction in DIRECTIONS:
            yield from _pictured(("topics", id_, direction), getattr(topic, direction))


def _pictured_contexts(file: Checklist) -> Iterator[Problem]:
    if bool(file.topics) != bool(file.contexts):
        lacking = "contexts" if file.topics else "topics"
        yield Problem((lacking,), "missing; a topic's picture is asked for in a context such as 'base'")
    for id_, context in file.contexts.items():
        steps = ("contexts", id_)
        if context.background != "none":
            yield Problem((*steps, "background"), "must be none: a picture's prompt names no group")
        yield from placeholders(context.text, (*steps, "text"), known=PICTURE_CONTEXT, needed=())


def _pictured(steps: tuple[Step, ...], side: Side) -> Iterator[Problem]:
    for place, scenario in enumerate(side.scenarios):
        spot = (*steps, "scenarios", place)
        yield from placeholders(scenario.text, (*spot, "text"), known=(), needed=())
        if scenario.ages is not None:
            yield Problem((*spot, "ages"), "is of no use with 'modality: image'")


FILES = Files(
    layout=layout.read,
    rules=(facts, texts),
    truths=build.truth_sets,
    build=build.checklist,
    lint=lint.findings,
    schema=layout.schema,
    parts={"statistics": layout.Statistics.model_json_schema},
    sources=build.sources,
)
