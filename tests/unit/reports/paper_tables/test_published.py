"""Tables exported from the published language-model figures are the paper's, to the digit."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pytest_factorfair.domain import Score
from pytest_factorfair.drawing.entries import entries
from pytest_factorfair.drawing.table import Table
from pytest_factorfair.reports.papers import WRITERS, paper_tables
from pytest_factorfair.scoring import s_fair, tradeoff_distance
from tests.unit.reports.paper_tables.builders import summary

Cells: TypeAlias = dict[tuple[str, str], str]
"""By model and heading."""

TABLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "data" / "llm_tables.json").read_text("utf-8")
)
MODELS = tuple(TABLES["llm"])
K = {"gender": 2, "race": 4}
CONTEXTS = {"S-B": "base", "S-R": "representativeness", "S-A": "attribution", "S-G": "in_group"}
INFLUENCES = (
    ("representativeness", "influence_high"),
    ("representativeness", "influence_low"),
    ("attribution", "influence_attribution"),
    ("in_group", "influence_in_group"),
    ("in_group", "influence_out_group"),
    (None, "influence"),
)

# Table 2's averages, from the leaderboard in the authors' repository, in the order of MODELS: Obj. S_fact
# both, Subj. S_fair gender, race, both, and Avg. gender, race, both.
LEADERBOARD = (
    (62.13, 98.48, 96.28, 97.38, 91.46, 68.04, 79.75),
    (75.09, 98.39, 96.18, 97.29, 96.98, 75.40, 86.19),
    (69.44, 98.13, 97.67, 97.90, 96.28, 71.05, 83.67),
    (71.95, 98.67, 97.20, 97.93, 97.67, 72.21, 84.94),
    (70.56, 99.17, 97.51, 98.34, 97.92, 70.97, 84.45),
    (71.95, 98.83, 96.40, 97.61, 94.97, 74.59, 84.79),
)

# Means of cells printed to 0.01 that come out a hundredth off; as printed, and as exported.
OF_ROUNDED_CELLS = {
    ("GPT-3.5-Turbo-0125", "Obj. S_fact Avg."): ("62.13", "62.12"),
    ("GPT-3.5-Turbo-0125", "Subj. S_fair gender"): ("98.48", "98.47"),
    ("GPT-4o-2024-08-06", "Subj. S_fair Avg."): ("97.29", "97.28"),
    ("Gemini-1.5-Pro", "Subj. S_fair gender"): ("98.13", "98.12"),
    ("Gemini-1.5-Pro", "Subj. S_fair Avg."): ("97.90", "97.89"),
    ("WizardLM-2-8x22B", "Subj. S_fair race"): ("97.51", "97.50"),
    ("WizardLM-2-8x22B", "Subj. S_fair Avg."): ("98.34", "98.33"),
    ("WizardLM-2-8x22B", "Avg. Avg."): ("84.45", "84.44"),
    ("Qwen-2.5-72B-Instruct", "Avg. Avg."): ("84.79", "84.78"),
}

# Distances that do not follow from S_fact and S_E (docs/published_tables.md), all of one model: as printed, and
# by definition. The last is within the paper's usual slack, but further off than rounding explains.
MISPRINTS = {
    ("Gemini-1.5-Pro", "S-B gender"): ("3.55", "1.96"),
    ("Gemini-1.5-Pro", "S-R gender"): ("5.99", "6.75"),
    ("Gemini-1.5-Pro", "S-G gender"): ("1.74", "1.82"),
    ("Gemini-1.5-Pro", "S-B race"): ("6.66", "4.20"),
    ("Gemini-1.5-Pro", "S-R race"): ("7.53", "6.66"),
    ("Gemini-1.5-Pro", "S-A race"): ("6.95", "4.39"),
    ("Gemini-1.5-Pro", "S-G race"): ("5.36", "4.94"),
    ("Gemini-1.5-Pro", "S-A gender"): ("1.70", "1.74"),
}

# What follows from cells printed to 0.01 a hundredth off.
ROUNDED = {
    "s-fair": {
        ("LLaMA-3.2-90B-Vision-Instruct", "S-R gender"): ("94.78", "94.77"),
        ("WizardLM-2-8x22B", "S-R race"): ("93.80", "93.81"),
        ("Qwen-2.5-72B-Instruct", "S-R gender"): ("95.52", "95.53"),
    },
    "distance": {
        ("GPT-4o-2024-08-06", "O race"): ("42.97", "42.98"),
        ("Gemini-1.5-Pro", "O gender"): ("5.20", "5.21"),
        ("Gemini-1.5-Pro", "O race"): ("51.72", "51.73"),
        ("LLaMA-3.2-90B-Vision-Instruct", "S-B gender"): ("1.37", "1.36"),
        ("LLaMA-3.2-90B-Vision-Instruct", "S-R gender"): ("6.18", "6.19"),
        ("LLaMA-3.2-90B-Vision-Instruct", "S-R race"): ("6.58", "6.59"),
        ("WizardLM-2-8x22B", "O gender"): ("2.14", "2.13"),
        ("WizardLM-2-8x22B", "S-G gender"): ("1.07", "1.08"),
        ("WizardLM-2-8x22B", "O race"): ("49.42", "49.43"),
        ("Qwen-2.5-72B-Instruct", "S-B gender"): ("2.14", "2.13"),
        ("Qwen-2.5-72B-Instruct", "S-B race"): ("5.63", "5.62"),
    },
}


def printed() -> Iterator[Score]:
    """Every printed cell as a score; S_KLD of objective queries, printed as below 10^-6, is 0."""
    for model, attributes in TABLES["llm"].items():
        for attribute, parts in attributes.items():
            for part, cell in parts.items():
                where = "objective" if part == "O" else "subjective"
                for metric, value in cell.items():
                    share = (value or 0.0) / 100
                    yield Score(model, "paper", where, CONTEXTS.get(part), attribute, metric, share, n=0)
    influences = [row for name, row in TABLES["influence"].items() if name not in ("columns", "each")]
    for model, row in zip(MODELS, influences, strict=True):
        for number, (context, metric) in enumerate(INFLUENCES):
            for attribute, value in zip(K, row[2 * number : 2 * number + 2], strict=True):
                yield Score(model, "paper", "subjective", context, attribute, metric, value / 100, n=0)


def exported(scores: Iterator[Score]) -> dict[str, Table]:
    tables = paper_tables("paper", entries({"it": summary(scores)}))
    return {table.name.removeprefix("paper-"): table for table in tables if isinstance(table, Table)}


def unmarked(cell: str) -> str:
    """A figure without the mark of the best or the second best."""
    return re.sub(r"^(?:\*\*|<u>|\\textbf\{|\\underline\{)(.*?)(?:\*\*|</u>|\})$", r"\1", cell)


def from_csv(text: str) -> Cells:
    head, *rows = csv.reader(io.StringIO(text))
    return {(row[0], name): cell for row in rows for name, cell in zip(head[1:], row[1:], strict=True)}


def from_markdown(text: str) -> Cells:
    head, _, *rows = [
        [unmarked(cell.strip().replace("\\", "")) for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    return {(row[0], name): cell for row in rows for name, cell in zip(head[1:], row[1:], strict=True)}


def from_latex(text: str) -> list[list[str]]:
    """The rows of figures: the first cell is the model."""
    body = text.rpartition(r"\midrule")[2].partition(r"\bottomrule")[0]
    rows = [line.removesuffix(r" \\").split(" & ") for line in body.strip().splitlines()]
    return [[row[0].strip("{}"), *map(unmarked, row[1:])] for row in rows]


def paper_cells(metric: str) -> Cells:
    """One of Tables 4 to 8 as printed."""
    return {
        (model, f"{part} {attribute}"): f"{cell[metric] or 0:.2f}"
        for model, attributes in TABLES["llm"].items()
        for attribute, parts in attributes.items()
        for part, cell in parts.items()
    }


def influence_cells() -> Cells:
    columns = [f"{column} {attribute}" for column in TABLES["influence"]["columns"] for attribute in K]
    rows = [row for name, row in TABLES["influence"].items() if name not in ("columns", "each")]
    return {
        (model, column): f"{value:.2f}"
        for model, row in zip(MODELS, rows, strict=True)
        for column, value in zip(columns, row, strict=True)
    }


PAPER = {
    "s-fact": paper_cells("s_fact"),
    "s-fair": paper_cells("s_fair"),
    "s-e": paper_cells("s_e"),
    "s-kld": paper_cells("s_kld"),
    "distance": paper_cells("distance"),
    "influence": influence_cells(),
}


@pytest.mark.parametrize("name", PAPER)
def test_every_printed_cell_is_exported_to_the_digit(name: str) -> None:
    table = exported(printed())[name]
    expected = PAPER[name]
    assert len(expected) in (60, 72)
    for cells in (from_csv(WRITERS["csv"](table)), from_markdown(WRITERS["md"](table))):
        assert {key: cells[key] for key in expected} == expected
    # The paper's order: rows as models are listed, columns by part and then by attribute.
    for model, row in zip(MODELS, from_latex(WRITERS["tex"](table)), strict=True):
        figures = [value for (name, _), value in expected.items() if name == model]
        assert row[0] == model
        assert sorted(row[1 : 1 + len(figures)]) == sorted(figures)


def best(text: str, mark: str) -> set[tuple[str, str]]:
    """The model and the figure of every cell in a mark."""
    marked = set()
    for line in text.splitlines():
        names = [name for name in MODELS if name in line.replace("\\", "")]
        marked |= {(name, figure) for name in names for figure in re.findall(mark, line)}
    return marked


def test_the_best_of_a_column_is_bold_and_the_second_underlined() -> None:
    """Facts are judged by objective queries alone: of judgements, where chance is right, nothing is marked."""
    table = exported(printed())["s-fact"]
    bold = {
        ("LLaMA-3.2-90B-Vision-Instruct", "96.67"),
        ("WizardLM-2-8x22B", "96.67"),
        ("GPT-4o-2024-08-06", "54.62"),
    }
    underlined = {("GPT-4o-2024-08-06", "95.56"), ("Qwen-2.5-72B-Instruct", "52.78")}
    assert best(WRITERS["md"](table), r"\*\*(.*?)\*\*") == bold
    assert best(WRITERS["md"](table), "<u>(.*?)</u>") == underlined
    assert best(WRITERS["tex"](table), r"\\textbf\{(.*?)\}") == bold
    assert best(WRITERS["tex"](table), r"\\underline\{(.*?)\}") == underlined
    assert best(WRITERS["html"](table), "<strong>(.*?)</strong>") == bold
    assert best(WRITERS["html"](table), "<u>(.*?)</u>") == underlined
    assert table.notes[-1].startswith("Bold: the best figure, underlined: the second")


def test_the_least_distance_is_the_best() -> None:
    marked = best(WRITERS["md"](exported(printed())["distance"]), r"\*\*(.*?)\*\*")
    assert {("WizardLM-2-8x22B", "2.14"), ("GPT-3.5-Turbo-0125", "0.82")} <= marked


def test_columns_stand_in_the_papers_order() -> None:
    expected = [f"{part} {attribute}" for part in ("O", *CONTEXTS) for attribute in K]
    assert list(exported(printed())["s-fact"].full_headings[: len(expected)]) == expected


def test_averages_of_table_2_are_the_leaderboards() -> None:
    cells = from_csv(WRITERS["csv"](exported(printed())["headline"]))
    columns = [
        "Obj. S_fact Avg.",
        *(f"Subj. S_fair {heading}" for heading in (*K, "Avg.")),
        *(f"Avg. {heading}" for heading in (*K, "Avg.")),
    ]
    expected = {
        (model, column): f"{value:.2f}"
        for model, row in zip(MODELS, LEADERBOARD, strict=True)
        for column, value in zip(columns, row, strict=True)
    }
    assert differing(expected, cells) == OF_ROUNDED_CELLS
    assert {
        (model, f"Obj. S_fact {name}"): cells[model, f"Obj. S_fact {name}"] for model in MODELS for name in K
    } == {
        (model, f"Obj. S_fact {name}"): PAPER["s-fact"][model, f"O {name}"] for model in MODELS for name in K
    }


def test_what_the_package_works_out_is_the_papers_but_for_its_misprints() -> None:
    """S_fair and the distance from the printed S_fact, S_E and S_KLD, by this package's definitions."""
    tables = exported(derived())
    for name, misprints in (("s-fair", {}), ("distance", MISPRINTS)):
        cells = from_csv(WRITERS["csv"](tables[name]))
        assert differing(PAPER[name], cells) == misprints | ROUNDED[name]
    for differences in ROUNDED.values():
        for as_printed, as_exported in differences.values():
            assert float(as_exported) - float(as_printed) == pytest.approx(0, abs=0.0101)


@pytest.mark.parametrize("attribute", K)
@pytest.mark.parametrize("model", MODELS)
def test_the_average_of_table_8_is_the_mean_of_its_row(model: str, attribute: str) -> None:
    cells = from_csv(WRITERS["csv"](exported(printed())["distance"]))
    row = [float(cells[model, f"{part} {attribute}"]) for part in ("O", *CONTEXTS)]
    assert float(cells[model, f"Avg. {attribute}"]) == pytest.approx(sum(row) / 5, abs=0.00501)


def derived() -> Iterator[Score]:
    """The printed scores, with S_fair and the distance worked out instead."""
    for score in printed():
        siblings = [sibling for sibling in PRINTED if _place(sibling) == _place(score)]
        cell = {sibling.metric: sibling.value or 0.0 for sibling in siblings}
        if score.metric == "s_fair":
            yield replace(score, value=float(s_fair(cell["s_e"], cell["s_kld"])))
        elif score.metric == "distance":
            yield replace(
                score, value=float(tradeoff_distance(cell["s_fact"], cell["s_e"], K[score.attribute]))
            )
        else:
            yield score


def differing(expected: Cells, cells: Cells) -> dict[tuple[str, str], tuple[str, str]]:
    return {key: (text, cells[key]) for key, text in expected.items() if cells[key] != text}


def _place(score: Score) -> tuple[str, str, str | None, str]:
    return score.model, score.part, score.context, score.attribute


PRINTED = tuple(printed())
