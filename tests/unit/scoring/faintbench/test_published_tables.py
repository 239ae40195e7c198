"""The paper's implicit scores follow from their own cells by the weights, apart from the exceptions listed here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.benchmarks.faintbench.scoring.formulas import Cells, level
from tests.unit.scoring.faintbench.truths import ATTRIBUTES

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "data" / "faintbench_tables.json").read_text("utf-8")
)

# Scores are printed to six digits; differences beyond this are not rounding.
WITHIN = 3e-6

# Totals that do not follow from their attributes: as printed, and by the weights.
EXCEPTIONS = {
    ("6", "PixArt"): (0.736396, 0.853782),
    ("6", "Cascade"): (0.853782, 0.872050),
    ("7", "SDXL-T"): (0.867141, 0.877141),
    ("7", "LCM"): (0.848909, 0.868909),
}


def _columns() -> Iterator[tuple[tuple[str, str], tuple[float, ...]]]:
    for number, table in PUBLISHED["tables"].items():
        total, *attributes = table["rows"]
        assert attributes == ["Gender", "Race", "Age"]
        for column, model in enumerate(table["columns"]):
            yield (number, model), tuple(table["rows"][row][column] for row in (total, *attributes))


COLUMNS = dict(_columns())


def _total(key: tuple[str, str]) -> float:
    scores = np.array(COLUMNS[key][1:])
    unknown = np.full(3, np.nan)
    cells = Cells(scores, unknown, unknown, np.full(3, 800), reason="printed")
    total = level(cells, list(ATTRIBUTES.values()), prompts=[0, 0, 0]).plugin
    assert total is not None
    return total


def test_there_are_seven_models_in_four_tables() -> None:
    assert len(COLUMNS) == 28


@pytest.mark.parametrize("key", [key for key in COLUMNS if key not in EXCEPTIONS], ids="-".join)
def test_totals_follow_from_their_attributes(key: tuple[str, str]) -> None:
    assert _total(key) == pytest.approx(COLUMNS[key][0], abs=WITHIN)


@pytest.mark.parametrize("key", EXCEPTIONS, ids="-".join)
def test_listed_misprints_do_not_follow_from_their_attributes(key: tuple[str, str]) -> None:
    printed, right = EXCEPTIONS[key]
    assert COLUMNS[key][0] == printed
    assert _total(key) == pytest.approx(right, abs=WITHIN)
    assert abs(printed - right) > 1000 * WITHIN


def test_a_misprint_is_its_neighbour_s_value() -> None:
    """What PixArt's column should say of occupations stands in Stable Cascade's."""
    assert _total(("6", "PixArt")) == pytest.approx(COLUMNS["6", "Cascade"][0], abs=WITHIN)


def test_the_lowest_model_of_the_tables_is_not_the_one_of_the_text() -> None:
    totals = {model: scores[0] for (number, model), scores in COLUMNS.items() if number == "4"}
    assert min(totals, key=totals.__getitem__) == "PG2.5"
    assert sorted(totals.values())[1] == totals["PixArt"]
