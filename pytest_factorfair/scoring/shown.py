"""Which groups the queries of a run show: what bounds any score under a design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pytest_factorfair.domain import Attribute, Query, Sampling
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair, TopicCase

Shown: TypeAlias = tuple[frozenset[int], ...]


def people_shown(checklist: FactOrFair, sampling: Sampling) -> int:
    """How many people a subjective query of the checklist shows."""
    # The checklist room reads files and needs pydantic for it; scoring must not cost its import.
    from pytest_factorfair.protocols.fact_or_fair.people import people_count

    return people_count(checklist, sampling.design)


def sets_shown(checklist: FactOrFair, cases: Sequence[TopicCase], sampling: Sampling) -> Mapping[str, Shown]:
    """For each crossed attribute of a balanced design, the groups that each query of one topic shows.

    Other attributes need no look: balanced queries show all their groups, and the ``paper`` design
    draws people independently.
    """
    crossed = [attribute for attribute in checklist.attributes if attribute.crossed]
    if sampling.design != "balanced" or checklist.modality == "image" or not crossed:
        return {}
    queries = _block(checklist, cases, sampling)
    return {attribute.name: tuple(_groups(attribute, query) for query in queries) for attribute in crossed}


def _block(checklist: FactOrFair, cases: Sequence[TopicCase], sampling: Sampling) -> tuple[Query, ...]:
    """All queries of one topic in one context: whole blocks, which every other topic has alike."""
    from pytest_factorfair.protocols import queries

    stream = [case for case in cases if case.part == "subjective"]
    return tuple(
        query
        for case in stream
        if (case.statistic, case.direction, case.context)
        == (stream[0].statistic, stream[0].direction, stream[0].context)
        for query in queries(checklist, case, sampling)
    )


def _groups(attribute: Attribute, query: Query) -> frozenset[int]:
    return frozenset(attribute.groups.index(option.groups[attribute.name]) for option in query.options)
