"""The published schema is the one the code makes."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_factorfair.reports.schema import schema

PUBLISHED = Path(__file__).parents[3] / "checklists" / "schema" / "report.schema.json"


def test_the_file_on_disk_is_up_to_date() -> None:
    """If not: python -m pytest_factorfair.reports.schema checklists/schema/report.schema.json."""
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == schema()
