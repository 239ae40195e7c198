"""Where the plugin keeps its values: on pytest's config, items and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.domain import Record, Usage

if TYPE_CHECKING:
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.progress import Meter

EXECUTION: pytest.StashKey[Execution] = pytest.StashKey()
"""On the config of every process that asks or judges; absent when the plugin is inert."""

PROGRESS: pytest.StashKey[Meter] = pytest.StashKey()
"""On the same configs; only the process that owns the terminal draws the line."""

RECORD: pytest.StashKey[Record] = pytest.StashKey()
"""On an item whose case was recorded."""

USAGE: pytest.StashKey[Usage] = pytest.StashKey()
"""On an item that asked, whether it recorded or not: its usage that is not on the run's account."""

ATTRIBUTE = "factorfair"
"""The attribute of a report with its item's result, and the key of a worker's order in ``workerinput``."""


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one item: its record, if there is one, and the usage that is not on the run's account.

    ``ended`` is the error that ended the asking of its process, if it met that.
    """

    record: Record | None
    usage: Usage
    ended: str = ""


def attach(report: pytest.TestReport, result: ItemResult) -> None:
    """Attach an item's result to its report."""
    setattr(report, ATTRIBUTE, result)


def detach(report: pytest.TestReport) -> ItemResult | None:
    """Take the result off a report, so that no other plugin stores or sends it."""
    result: ItemResult | None = report.__dict__.pop(ATTRIBUTE, None)
    return result
