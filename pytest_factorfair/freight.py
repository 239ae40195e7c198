"""What an item yields rides on its report; where a report crosses processes, as plain types."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_factorfair import wire
from pytest_factorfair.domain import Record, Usage

ATTRIBUTE = "factorfair"

Freight = tuple[Record | None, Usage]
"""An item's record, where it has one, and what of its asking is not on the run's account."""


def load(report: pytest.TestReport, freight: Freight) -> None:
    """Let a report carry what its item yields."""
    setattr(report, ATTRIBUTE, freight)


def unload(report: pytest.TestReport) -> Freight | None:
    """Take off a report what it carries, so that no other plugin keeps or sends it."""
    freight: Freight | None = report.__dict__.pop(ATTRIBUTE, None)
    return freight


class Crossing:
    """Registered in every process that asks or judges: xdist calls these as a report leaves and arrives."""

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self,
    ) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
        data = yield
        if data is not None and ATTRIBUTE in data:
            data[ATTRIBUTE] = wire.to_wire(*data[ATTRIBUTE])
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self) -> Generator[None, object, object]:
        report = yield
        if isinstance(report, pytest.TestReport) and ATTRIBUTE in report.__dict__:
            load(report, wire.from_wire(getattr(report, ATTRIBUTE)))
        return report
