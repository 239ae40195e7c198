"""What a benchmark implements: how its files are read, and how they become cases and queries, and scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_factorfair.domain import Case, Checklist, Query, Sampling

if TYPE_CHECKING:
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.protocols.measurement import Measuring
    from pytest_factorfair.protocols.reporting import Reporting
    from pytest_factorfair.protocols.respondents import Sitter, Situation

Value = TypeVar("Value", bound=Checklist)
Entry = TypeVar("Entry", bound=Case)


def _nothing_known(checklist: Any, query: Any) -> None:
    """No simulated respondent can answer."""


def _unexplained(checklist: Any, case: Any, sampling: Any) -> None:
    """No case asks for a reason."""


def _nobody(checklist: Any, case: Any) -> None:
    """Pictures may show anyone."""


def _always(checklist: Any, case: Any) -> bool:  # noqa: ARG001 - one signature
    """Every case has a contact sheet of its pictures."""
    return True


def _nothing(checklist: Any) -> tuple[str, ...]:  # noqa: ARG001 - one signature
    return ()


def _plain() -> Reporting:
    from pytest_factorfair.protocols.reporting import Reporting

    return Reporting()


@dataclass(frozen=True, slots=True)
class Protocol(Generic[Value, Entry]):
    """One way to ask: its files, the value they build, and the cases that the value expands to.

    ``checklist`` is the class of its values. ``files`` imports what reads them: a process that receives the
    value does not need it. ``cases`` and ``queries`` are the same on every machine. ``notices`` reports each
    size that had to be changed. ``situation`` is what a query shows simulated respondents, and the truth.
    ``explained`` is the query that asks for a choice and the reason, if any; ``citable`` names what a reason
    may cite. ``people`` is how many people the pictures of a case show, ``on_sheet`` whether they have a
    contact sheet. ``reporting`` imports what only this benchmark prints.
    """

    name: str
    checklist: type[Value]
    files: Callable[[], Files[Any, Value]]
    cases: Callable[[Value, Sampling], tuple[Entry, ...]]
    queries: Callable[[Value, Entry, Sampling], tuple[Query, ...]]
    notices: Callable[[Value, Sampling], tuple[str, ...]]
    measuring: Callable[[], Measuring[Any, Any]]
    situation: Callable[[Value, Query], Situation | tuple[Sitter, ...] | None] = _nothing_known
    explained: Callable[[Value, Entry, Sampling], Query | None] = _unexplained
    citable: Callable[[Value], tuple[str, ...]] = _nothing
    people: Callable[[Value, Entry], int | None] = _nobody
    on_sheet: Callable[[Value, Entry], bool] = _always
    reporting: Callable[[], Reporting] = _plain
