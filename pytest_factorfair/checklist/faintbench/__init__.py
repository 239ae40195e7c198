"""FAIntbench: people pictured by occupation, characteristic and relation, with and without a group asked for.

layout, rules → build → expand → prompts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_factorfair.checklist.faintbench.expand import cases, notices, queries
from pytest_factorfair.checklist.protocol import Protocol
from pytest_factorfair.domain import Faintbench

if TYPE_CHECKING:
    from pytest_factorfair.checklist.faintbench.layout import Checklist
    from pytest_factorfair.checklist.protocol import Files


def _files() -> Files[Checklist, Faintbench]:
    from pytest_factorfair.checklist.faintbench.files import FILES

    return FILES


PROTOCOL = Protocol(
    name="faintbench",
    checklist=Faintbench,
    files=_files,
    cases=cases,
    queries=queries,
    notices=notices,
)

__all__ = ["PROTOCOL"]
