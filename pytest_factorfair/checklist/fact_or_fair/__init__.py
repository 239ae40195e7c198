"""FACT-OR-FAIR: statistics about groups, asked for as facts and as choices among people.

layout, truths, wording (pictured) → build → expand → prompts; recognise is the inverse, from a prompt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_factorfair.checklist.fact_or_fair.expand import cases, notices, queries
from pytest_factorfair.checklist.protocol import Protocol
from pytest_factorfair.domain import FactOrFair

if TYPE_CHECKING:
    from pytest_factorfair.checklist.fact_or_fair.layout import Checklist
    from pytest_factorfair.checklist.protocol import Files


def _files() -> Files[Checklist, FactOrFair]:
    from pytest_factorfair.checklist.fact_or_fair.files import FILES

    return FILES


PROTOCOL = Protocol(
    name="fact_or_fair",
    checklist=FactOrFair,
    files=_files,
    cases=cases,
    queries=queries,
    notices=notices,
)

__all__ = ["PROTOCOL"]
