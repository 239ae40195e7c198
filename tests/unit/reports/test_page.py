"""What the template of report.html prints."""

from __future__ import annotations

from pytest_factorfair.domain import Score
from pytest_factorfair.reports.html.page import content
from tests.unit.reports.paper_tables.builders import summary


def _score(metric: str, value: float, high: float | None = None) -> Score:
    return Score(
        model="m", checklist="c", part="subjective", context="base", attribute="gender", metric=metric,
        value=value, corrected=None, low=None, high=high, n=40, floor=0, ceiling=1, fair_reference=None,
    )  # fmt: skip


def test_diagnostics_have_columns_only_for_what_was_measured() -> None:
    (table,) = content(summary([_score("refusal_rate", 0.25, 0.4), _score("s_e", 0.9)]))["diagnostics"]
    assert table.headings == ("refused",)
    assert [(row.label, row.cells) for row in table.rows] == [("base · gender", ("25.0% (to 40.0%)",))]
    assert table.notes


def test_scores_of_another_benchmark_have_no_diagnostics() -> None:
    assert content(summary([_score("explicit", 0.9)]))["diagnostics"] == ()
