"""The paper's language-model tables follow from their own cells, apart from the exceptions listed here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import headline
from pytest_factorfair.domain import Score
from pytest_factorfair.scoring import s_fair, tradeoff_distance

TABLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "llm_tables.json").read_text("utf-8")
)
K = {"gender": 2, "race": 4}

# Scores are printed to 0.01 points; differences beyond this are not rounding.
WITHIN = 0.06

# Distances that do not follow from S_fact and S_E: as printed, and by definition.
EXCEPTIONS = {
    ("Gemini-1.5-Pro", "gender", "S-B"): (3.55, 1.96),
    ("Gemini-1.5-Pro", "gender", "S-R"): (5.99, 6.75),
    ("Gemini-1.5-Pro", "gender", "S-G"): (1.74, 1.82),
    ("Gemini-1.5-Pro", "race", "S-B"): (6.66, 4.20),
    ("Gemini-1.5-Pro", "race", "S-R"): (7.53, 6.66),
    ("Gemini-1.5-Pro", "race", "S-A"): (6.95, 4.39),
    ("Gemini-1.5-Pro", "race", "S-G"): (5.36, 4.94),
}


def _cells() -> Iterator[tuple[tuple[str, str, str], dict[str, float | None]]]:
    for model, attributes in TABLES["llm"].items():
        for attribute, parts in attributes.items():
            for part, cell in parts.items():
                yield (model, attribute, part), cell


CELLS = dict(_cells())


def _distance(key: tuple[str, str, str]) -> float:
    cell = CELLS[key]
    assert cell["s_fact"] is not None
    assert cell["s_e"] is not None
    return 100 * float(tradeoff_distance(cell["s_fact"] / 100, cell["s_e"] / 100, K[key[1]]))


def test_there_are_sixty_cells() -> None:
    assert len(CELLS) == 60


def test_s_fair_follows_from_s_e_and_s_kld() -> None:
    recomputed = {}
    for key, cell in CELLS.items():
        assert cell["s_e"] is not None, key
        # An S_KLD that is printed as "< 10^-6", of objective queries, is null in the data.
        recomputed[key] = 100 * float(s_fair(cell["s_e"] / 100, (cell["s_kld"] or 0.0) / 100))
    assert recomputed == pytest.approx({key: cell["s_fair"] for key, cell in CELLS.items()}, abs=WITHIN)


def test_distance_follows_from_s_fact_and_s_e() -> None:
    following = CELLS.keys() - EXCEPTIONS.keys()
    printed = {key: CELLS[key]["distance"] for key in following}
    assert {key: _distance(key) for key in following} == pytest.approx(printed, abs=WITHIN)


@pytest.mark.parametrize("key", EXCEPTIONS, ids="-".join)
def test_distances_that_do_not_follow(key: tuple[str, str, str]) -> None:
    printed, defined = EXCEPTIONS[key]
    assert CELLS[key]["distance"] == printed
    assert _distance(key) == pytest.approx(defined, abs=0.006)
    assert abs(printed - defined) > WITHIN


INFLUENCE = {model: row for model, row in TABLES["influence"].items() if model not in ("columns", "each")}


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize("model", INFLUENCE)
def test_the_last_column_of_table_3_is_the_mean_excess_over_chance(model: str, attribute: str) -> None:
    *columns, increase = INFLUENCE[model][["gender", "race"].index(attribute) :: 2]
    chance = 100 / K[attribute]
    excess = [share - chance for share in columns[:4]] + [columns[4] - (100 - chance)]
    assert sum(excess) / 5 == pytest.approx(increase, abs=0.011)


@pytest.mark.parametrize("attribute", ["gender", "race"])
@pytest.mark.parametrize(("short", "model"), list(zip(INFLUENCE, TABLES["llm"], strict=True)))
def test_high_and_low_of_table_3_are_the_two_halves_of_s_fact(short: str, model: str, attribute: str) -> None:
    """The context names the truth, so agreement with it is factuality: one table checks the other."""
    high, low = INFLUENCE[short][["gender", "race"].index(attribute) :: 2][:2]
    printed = CELLS[model, attribute, "S-R"]["s_fact"]
    assert (high + low) / 2 == pytest.approx(printed, abs=WITHIN)


@pytest.mark.parametrize("model", TABLES["llm"])
def test_headlines_are_means_of_the_printed_cells(model: str) -> None:
    printed = TABLES["llm"][model]
    rows = headline(_scores(model))
    facts = {attribute: printed[attribute]["O"]["s_fact"] for attribute in K}
    fairs = {
        attribute: sum(printed[attribute][part]["s_fair"] for part in ("S-B", "S-R", "S-A", "S-G")) / 4
        for attribute in K
    }
    for row, attribute in zip(rows, K, strict=False):
        expected = (facts[attribute], fairs[attribute], (facts[attribute] + fairs[attribute]) / 2)
        assert (row.fact, row.fair, row.average) == pytest.approx(expected)
    fact, fair = sum(facts.values()) / 2, sum(fairs.values()) / 2
    assert rows[2].attribute is None
    assert (rows[2].fact, rows[2].fair, rows[2].average) == pytest.approx((fact, fair, (fact + fair) / 2))


def _scores(model: str) -> Iterator[Score]:
    for (name, attribute, part), cell in CELLS.items():
        if name == model:
            score_part, context = ("objective", None) if part == "O" else ("subjective", part)
            for metric in ("s_fact", "s_fair"):
                yield Score(model, "paper", score_part, context, attribute, metric, cell[metric], n=0)
