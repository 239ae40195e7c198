from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pytest_factorfair.models.openai_errors import named, retry_after

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Sun, 01 Mar 2026 12:01:30 GMT", 90.0),
        ("Sun, 01 Mar 2026 13:01:30 +0100", 90.0),
        ("Sun, 01 Mar 2026 12:01:30 -0000", 90.0),
        ("Sun, 01 Mar 2026 11:59:00 GMT", 0.0),
        ("Sun, 99 Mar 2026 11:59:00 GMT", None),
        ("120", 120.0),
        ("inf", None),
        ("", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": header}, NOW) == seconds


@pytest.mark.parametrize(("status", "name"), [(429, "429 Too Many Requests"), (529, "529"), (999, "999")])
def test_named(status: int, name: str) -> None:
    assert named(status) == name
