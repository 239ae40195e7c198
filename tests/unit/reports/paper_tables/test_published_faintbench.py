"""FAIntbench's Tables 4 to 7, exported from their own figures: levels down, models across."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.benchmarks.faintbench.printing.tables import faintbench_tables
from pytest_factorfair.domain import Score
from pytest_factorfair.drawing.entries import Omission, entries
from pytest_factorfair.drawing.table import Table
from pytest_factorfair.reports.papers import WRITERS, paper_tables
from tests.unit.reports.paper_tables.builders import summary

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "data" / "faintbench_tables.json").read_text("utf-8")
)
KINDS = {"4": None, "5": "characteristic", "6": "occupation", "7": "relation"}
NAMES = {"Gender": "gender", "Race": "race", "Age": "age"}


def printed() -> Iterator[Score]:
    for number, kind in KINDS.items():
        for row, values in PUBLISHED["tables"][number]["rows"].items():
            for model, value in zip(PUBLISHED["models"], values, strict=True):
                attribute = NAMES.get(row, "all")
                yield Score(model, "own", "implicit", kind, attribute, "implicit", value, n=0, floor=0.5)


FOUND = {table.name: table for table in paper_tables("own", entries({"it": summary(printed())}))}


@pytest.mark.parametrize("number", KINDS)
def test_a_table_has_the_printed_figures_to_four_decimals(number: str) -> None:
    level = KINDS[number] or "model"
    table = FOUND[f"own-implicit-{level}"]
    assert isinstance(table, Table)
    assert f"Table {number})" in table.title
    head, *rows = csv.reader(io.StringIO(WRITERS["csv"](table)))
    assert head == ["Level", *PUBLISHED["models"], "lowest possible"]
    cells = {row[0]: row[1:] for row in rows}
    for row, values in PUBLISHED["tables"][number]["rows"].items():
        assert cells[NAMES.get(row, level)] == [*(f"{value:.4f}" for value in values), "0.5000"]


def test_what_the_paper_prints_beyond_is_left_out_here() -> None:
    left_out = {name for name, table in FOUND.items() if isinstance(table, Omission)}
    assert left_out == {"own-implicit-categories", "own-explicit", "own-eta"}


@pytest.mark.parametrize(
    ("estimator", "metric", "words"),
    [
        ("plugin", "eta", "a sum over pairs, so it has no upper bound"),
        ("published-code", "explicit", "the authors' scripts define no such score of all prompts"),
    ],
)
def test_a_table_says_what_its_estimator_does_not_give(estimator: str, metric: str, words: str) -> None:
    part = "implicit" if metric == "eta" else "explicit"
    score = Score("m", "own", part, "characteristic" if part == "explicit" else None, "all", metric, 0.7, n=9)
    run_summary = summary([score], estimator=estimator)
    tables = [
        table for table in paper_tables("own", entries({"it": run_summary})) if isinstance(table, Table)
    ]
    assert any(words in note for table in tables for note in table.notes)
    assert any(words in note for table in faintbench_tables(run_summary) for note in table.notes)
