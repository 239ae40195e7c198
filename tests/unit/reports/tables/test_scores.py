"""The tables of a summary: intervals, rows that explain them, and notes on missing values."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally, topic_counts
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import influence
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import influence_tables, score_tables
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS, TopicCounts
from pytest_factorfair.domain import Estimator, Score, Summary
from pytest_factorfair.drawing.table import Table
from tests.unit.reports.paper_tables.builders import summary
from tests.unit.scoring.builders import objective, score_rows, tally, toward, truths

TRUTH = truths(6, 4)
SHARES = toward(TRUTH, 0.4, 4)


def _tally(n: int, **fields: object) -> Tally:
    counts = np.random.default_rng(2).multinomial(n, SHARES)
    return tally(counts, TRUTH, **fields) if fields else objective(counts, TRUTH)


def _summary(scores: Iterable[Score], topics: Iterable[TopicCounts] = ()) -> Summary:
    return summary(scores, estimator="corrected", rows={TOPICS.name: tuple(topics)})


def _table(*tallies: Tally, estimator: Estimator = "corrected") -> Table:
    scores = [row for tally in tallies for row in score_rows(tally, estimator=estimator)]
    (table,) = score_tables(_summary(scores, (row for tally in tallies for row in topic_counts(tally))))
    return table


def _cells(table: Table, label: str, *, after: str = "") -> dict[str, str]:
    labels = [row.label for row in table.rows]
    start = labels.index(after) if after else 0
    row = table.rows[labels.index(label, start)]
    return dict(zip(table.headings, (str(cell).strip() for cell in row.cells), strict=True))


def test_a_score_stands_with_its_interval_and_in_answers_of_a_hundred() -> None:
    """S_E has the entropy of one group with a share p and three with (1 - p) / 3 each."""
    observed = _tally(72, context="base")
    rows = {row.metric: row for row in score_rows(observed)}
    table = _table(observed)
    evenness = rows["s_e"]
    assert (evenness.corrected, evenness.low) != (None, None)
    half = max(
        (evenness.corrected or 0) - (evenness.low or 0), (evenness.high or 0) - (evenness.corrected or 0)
    )
    assert _cells(table, "base")["S_E"] == f"{evenness.corrected:.3f} ±{half:.3f}".replace("±0", "±")
    shares = np.linspace(0.25, 1, 10_001)[1:-1]
    entropies = -(shares * np.log(shares) + (1 - shares) * np.log((1 - shares) / 3)) / np.log(4)
    middle, least, most = (
        100 * shares[np.abs(entropies - value).argmin()]
        for value in (evenness.corrected, evenness.high, evenness.low)
        if value is not None
    )
    assert _cells(table, "base")["favourite"] == f"{middle:.0f} ({least:.0f}-{most:.0f})"
    assert [row.label for row in table.rows] == ["base"]


def test_the_fair_model_stands_below_each_part_where_scores_have_its_bias() -> None:
    tallies = _tally(24), _tally(72, context="base")
    table = _table(*tallies, estimator="plugin")
    assert [row.label for row in table.rows] == ["objective", "fair", "base", "fair"]
    assert _cells(table, "fair")["S_E"] == "0.953"
    assert _cells(table, "fair", after="base")["S_E"] == "0.985"
    assert "fair: of a fair model with as many answers" in table.legend
    corrected = _table(*tallies)
    assert [row.label for row in corrected.rows] == ["objective", "base"]
    assert "fair: " not in corrected.legend


def test_lines_fit_a_hundred_columns() -> None:
    table = _table(_tally(24), _tally(72, context="representativeness"))
    widths = [
        max(len(cells[column]) for cells in (table.headings, *(row.cells for row in table.rows)))
        for column in range(len(table.headings))
    ]
    assert len("representativeness") + sum(width + 2 for width in widths) <= 100


def test_too_few_answers_are_noted_instead_of_a_value() -> None:
    table = _table(_tally(12, context="base"))
    assert "±" in _cells(table, "base")["S_fact"]
    marks = {name: cell.rstrip()[-1] for name, cell in _cells(table, "base").items() if cell}
    assert "(" not in _cells(table, "base")["favourite"]
    uncorrected = dict.fromkeys(("S_E", "S_KLD", "S_fair", "distance"), "*")
    assert {name: mark for name, mark in marks.items() if name in uncorrected} == uncorrected
    assert table.notes == (
        (
            "* uncorrected, no interval: S_E, S_KLD, S_fair, distance of base: "
            "fewer than 20 valid answers in Rate 0, highest and 11 more"
        ),
    )


def test_scores_without_intervals_have_one_note() -> None:
    table = _table(_tally(72, context="base"), estimator="plugin")
    assert table.notes == ("no intervals: the estimator plugin gives no interval",)
    assert not any("*" in cell for row in table.rows for cell in row.cells)  # nothing is corrected


def test_missing_answers_are_reported_place_by_place() -> None:
    lost = np.zeros((6, 2), np.int64)
    lost[0, 0] = 36
    table = _table(_tally(24), _tally(72, context="base", refused=lost))
    assert table.notes == ("without an answer: objective 0.0%, base 4.0%",)


@pytest.mark.parametrize(("refused", "certain"), [(3, True), (72, False)])
def test_no_interval_is_claimed_with_too_many_answers_missing(refused: int, *, certain: bool) -> None:
    """Of 75 asked 4 % are refused, of 144 half: these could all have named one group."""
    table = _table(_tally(72, context="base", refused=np.full((6, 2), refused)))
    cells = _cells(table, "base")
    assert [("±." in cells[name], "±?" in cells[name]) for name in ("S_fact", "S_E", "distance")] == [
        (certain, not certain)
    ] * 3
    (note,) = table.notes
    assert note.endswith("; ±?: they may move a score further than chance") == (not certain)


@pytest.mark.parametrize("value", [-0.0004, 0.0])
def test_a_value_of_zero_has_no_sign(value: float) -> None:
    row = Score(
        "m", "c", "subjective", "base", "race", "distance", value, 9, corrected=value, low=-0.1, high=0.1
    )
    (table,) = score_tables(_summary([row]))
    assert _cells(table, "base")["distance"] == "0.000 ±.100"


def test_influence_has_a_row_per_column_and_three_cells_per_attribute() -> None:
    named = np.full((6, 2), 72)
    tallies = [
        _tally(
            72, context=context, background=background, named=named, matched=named // 4, attribute=attribute
        )
        for attribute in ("race", "caste")
        for context, background in (
            ("base", "none"),
            ("attribution", "random"),
            ("representativeness", "truth"),
        )
    ]
    (table,) = influence_tables(_summary(influence(tallies)))
    assert table.title == "influence"
    assert table.headings == ("race", "without", "index", "caste", "without", "index")
    assert [row.label for row in table.rows] == [
        "attribution", "highest as stated", "lowest as stated", "mean increase",
    ]  # fmt: skip
    assert [str(cell).strip() for cell in table.rows[0].cells[:3]] == ["0.250 ±.029", "0.250", "0.00"]
    assert list(influence_tables(_summary(score_rows(tallies[0])))) == []
