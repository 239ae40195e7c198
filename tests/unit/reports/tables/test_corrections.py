"""The table of perceived and corrected shares, in the terminal and in Markdown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema

from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import MEANT, correction_tables
from pytest_factorfair.benchmarks.fact_or_fair.rows import CORRECTIONS, Correction
from pytest_factorfair.domain import Summary
from pytest_factorfair.reports.json_report import to_json
from pytest_factorfair.reports.markdown import to_markdown
from tests.unit.reports.paper_tables.builders import summary

SCHEMA = Path(__file__).parents[4] / "checklists" / "schema" / "report.schema.json"
RAW = {"Male": 0.625, "Female": 0.375}
FOUND = Correction("m", "c", "objective", None, "gender", 1400, RAW, {"Male": 0.656, "Female": 0.344},
                   {"Male": 0.561, "Female": 0.256}, {"Male": 0.744, "Female": 0.439}, "")  # fmt: skip
REFUSED = replace(FOUND, part="subjective", context="base", corrected={}, low={}, high={}, reason="no labels")


def _summary(*corrections: Correction) -> Summary:
    return summary(models={"m": {}}, checklists={"c": "0" * 64}, rows={CORRECTIONS.name: corrections})


def test_raw_and_corrected_shares_stand_side_by_side() -> None:
    (table,) = correction_tables(_summary(FOUND, REFUSED))
    assert table.title == "gender, shares"
    assert table.headings == ("Male", "Female", "faces")
    assert [(row.label, row.cells) for row in table.rows] == [
        ("objective", ("0.62", "0.38", "1,400")),
        ("  corrected", ("0.66", "0.34", "")),
        ("  95 %", ("0.56-0.74", "0.26-0.44", "")),
        ("base", ("0.62", "0.38", "1,400")),
    ]
    assert table.notes == ("not corrected: no labels", MEANT)


def test_a_table_is_named_after_what_tables_differ_in() -> None:
    titles = [table.title for table in correction_tables(_summary(FOUND, replace(FOUND, model="n")))]
    assert titles == ["m · gender, shares", "n · gender, shares"]


def test_without_a_table_of_errors_there_is_none() -> None:
    assert list(correction_tables(_summary())) == []
    assert "shares" not in to_markdown(_summary())


def test_shares_that_cannot_be_estimated_are_left_empty() -> None:
    (table,) = correction_tables(_summary(replace(REFUSED, raw={}, n=0, reason="no face was perceived")))
    assert [row.cells for row in table.rows] == [("0",)]
    assert table.notes == ("not corrected: no face was perceived",)


def test_markdown_has_it() -> None:
    text = to_markdown(_summary(FOUND))
    assert "### gender, shares" in text
    assert "| corrected | 0.66 | 0.34 |  |" in text


def test_the_report_follows_its_schema() -> None:
    report = json.loads(to_json(_summary(FOUND, REFUSED)))
    jsonschema.validate(
        json.loads(json.dumps(report["corrections"])),
        json.loads(SCHEMA.read_text())["properties"]["corrections"],
    )
    assert report["corrections"][0]["raw"] == RAW
