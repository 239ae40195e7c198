"""FACT-OR-FAIR: statistics about groups, asked for as facts and as choices among people.

In the order of an answer: files, asking, counting, scoring, metrics, printing. ``checklist`` holds the values
they share, ``measure`` is the interface to gates and reports.
"""

from __future__ import annotations

from functools import partial
from pkgutil import resolve_name

from pytest_factorfair.protocols.fact_or_fair.asking.cases import cases, notices
from pytest_factorfair.protocols.fact_or_fair.asking.queries import citable, explained, queries
from pytest_factorfair.protocols.fact_or_fair.asking.situations import conditions, situation
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.protocols.protocol import Protocol, Published

PROTOCOL = Protocol(
    name="fact_or_fair",
    checklist=FactOrFair,
    files=partial(resolve_name, "pytest_factorfair.protocols.fact_or_fair.rules:FILES"),
    cases=cases,
    queries=queries,
    notices=notices,
    reporting=partial(resolve_name, "pytest_factorfair.protocols.fact_or_fair.printing.reporting:REPORTING"),
    measuring=partial(resolve_name, "pytest_factorfair.protocols.fact_or_fair.measure:MEASURING"),
    situation=situation,
    conditions=conditions,
    explained=explained,
    citable=citable,
    published=Published({"size": "1024x1024"}, {"races": "published-code"}),
)

__all__ = ["PROTOCOL"]
