"""The registry of protocols, and what they do with checklists: read them, expand them to cases and queries.

A protocol is one folder with everything specific to a benchmark, and one line in ``PROTOCOLS``. Reading
files imports pydantic and takes a sixth of a second; a worker, which receives its checklists, skips that.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_factorfair.checklist.locate import shipped
from pytest_factorfair.domain import Case, Checklist, Query, Sampling
from pytest_factorfair.protocols import fact_or_fair, faintbench, items
from pytest_factorfair.protocols.protocol import Protocol, Published

if TYPE_CHECKING:
    from pytest_factorfair.checklist import loading
    from pytest_factorfair.domain import Source
    from pytest_factorfair.protocols.protocol import Conditions, DepictedPerson, Situation
    from pytest_factorfair.protocols.reporting import Reporting

__all__ = [
    "PROTOCOLS",
    "cases",
    "citable",
    "conditions",
    "explained",
    "lint",
    "load",
    "notices",
    "on_sheet",
    "people",
    "published",
    "queries",
    "shipped",
    "situation",
    "sources",
]

# Any: a checklist names its protocol, which types cannot express.
PROTOCOLS: dict[str, Protocol[Any, Any]] = {
    protocol.name: protocol for protocol in (fact_or_fair.PROTOCOL, faintbench.PROTOCOL, items.PROTOCOL)
}


def load(name_or_path: str, *, truth: str, base: Path) -> Checklist:
    """The checklist of a shipped name or a path (relative to ``base``) under one truth set.

    Raises:
        ChecklistError: a file cannot be read or has invalid content; names file, line, field.
        InputError: there is no such checklist, or it has no such truth set.
    """
    from pytest_factorfair.checklist import loading

    return loading.load(name_or_path, _files(), truth=truth, base=base)


def lint(name_or_path: str, *, base: Path) -> tuple[str, ...]:
    """Return the findings, each ``file:line: field: problem``, in the order of the file.

    Raises:
        InputError: the checklist is invalid, as in ``load``.
    """
    from pytest_factorfair.checklist import loading

    return loading.lint(name_or_path, _files(), base=base)


def sources(name: str, content: str) -> tuple[Source, ...]:
    """The sources of the shipped checklist with this content hash; none of other checklists."""
    from pytest_factorfair.checklist import loading

    if name not in shipped():
        return ()
    files, _, file = loading.parse(name, _files(), base=Path())
    return files.sources(file, content)


def cases(checklist: Checklist, sampling: Sampling) -> tuple[Case, ...]:
    """The cases in the order of the checklist."""
    return PROTOCOLS[checklist.protocol].cases(checklist, sampling)


def queries(checklist: Checklist, case: Case, sampling: Sampling) -> tuple[Query, ...]:
    """The queries of a case, in the order in which they are asked."""
    return PROTOCOLS[checklist.protocol].queries(checklist, case, sampling)


def explained(checklist: Checklist, case: Case, sampling: Sampling) -> Query | None:
    """The query that asks for a choice with its reason, if the case has one."""
    return PROTOCOLS[checklist.protocol].explained(checklist, case, sampling)


def situation(checklist: Checklist, query: Query) -> Situation | tuple[DepictedPerson, ...] | None:
    """What a simulated respondent sees in a query; None if it cannot tell."""
    return PROTOCOLS[checklist.protocol].situation(checklist, query)


def conditions(checklist: Checklist) -> tuple[Conditions, ...]:
    """The words that may hold of a query, by condition, for each kind of query."""
    protocol = PROTOCOLS[checklist.protocol]
    if protocol.conditions is not None:
        return tuple(protocol.conditions(checklist))
    every = protocol.cases(checklist, Sampling("balanced", samples=1, objective=1, seed=0))
    return tuple(case.words for case in every)


def citable(checklist: Checklist) -> tuple[str, ...]:
    """The names of what a reason may cite."""
    return PROTOCOLS[checklist.protocol].citable(checklist)


def people(checklist: Checklist, case: Case) -> int | None:
    """How many people the pictures of a case show; None for any number."""
    return PROTOCOLS[checklist.protocol].people(checklist, case)


def on_sheet(checklist: Checklist, case: Case) -> bool:
    """Whether the pictures of a case have a contact sheet."""
    return PROTOCOLS[checklist.protocol].on_sheet(checklist, case)


def published(checklists: Sequence[Checklist]) -> Published:
    """How the papers of these checklists made and read their pictures; where they differ, the first one's."""
    arguments, detector = zip(
        *(PROTOCOLS[checklist.protocol].published for checklist in checklists), strict=True
    )
    return Published(dict(ChainMap(*arguments)), dict(ChainMap(*detector)))


def notices(checklist: Checklist, sampling: Sampling) -> tuple[str, ...]:
    """One line for every size that was adjusted."""
    return PROTOCOLS[checklist.protocol].notices(checklist, sampling)


def reportings() -> tuple[Reporting, ...]:
    """What each benchmark prints."""
    return tuple(protocol.reporting() for protocol in PROTOCOLS.values())


def reporting_of(metric: str) -> Reporting:
    """What the benchmark of a metric prints."""
    from pytest_factorfair.protocols.reporting import NOTHING

    return next(
        (
            benchmark
            for benchmark in reportings()
            if metric in benchmark.metrics or metric in benchmark.further
        ),
        NOTHING,
    )


def _files() -> loading.ByProtocol:
    return {name: protocol.files for name, protocol in PROTOCOLS.items()}
