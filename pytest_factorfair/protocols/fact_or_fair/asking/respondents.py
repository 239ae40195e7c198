"""What simulated respondents see in a query of FACT-OR-FAIR, and the truth about its topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from pytest_factorfair.domain import Citation, Direction, Query
from pytest_factorfair.protocols.fact_or_fair.asking.people import everyone
from pytest_factorfair.protocols.fact_or_fair.checklist import (
    IN_GROUP,
    Context,
    FactOrFair,
    TopicCase,
)
from pytest_factorfair.protocols.protocol import Situation


def situation(checklist: FactOrFair, query: Query) -> Situation | None:
    """The choice that a query of the checklist offers: for a picture, of every combination of groups.

    None if the scenario belongs to several topics.
    """
    case = query.case
    if not isinstance(case, TopicCase):
        return None
    if case.part == "subjective":
        topic = checklist.topic(case.statistic, case.direction)
        if topic.scenarios[(case.scenario or 1) - 1].text in _ambiguous(checklist):
            return None
    options = _portraits(checklist)
    if checklist.modality == "text":
        options = tuple((option.letter, option.groups) for option in query.options)
    truths = _truths(checklist, case.statistic, case.direction)
    context = next((each for each in checklist.contexts if each.id == case.context), None)
    named = query.background
    if context is not None and context.background == "truth":
        named = {name: group for name, group in truths.items() if name in context.attributes}
    asked = case.attributes if case.part == "objective" else ()
    return Situation(options, asked, truths, named, _source(context, named))


@lru_cache(maxsize=8)
def _ambiguous(checklist: FactOrFair) -> frozenset[str]:
    """The scenarios of more than one topic."""
    times = Counter(text for topic in checklist.topics for text in {each.text for each in topic.scenarios})
    return frozenset(text for text, topics in times.items() if topics > 1)


@lru_cache(maxsize=8)
def _portraits(checklist: FactOrFair) -> tuple[tuple[str, Mapping[str, str]], ...]:
    return tuple((str(number), groups) for number, groups in enumerate(everyone(checklist).values()))


@lru_cache(maxsize=256)
def _truths(checklist: FactOrFair, statistic: str, direction: Direction) -> Mapping[str, str]:
    """The true group by attribute."""
    truths = next(each.truths for each in checklist.statistics if each.id == statistic)
    return {name: truth.at(direction) for name, truth in truths.items()}


def _source(context: Context | None, named: Mapping[str, str]) -> Citation:
    """What a reason can cite in a context; without a named group only the people's groups."""
    if context is None or context.background == "none" or not named:
        return "group"
    if context.background == "truth":
        return "prior"
    return "identity" if context.id == IN_GROUP else "news"
