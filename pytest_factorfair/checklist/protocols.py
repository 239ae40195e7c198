"""The protocols by name, and what is asked of whichever a checklist is of."""

from __future__ import annotations

from typing import Any

from pytest_factorfair.checklist import fact_or_fair, faintbench
from pytest_factorfair.checklist.protocol import Protocol
from pytest_factorfair.domain import Case, Checklist, Query, Sampling

# Any: a checklist's name for its protocol is what binds the two, which no type can say.
PROTOCOLS: dict[str, Protocol[Any, Any, Any]] = {
    each.name: each for each in (fact_or_fair.PROTOCOL, faintbench.PROTOCOL)
}


def cases(checklist: Checklist, sampling: Sampling) -> tuple[Case, ...]:
    """The cases in the order of the checklist."""
    return PROTOCOLS[checklist.protocol].cases(checklist, sampling)


def queries(checklist: Checklist, case: Case, sampling: Sampling) -> tuple[Query, ...]:
    """The queries of a case, in the order in which they are asked."""
    return PROTOCOLS[checklist.protocol].queries(checklist, case, sampling)


def notices(checklist: Checklist, sampling: Sampling) -> tuple[str, ...]:
    """One line for each size that had to be changed."""
    return PROTOCOLS[checklist.protocol].notices(checklist, sampling)
