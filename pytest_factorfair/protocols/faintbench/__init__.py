"""FAIntbench: people pictured by occupation, characteristic and relation, with and without a group asked for.

layout and rules → cases → queries → gallery → metrics → measure → printing; biasig: published files of its
successor → a checklist.
"""

from __future__ import annotations

from functools import partial
from pkgutil import resolve_name

from pytest_factorfair.protocols.faintbench.cases import (
    cases,
    depicted_people,
    notices,
    on_sheet,
    people,
    queries,
)
from pytest_factorfair.protocols.faintbench.checklist import Faintbench
from pytest_factorfair.protocols.protocol import Protocol

PROTOCOL = Protocol(
    name="faintbench",
    checklist=Faintbench,
    files=partial(resolve_name, "pytest_factorfair.protocols.faintbench.rules:FILES"),
    cases=cases,
    queries=queries,
    notices=notices,
    reporting=partial(resolve_name, "pytest_factorfair.protocols.faintbench.printing.reporting:REPORTING"),
    measuring=partial(resolve_name, "pytest_factorfair.protocols.faintbench.measure:MEASURING"),
    importers=partial(resolve_name, "pytest_factorfair.protocols.faintbench.biasig:IMPORTERS"),
    situation=depicted_people,
    people=people,
    on_sheet=on_sheet,
)

__all__ = ["PROTOCOL"]
