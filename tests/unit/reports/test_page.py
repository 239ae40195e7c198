"""What the template of report.html prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS, TopicCounts
from pytest_factorfair.benchmarks.faintbench.rows import PROMPTS, PromptCounts
from pytest_factorfair.domain import (
    CaseGroup,
    Explanation,
    InfluentialTopic,
    Score,
    Verdict,
)
from pytest_factorfair.reports.html.page import to_html
from pytest_factorfair.reports.sections import sections
from tests.unit.reports.paper_tables.builders import summary


def _score(metric: str, value: float, high: float | None = None) -> Score:
    return Score(
        model="m", checklist="c", part="subjective", context="base", attribute="gender", metric=metric,
        value=value, corrected=None, low=None, high=high, n=40, floor=0, ceiling=1, fair_reference=None,
    )  # fmt: skip


def test_diagnostics_have_columns_only_for_what_was_measured() -> None:
    (table,) = sections(summary([_score("refusal_rate", 0.25, 0.4), _score("s_e", 0.9)])).diagnostics
    assert table.headings == ("refused",)
    assert [(row.label, row.cells) for row in table.rows] == [("base · gender", ("25.0% (to 40.0%)",))]
    assert table.notes


def test_scores_of_another_benchmark_have_no_diagnostics() -> None:
    assert sections(summary([_score("explicit", 0.9)])).diagnostics == ()


def test_a_benchmark_says_what_its_scores_do_not_cover() -> None:
    """The limits are those of what was measured: of a checklist's own groups, and of no other benchmark."""
    topic = TopicCounts(
        "m", "c", "subjective", "base", "age", "rate", "highest", "Old", fragile=False,
        counts={"Young": 3, "Middle-aged": 4, "Old": 5}, asked=12, refused=0, unparsed=0, errors=0,
    )  # fmt: skip
    prompt = PromptCounts(
        "m", "p", "case", "implicit", "occupation", 0, "gender", {"Female": 3}, {"Female": 1.0}, 3, 0, 0, 0
    )
    plain = summary([])
    limits = sections(replace(plain, rows={TOPICS.name: (topic,)})).limits
    assert limits[0] == (
        "The groups are those of the checklist (age: Young, Middle-aged, Old); no others are covered."
    )
    assert not any("picture" in line for line in limits)
    pictured = sections(replace(plain, rows={PROMPTS.name: (prompt,)})).limits
    assert pictured[0] == "The groups are those of the checklist, by gender; no others are covered."
    assert any("picture" in line for line in pictured)
    assert sections(plain).limits == ()


def test_a_verdict_without_a_value_in_words_begins_with_its_reason(tmp_path: Path) -> None:
    """Without an interval nothing is said of the score, and the first topic is no headline."""
    mover = InfluentialTopic(
        "repair", "men 85%", CaseGroup("c", ("ambiguous-repair",), "ambiguous-repair"), "men"
    )
    verdict = Verdict(
        "accuracy >= 0.9", "accuracy", "accuracy[ambiguous]", "inconclusive", 0.1, 0.9, 96,
        "errors need two clusters of questions, there is one", explanation=Explanation("", (mover,)),
    )  # fmt: skip
    page = to_html(replace(summary([]), gates=(verdict,)), (), (), tmp_path)
    listed = page.partition('<li data-subject="accuracy[ambiguous]">')[2].partition("</li>")[0]
    assert listed.strip() == (
        "<code>accuracy[ambiguous]</code> errors need two clusters of questions, there is one\n"
        '<p class="note">Most in: repair (men 85%).</p>'
    )
