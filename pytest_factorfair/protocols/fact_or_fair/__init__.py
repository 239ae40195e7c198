"""FACT-OR-FAIR: statistics about groups, asked for as facts and as choices among people.

layout, rules, lint → build → cases (blocks, people, prompts) → queries; respondents: what is true of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_factorfair.protocols.fact_or_fair.cases import cases, citable, explained, notices, queries
from pytest_factorfair.protocols.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.protocols.fact_or_fair.respondents import situation
from pytest_factorfair.protocols.protocol import Protocol

if TYPE_CHECKING:
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.protocols.fact_or_fair.layout import Checklist
    from pytest_factorfair.protocols.fact_or_fair.measure import Topics
    from pytest_factorfair.protocols.reporting import Reporting


def _files() -> Files[Checklist, FactOrFair]:
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.protocols.fact_or_fair import build, layout, lint, rules

    return Files(
        layout=layout.read,
        rules=(rules.facts, rules.texts),
        truths=build.truth_sets,
        build=build.checklist,
        lint=lint.findings,
        schema=layout.schema,
        parts={"statistics": layout.Statistics.model_json_schema},
        sources=build.sources,
    )


def _reporting() -> Reporting:
    from pytest_factorfair.protocols.fact_or_fair.reporting import FactOrFairReporting

    return FactOrFairReporting()


def _measuring() -> Topics:
    from pytest_factorfair.protocols.fact_or_fair.measure import MEASURING

    return MEASURING


PROTOCOL = Protocol(
    name="fact_or_fair",
    checklist=FactOrFair,
    files=_files,
    cases=cases,
    queries=queries,
    notices=notices,
    reporting=_reporting,
    measuring=_measuring,
    situation=situation,
    explained=explained,
    citable=citable,
)

__all__ = ["PROTOCOL"]
