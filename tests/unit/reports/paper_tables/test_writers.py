"""The content of tables in every format: figures, missing values, and hostile text."""

from __future__ import annotations

import csv
import io

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS, TopicCounts
from pytest_factorfair.domain import Score
from pytest_factorfair.drawing.entries import Omission, entries
from pytest_factorfair.drawing.table import Table
from pytest_factorfair.reports.papers import WRITERS, paper_tables
from tests.unit.reports.paper_tables.builders import summary

HOSTILE = (
    "=cmd|'/c calc'!A1",
    "@SUM(1)",
    "+1",
    "-1+2",
    r"\input{/etc/passwd} 50% & $x_1^2$ #~{}",
    "[5cm] *",
    "a | b <script>alert(1)</script> [x](http://y) `c`",
    "two\nlines\t\u202egnp.exe\x1b[31m",
)


def score(metric: str, value: float | None, *, model: str = "m", **changes: object) -> Score:
    fields = {"part": "objective", "context": None, "attribute": "gender", "n": 10} | changes
    return Score(model, "own list/1", metric=metric, value=value, **fields)  # type: ignore[arg-type]  # by name


def tables(*scores: Score, **changes: object) -> dict[str, Table | Omission]:
    return {
        table.name.removeprefix("own-list-1-"): table
        for table in paper_tables("own list/1", entries({"it": summary(scores, **changes)}))
    }


def one(table: Table | Omission) -> Table:
    assert isinstance(table, Table)
    return table


@pytest.mark.parametrize("name", HOSTILE)
def test_a_models_name_is_text_in_every_format(name: str) -> None:
    table = one(tables(score("s_fact", 0.5, model=name), score("s_fact", -0.25, model="z"))["s-fact"])
    head, hostile_row, plain_row = csv.reader(io.StringIO(WRITERS["csv"](table)))
    assert head[:2] == ["Model", "O gender"]
    assert hostile_row[0][0] not in "=+-@"
    shown = name.replace("\n", " ").replace("\t", " ").replace("\u202e", "?").replace("\x1b", "?")
    assert hostile_row[0].lstrip("'") == shown
    assert plain_row[1] == "-25.00"  # a negative number is no formula

    rows = [line for line in WRITERS["md"](table).splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)
    assert "<script" not in WRITERS["md"](table)
    assert "](http" not in WRITERS["md"](table)

    tex = WRITERS["tex"](table)
    assert r"\input" not in tex
    assert tex.count(r"\begin{tabular}") == 1
    (line,) = (line for line in tex.splitlines() if "50.00" in line)
    assert line.startswith("{")
    unescaped = line.replace("\\&", "").replace("\\%", "").replace("\\$", "")
    assert unescaped.count(" & ") == 5
    assert "%" not in unescaped
    assert not any(letter in unescaped.replace("\\_", "") for letter in "$_^\u202e\x1b")


def test_an_interval_is_reported_in_every_format() -> None:
    bounded = score("s_e", 0.95, corrected=0.9654, low=0.9412, high=0.9796)
    table = one(tables(bounded)["s-e"])
    assert "| 96.54 <sub>[94.1, 98.0]</sub> |" in WRITERS["md"](table)
    assert WRITERS["csv"](table).splitlines()[0].startswith("Model,O gender,O gender low,O gender high,n,")
    assert WRITERS["csv"](table).splitlines()[1].startswith("m,96.54,94.1,98.0,")
    assert r"{\scriptsize $\pm$2.4}" in WRITERS["tex"](table)
    assert any("95 %" in note for note in table.notes)


def test_what_is_missing_is_left_empty_and_what_has_nothing_is_left_out() -> None:
    by_name = tables(score("s_fact", 0.5), score("s_fact", None, model="z"), score("s_e", None))
    rows = WRITERS["csv"](one(by_name["s-fact"])).splitlines()
    assert rows[2].startswith("z,,")
    assert "| z | - |" in WRITERS["md"](one(by_name["s-fact"]))
    assert "{z} & --" in WRITERS["tex"](one(by_name["s-fact"]))
    assert {name for name, table in by_name.items() if isinstance(table, Omission)} == {
        "headline", "influence", "s-fair", "s-e", "s-kld", "distance",
    }  # fmt: skip


def topic(attribute: str, *, part: str, **counts: int) -> TopicCounts:
    lost = {name: counts.pop(name, 0) for name in ("refused", "unparsed", "errors")}
    asked = sum(counts.values()) + sum(lost.values())
    return TopicCounts(
        "m",
        "own list/1",
        part,
        None,
        attribute,
        "tea",
        "highest",
        "A",
        fragile=False,
        counts=counts,
        asked=asked,
        refused=lost["refused"],
        unparsed=lost["unparsed"],
        errors=lost["errors"],
    )


def test_a_table_tells_what_became_of_the_answers() -> None:
    """A judgement speaks about both attributes and is one answer; facts are asked for each."""
    topics = (
        topic("gender", part="objective", A=3, B=1, refused=2),
        topic("race", part="objective", A=4, unparsed=1),
        topic("gender", part="subjective", A=5, B=5, errors=2),
        topic("race", part="subjective", A=10, errors=2),
    )
    table = one(tables(score("s_fact", 0.5), rows={TOPICS.name: topics})["s-fact"])
    assert table.headings[-4:] == ("n", "refused", "unparsed", "errors")
    assert table.rows[0].cells[-4:] == ("18", "2", "1", "2")


def test_a_run_that_was_not_judged_says_so_where_its_figures_are() -> None:
    table = one(tables(score("s_fact", 0.5), incomplete="12 cases are missing")["s-fact"])
    for text in (write(table) for write in WRITERS.values()):
        assert "not judged" in text
    assert "m (not judged): 12 cases are missing." in table.notes


def test_perceived_groups_are_called_so() -> None:
    table = one(tables(score("s_fact", 0.5), detector={"detector": "sim"})["s-fact"])
    assert "O perceived gender" in WRITERS["csv"](table)
    assert any("perceived" in note for note in table.notes)


def test_two_reports_of_one_model_are_distinguished() -> None:
    reports = {name: summary([score("s_fact", value)]) for name, value in (("a.json", 0.5), ("b.json", 0.75))}
    (table, *_) = (table for table in paper_tables("x", entries(reports)) if isinstance(table, Table))
    assert [row.label for row in table.rows] == ["m (a.json)", "m (b.json)"]


def test_figures_beyond_the_best_possible_one_tie_with_it() -> None:
    distances = [
        score("distance", value, model=name) for name, value in (("m", -0.5), ("y", 0.0), ("z", 0.1))
    ]
    table = WRITERS["md"](one(tables(*distances)["distance"]))
    assert [figure for figure in ("-50.00", "0.00", "10.00") if f"| **{figure}** |" in table] == [
        "-50.00",
        "0.00",
    ]
    assert "<u>10.00</u>" in table


def test_one_model_has_no_best_score_and_two_have_no_second_best() -> None:
    alone = one(tables(score("s_fact", 0.5), score("s_fact", None, model="z"))["s-fact"])
    assert "**" not in WRITERS["md"](alone)
    both = one(tables(score("s_fact", 0.5), score("s_fact", 0.5, model="y"), score("s_e", 0.5))["s-fact"])
    assert WRITERS["md"](both).count("**50.00**") == 2
    assert "<u>" not in WRITERS["md"](both)
