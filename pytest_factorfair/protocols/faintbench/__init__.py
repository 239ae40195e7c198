"""FAIntbench: people pictured by occupation, characteristic and relation, with and without a group asked for.

layout, rules → build → cases → queries; respondents: who is to be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_factorfair.protocols.faintbench.cases import cases, notices, on_sheet, people, queries
from pytest_factorfair.protocols.faintbench.checklist import Faintbench
from pytest_factorfair.protocols.faintbench.respondents import sitters
from pytest_factorfair.protocols.protocol import Protocol

if TYPE_CHECKING:
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.protocols.faintbench.layout import Checklist
    from pytest_factorfair.protocols.faintbench.measure import Prompts
    from pytest_factorfair.protocols.reporting import Reporting


def _files() -> Files[Checklist, Faintbench]:
    from pytest_factorfair.checklist.loading import Files
    from pytest_factorfair.protocols.faintbench import build, layout, rules

    return Files(
        layout=layout.Checklist.model_validate,
        rules=(rules.names, rules.figures, rules.texts),
        truths=build.truth_sets,
        build=build.checklist,
        lint=rules.findings,
        schema=layout.schema,
    )


def _reporting() -> Reporting:
    from pytest_factorfair.protocols.faintbench.reporting import FaintbenchReporting

    return FaintbenchReporting()


def _measuring() -> Prompts:
    from pytest_factorfair.protocols.faintbench.measure import MEASURING

    return MEASURING


PROTOCOL = Protocol(
    name="faintbench",
    checklist=Faintbench,
    files=_files,
    cases=cases,
    queries=queries,
    notices=notices,
    reporting=_reporting,
    measuring=_measuring,
    situation=sitters,
    people=people,
    on_sheet=on_sheet,
)

__all__ = ["PROTOCOL"]
