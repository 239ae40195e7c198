"""Rules about the texts of a language model's checklist: placeholders, and enough names and ages."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase

from pytest_factorfair.checklist.fact_or_fair.layout import Checklist, Context, Side, Subjective
from pytest_factorfair.checklist.placeholders import placeholders, used
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.domain import DIRECTIONS, Attribute
from pytest_factorfair.errors import nearest

Steps = tuple[Step, ...]

TEMPLATE = frozenset({"statistic", "definition", "direction", "choices"})
CLAUSE = frozenset({"attribute", "statistic", "highest", "lowest"})
CONTEXT = frozenset({"statistic", "place", "country", "behavior"})


def problems(file: Checklist, *, asked: tuple[Attribute, ...], people: int) -> Iterator[Problem]:
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
