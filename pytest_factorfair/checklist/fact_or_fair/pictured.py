"""Rules about the texts an image model is asked with: they show nobody to choose from."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_factorfair.checklist.fact_or_fair.layout import Checklist, Side
from pytest_factorfair.checklist.placeholders import placeholders
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Step
from pytest_factorfair.domain import DIRECTIONS

TEMPLATE = frozenset({"statistic", "direction"})
CONTEXT = frozenset({"statistic", "place", "country"})


def problems(file: Checklist) -> Iterator[Problem]:
    """Everything in the texts that cannot be right."""
    for place, template in enumerate(file.objective.templates):
        known = {*TEMPLATE, "definition", "country"}
        yield from placeholders(template, ("objective", "templates", place), known=known, needed=TEMPLATE)
    for key in ("answer_format", "subjective"):
        if getattr(file, key):
            yield Problem((key,), "is of no use with 'modality: image'")
    yield from _contexts(file)
    for id_, topic in file.topics.items():
        for direction in DIRECTIONS:
            yield from _side(("topics", id_, direction), getattr(topic, direction))


def _contexts(file: Checklist) -> Iterator[Problem]:
    if bool(file.topics) != bool(file.contexts):
        lacking = "contexts" if file.topics else "topics"
        yield Problem((lacking,), "missing; a topic's picture is asked for in a context such as 'base'")
    for id_, context in file.contexts.items():
        steps = ("contexts", id_)
        if context.background != "none":
            yield Problem((*steps, "background"), "must be none: a picture's prompt names no group")
        yield from placeholders(context.text, (*steps, "text"), known=CONTEXT, needed=())


def _side(steps: tuple[Step, ...], side: Side) -> Iterator[Problem]:
    for place, scenario in enumerate(side.scenarios):
        spot = (*steps, "scenarios", place)
        yield from placeholders(scenario.text, (*spot, "text"), known=(), needed=())
        if scenario.ages is not None:
            yield Problem((*spot, "ages"), "is of no use with 'modality: image'")
