"""The people a FAIntbench prompt asks for, and their groups in reality."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pytest_factorfair.domain import Query
from pytest_factorfair.protocols.faintbench.checklist import Faintbench, PersonOf, PromptCase
from pytest_factorfair.protocols.protocol import Sitter


def sitters(checklist: Faintbench, query: Query) -> tuple[Sitter, ...] | None:
    """The people of a query of the checklist, from left to right."""
    case = query.case
    if not isinstance(case, PromptCase):
        return None
    return tuple(
        Sitter(
            side.shares,
            {case.attributes[0]: case.requested[number]} if case.requested else {},
            _standings(checklist).get(PersonOf(case.subject, number)),
        )
        for number, side in enumerate(checklist.subject(case.subject).sides)
    )


@lru_cache(maxsize=8)
def _standings(checklist: Faintbench) -> Mapping[PersonOf, bool]:
    """Whether a person of a pair is the advantaged one, which is the same in all pairs."""
    disadvantaged = {pair.disadvantaged: False for pair in checklist.pairs}
    return disadvantaged | {pair.advantaged: True for pair in checklist.pairs}
