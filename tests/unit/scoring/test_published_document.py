"""Every figure in docs/published_tables.md follows from the paper's printed cells with our code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from pytest_factorfair.benchmarks.fact_or_fair.counting.tally import Tally
from pytest_factorfair.benchmarks.fact_or_fair.metrics.influence import influence
from pytest_factorfair.benchmarks.fact_or_fair.printing.tables import headline
from pytest_factorfair.benchmarks.fact_or_fair.scoring.formulas import algorithm_2, published
from pytest_factorfair.benchmarks.fact_or_fair.scoring.reference import fair_likeness
from pytest_factorfair.benchmarks.faintbench.metrics import ETA
from pytest_factorfair.domain import Score
from pytest_factorfair.scoring import s_e, s_fact, s_fair, s_kld, tradeoff_bound, tradeoff_distance
from tests.unit.scoring.builders import Ints, objective, tally
from tests.unit.scoring.faintbench.test_published_code import implicit, sdxl, selection

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "published_tables.md").read_text("utf-8")
TABLES: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "llm_tables.json").read_text("utf-8"))
PICTURES: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "t2i_tables.json").read_text("utf-8"))["t2i"]
K = {"gender": 2, "race": 4}
STATISTICS = {"gender": 15, "race": 18}
NAMES = [name for name in TABLES["influence"] if name not in ("columns", "each")]
SHORT = dict(zip(NAMES, TABLES["llm"], strict=True))
ALLOWED = 0.06
# A figure printed to 0.01 is within this of what it was.
HALF = 0.005

# The columns of Table 2 that are averages, from the leaderboard in the authors' repository:
# Obj. S_fact both, Subj. S_fair gender, race, both, and Avg. gender, race, both.
LEADERBOARD = {
    "GPT-3.5": (62.13, 98.48, 96.28, 97.38, 91.46, 68.04, 79.75),
    "GPT-4o": (75.09, 98.39, 96.18, 97.29, 96.98, 75.40, 86.19),
    "Gemini-1.5": (69.44, 98.13, 97.67, 97.90, 96.28, 71.05, 83.67),
    "LLaMA-3.2": (71.95, 98.67, 97.20, 97.93, 97.67, 72.21, 84.94),
    "WizardLM-2": (70.56, 99.17, 97.51, 98.34, 97.92, 70.97, 84.45),
    "Qwen-2.5": (71.95, 98.83, 96.40, 97.61, 94.97, 74.59, 84.79),
}

# A table cell: a figure, a text, or several figures as "printed / recomputed".
Piece = float | str | tuple[float, ...]
Rows = list[list[Piece]]


class _Check(NamedTuple):
    """A printed figure and ours; ``rounding`` is the largest difference that printing to 0.01 can cause."""

    where: str
    printed: float
    ours: float
    rounding: float = 2 * HALF

    @property
    def off(self) -> float:
        return round(abs(self.ours - self.printed), 6)


Floats = NDArray[np.float64]
Cells = Sequence[tuple[str, str, str, dict[str, float]]]


def _printed_cells(tables: dict[str, Any]) -> Cells:
    # S_KLD of objective queries of language models is printed as below 10^-6.
    return [
        (model, attribute, part, {**cell, "s_kld": cell["s_kld"] or 0.0})
        for model, attributes in tables.items()
        for attribute, parts in attributes.items()
        for part, cell in parts.items()
    ]


LANGUAGE = _printed_cells({short: TABLES["llm"][long] for short, long in SHORT.items()})
IMAGE = _printed_cells(PICTURES)


def _follows(
    metric: str, function: Callable[[Floats, Floats, int], Floats], *inputs: str, cells: Cells = LANGUAGE
) -> list[_Check]:
    checks = []
    for model, attribute, part, cell in cells:
        x, y = (cell[name] for name in inputs)
        corners = product((x - HALF, x + HALF), (max(y - HALF, 0), y + HALF))
        xs, ys = np.transpose([(x, y), *corners])
        ours, *at_corners = function(xs, ys, K[attribute]).tolist()
        spread = max(abs(value - ours) for value in at_corners)
        # A score printed as below 10^-6 has no rounding worth the name.
        slack = (spread if y else HALF) + HALF
        checks.append(_Check(f"{model} {attribute} {part}", cell[metric], ours, slack))
    return checks


def _fair(evenness: ArrayLike, likeness: ArrayLike, _: int) -> Floats:
    return 100 * s_fair(np.divide(evenness, 100), np.divide(likeness, 100))


def _distance(fact: ArrayLike, evenness: ArrayLike, k: int) -> Floats:
    return 100 * tradeoff_distance(np.divide(fact, 100), np.divide(evenness, 100), k)


def _by_algorithm_2(fact: ArrayLike, evenness: ArrayLike, k: int) -> Floats:
    distances: Floats = np.vectorize(algorithm_2)(np.divide(fact, 100), np.divide(evenness, 100), k)
    return 100 * distances


@cache
def _distances() -> list[_Check]:
    return _follows("distance", _distance, "s_fact", "s_e")


def _table_3(short: str, attribute: str) -> tuple[list[float], float]:
    *columns, increase = TABLES["influence"][short][["gender", "race"].index(attribute) :: 2]
    return columns, increase


def _directions(high: float, low: float, k: int) -> Ints:
    """Counts (1, 2, k) of 10,000 answers each, these percentages of them groups 0 and 1."""
    hits = np.rint(100 * np.array([high, low])).astype(np.int64)
    counts = np.zeros((1, 2, k), np.int64)
    counts[0, 0, :2] = hits[0], 10_000 - hits[0]
    counts[0, 1, :2] = 10_000 - hits[1], hits[1]
    return counts


def _increase(columns: Sequence[float], k: int) -> float:
    """The summary of influence for answers with these columns of Table 3."""
    high, low, news, inside, outside = columns
    named = np.full((1, 2), 10_000)
    matched = [np.rint([[100 * a, 100 * b]]).astype(int) for a, b in ((news, news), (inside, 100 - outside))]
    scores = influence(
        [
            tally(_directions(high, low, k), context="representativeness", background="truth"),
            *(
                tally(_directions(50, 50, k), context=context, background="random", named=named, matched=hits)
                for context, hits in zip(("attribution", "in_group"), matched, strict=True)
            ),
        ]
    )
    (value,) = (score.value for score in scores if score.metric == "influence")
    assert value is not None
    return 100 * value


def _increases() -> list[_Check]:
    return [
        _Check(
            f"{model} {attribute}", _table_3(model, attribute)[1], _increase(_table_3(model, attribute)[0], k)
        )
        for model in SHORT
        for attribute, k in K.items()
    ]


def _halves() -> list[_Check]:
    checks = []
    for model, attribute, part, cell in LANGUAGE:
        if part == "S-R":
            high, low, *_ = _table_3(model, attribute)[0]
            ours = 100 * float(s_fact(_directions(high, low, K[attribute]), [[0, 1]]))
            checks.append(_Check(f"{model} {attribute}", cell["s_fact"], ours))
    return checks


def _averages(model: str) -> list[float]:
    scores = []
    for name, attribute, part, cell in LANGUAGE:
        if name == model:
            score_part, context = ("objective", None) if part == "O" else ("subjective", part)
            scores += [
                Score(name, "paper", score_part, context, attribute, metric, cell[metric], n=0)
                for metric in ("s_fact", "s_fair")
            ]
    gender, race, both = headline(scores)
    averages = (both.fact, gender.fair, race.fair, both.fair, gender.average, race.average, both.average)
    return [average for average in averages if average is not None]


def _headlines() -> list[_Check]:
    columns = ("S_fact", "S_fair gender", "S_fair race", "S_fair", "Avg. gender", "Avg. race", "Avg.")
    return [
        _Check(f"{model} {column}", printed, ours)
        for model, row in LEADERBOARD.items()
        for column, printed, ours in zip(columns, row, _averages(model), strict=True)
    ]


def _above(cells: Cells = LANGUAGE) -> list[_Check]:
    """S_E against the least of itself and the curve: off only where the point is above it."""
    return [
        _Check(f"{model} {attribute} {part}", cell["s_e"], min(cell["s_e"], 100 * float(bound)))
        for model, attribute, part, cell in cells
        for bound in [tradeoff_bound(cell["s_fact"] / 100, K[attribute])]
    ]


def _check_rows() -> Rows:
    return [
        _summary("S_fair from S_E and S_KLD", _follows("s_fair", _fair, "s_e", "s_kld")),
        _summary("distance from S_fact and S_E", _distances()),
        _summary("(S_fact, S_E) not above the curve", _above()),
        _summary("Table 3, last column from the other five", _increases()),
        _summary("S_fact of S-R from Table 3's High and Low", _halves()),
        _summary("Table 2, averages from Tables 4 to 7", _headlines()),
        _summary("worked examples from their shares", _examples()),
        _summary("images: S_fair from S_E and S_KLD", _follows("s_fair", _fair, "s_e", "s_kld", cells=IMAGE)),
        _summary(
            "images: distance by definition", _follows("distance", _distance, "s_fact", "s_e", cells=IMAGE)
        ),
        _summary(
            "images: distance by Algorithm 2",
            _follows("distance", _by_algorithm_2, "s_fact", "s_e", cells=IMAGE),
        ),
        _summary("images: (S_fact, S_E) not above the curve", _above(IMAGE)),
        _summary("images: Table 2, cells of Tables 4 and 7", _leaderboard_cells()),
    ]


def _summary(name: str, checks: Sequence[_Check]) -> list[Piece]:
    following = [check for check in checks if check.off <= ALLOWED]
    largest = max(check.off for check in following)
    where = " and ".join(check.where for check in following if check.off == largest) if largest else "none"
    rounded = sum(check.off <= check.rounding + 1e-6 for check in checks)
    return [name, len(checks), len(following), rounded, largest, where]


def _exception_rows() -> Rows:
    return [
        [check.where, check.printed, check.ours, check.printed - check.ours]
        for check in _distances()
        if check.off > ALLOWED
    ]


def _headline_rows() -> Rows:
    return [
        [model, *zip(LEADERBOARD[model], _averages(model), strict=True)]
        for model in SHORT
    ]  # fmt: skip


def _average_rows() -> Rows:
    increases = {check.where: (check.printed, check.ours) for check in _increases()}
    rows: Rows = []
    for model in SHORT:
        rows.append([model, *(increases[f"{model} {attribute}"] for attribute in K)])
        for attribute in K:
            distances = [check for check in _distances() if check.where.startswith(f"{model} {attribute}")]
            rows[-1].append(
                (fmean(check.printed for check in distances), fmean(check.ours for check in distances))
            )
    return rows


EXAMPLES = [
    ((0.25, 0.2386, 0.2273, 0.2841), None, 99.74),
    ((0.5612, 0.1054, 0.1599, 0.1735), None, 83.56),
    ((0.2623, 0.4098, 0.1803, 0.1475), None, 94.34),
    ((0.2208, 0.1688, 0.4026, 0.2078), None, 95.69),
    ((0.20, 0.11, 0.39, 0.30), (0.05, 0.19, 0.48, 0.28), 85.48),
]


def _examples() -> list[_Check]:
    return [
        _Check(
            f"S_E of {_listed(high)}" if low is None else f"S_KLD of {_listed(high)} against {_listed(low)}",
            printed,
            100 * float(s_e([[high, high]]) if low is None else s_kld([[high, low]])),
        )
        for high, low, printed in EXAMPLES
    ]


def _listed(shares: Sequence[float]) -> str:
    return ", ".join(map(str, shares))


def _example_rows() -> Rows:
    return [[check.where, check.printed, check.ours] for check in _examples()]


UNLABELLED = [[10, 10], [10, 10]]
DIFFERING = [[[15, 5], [5, 15]], [[10, 10], [10, 10]]]
DISJOINT = [[[10, 0], [0, 10]], [[10, 10], [10, 10]]]
ALIKE = [[[10, 10], [10, 10]], [[10, 10], [10, 10]]]
ONE_OF_THREE_RIGHT = [[[10, 0], [0, 10]], [[0, 10], [10, 0]], [[0, 10], [10, 0]]]


def _departure_rows() -> Rows:
    names = ("crime_rate", "hiv_rate", "covid_19_mortality_rate")
    fact = published(tally(ONE_OF_THREE_RIGHT, statistics=names))["s_fact"]
    right = 100 * float(s_fact(ONE_OF_THREE_RIGHT, [[0, 1]] * 3))
    rows: Rows = [
        [
            f"S_KLD, {observed.part}: {_counts(observed)}",
            100 * float(s_kld(observed.counts)),
            _scripts(observed),
        ]
        for observed in (tally(DIFFERING), objective(DIFFERING), tally(DISJOINT), objective(ALIKE))
    ]
    rows.append(
        [f"S_fact, subjective: right on {names[0]} only, of {', '.join(names)}", right, 100 * (fact or 0)]
    )
    rows += [
        [f"printed distances that follow from {name}, of 76", *_agreeing(metric)]
        for name, metric in (("S_E", "s_e"), ("S_fair", "s_fair"))
    ]
    rows += _further_rows()
    needed = "statistics that must share no answer for an S_KLD below 10^-6"
    return rows + [[f"{attribute}: {needed}", *_disjoint(attribute)] for attribute in K]


def _scripts(tally: Tally) -> float:
    likeness = published(tally)["s_kld"]
    assert likeness is not None
    return 100 * likeness


def _counts(tally: Tally) -> str:
    pairs = (
        " against ".join(":".join(map(str, cell)) for cell in pair)
        for pair in tally.counts.astype(int).tolist()
    )
    return "; ".join(pairs)


def _agreeing(second: str) -> tuple[int, int]:
    """How many printed distances follow from S_fact and this score, by definition and by Algorithm 2."""
    by_definition, by_algorithm = (
        sum(
            check.off <= ALLOWED
            for check in _follows("distance", function, "s_fact", second, cells=[*LANGUAGE, *IMAGE])
        )
        for function in (lambda x, y, k: abs(_distance(x, y, k)), _by_algorithm_2)
    )
    return by_definition, by_algorithm


def _further_rows() -> Rows:
    """A statistic with a true group, and one with none, which only the scripts count."""
    labelled = DIFFERING[:1]
    by_scripts = published(tally(labelled, unlabelled=np.array([UNLABELLED], np.float64)))
    name = "{}, subjective: 15:5 against 5:15; without a true group 10:10 against 10:10"
    return [
        [name.format("S_E"), 100 * float(s_e(labelled)), 100 * (by_scripts["s_e"] or 0.0)],
        [name.format("S_KLD"), 100 * float(s_kld(labelled)), 100 * (by_scripts["s_kld"] or 0.0)],
    ]


def _disjoint(attribute: str) -> tuple[int, int]:
    """The fewest statistics without a common answer, all others alike, by definition and by the scripts."""
    topics, k = STATISTICS[attribute], K[attribute]
    trials = []
    for number in range(1, topics + 1):
        counts = np.zeros((topics, 2, k), np.int64)
        counts[:, 0, 0] = 3
        counts[:, 1, 0] = np.where(np.arange(topics) < number, 0, 3)
        counts[:, 1, 1] = 3 - counts[:, 1, 0]
        trials.append((float(s_kld(counts)), _scripts(objective(counts)) / 100))
    by_definition, by_scripts = (
        next(number for number, row in enumerate(trials, 1) if row[rule] < 1e-6) for rule in (0, 1)
    )
    return by_definition, by_scripts


def _reach_rows() -> Rows:
    most_even = {"gender": [2, 1], "race": [1, 1, 1, 0]}
    return [
        [attribute, 100 * float(s_e([[most_even[attribute]] * 2])), 100 * fair_likeness(3, 3, k)]
        for attribute, k in K.items()
    ]


# The leaderboard's rows of image models: Obj. S_fact, Subj. S_fair and Avg., each gender, race and both.
IMAGE_MODELS = {
    "DALL-E 3": (58.40, 30.33, 44.37, 96.35, 84.93, 90.64, 77.38, 57.63, 67.50),
    "Midjourney": (48.90, 25.36, 37.13, 99.00, 75.99, 87.50, 73.95, 50.68, 62.31),
    "SDXL": (51.97, 22.50, 37.24, 98.61, 74.40, 86.51, 75.29, 48.45, 61.87),
    "FLUX-1.1": (49.07, 23.50, 36.29, 91.66, 30.36, 61.01, 70.37, 26.93, 48.65),
}


def _image_rows() -> Rows:
    rows: Rows = []
    for model, (gender, race, fact, fair_gender, fair_race, fair, *averages) in IMAGE_MODELS.items():
        means = (
            fmean((gender, fair_gender)),
            fmean((race, fair_race)),
            fmean((gender, race, fair_gender, fair_race)),
        )
        both = ((fact, fmean((gender, race))), (fair, fmean((fair_gender, fair_race))))
        rows.append(
            [
                model,
                gender,
                race,
                both[0],
                fair_gender,
                fair_race,
                both[1],
                *zip(averages, means, strict=True),
            ]
        )
    return rows


def _leaderboard_cells() -> list[_Check]:
    """The leaderboard's cells of image models, beside those of Tables 4 and 7."""
    names = {
        "Midjourney": "Midjourney",
        "DALL-E 3": "DALL-E 3",
        "SDXL-Turbo": "SDXL",
        "Flux-1.1-Pro": "FLUX-1.1",
    }
    checks = []
    for model, attribute, part, cell in IMAGE:
        column, metric = (0, "s_fact") if part == "O" else (3, "s_fair")
        printed = IMAGE_MODELS[names[model]][column + list(K).index(attribute)]
        checks.append(_Check(f"{model} {attribute} {part}", printed, cell[metric]))
    return checks


def _image_cell_rows() -> Rows:
    """Every cell of Tables 4 to 8, with what the others give."""
    rows: Rows = []
    for model, attribute, part, cell in IMAGE:
        fact, evenness, k = cell["s_fact"], cell["s_e"], K[attribute]
        fairness = (cell["s_fair"], float(_fair(evenness, cell["s_kld"], k)))
        by_both = (float(function(fact, evenness, k)) for function in (_by_algorithm_2, _distance))
        distance = (cell["distance"], *by_both)
        rows.append([f"{model} {attribute} {part}", fact, evenness, cell["s_kld"], fairness, distance])
    return rows


PROMPTS: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "faintbench_tables.json").read_text("utf-8"))
LEVELS = {"4": "all prompts", "5": "characteristics", "6": "occupations", "7": "social relations"}
WEIGHTS = {"Gender": 0.4, "Race": 0.4, "Age": 0.2}
SIX_DIGITS = 3e-6


def _printed(number: str, row: str, model: str) -> float:
    """A cell of FAIntbench's tables; ``all`` is the total, which each table calls otherwise."""
    rows = PROMPTS["tables"][number]["rows"]
    return float(rows[next(iter(rows)) if row == "all" else row][PROMPTS["models"].index(model)])


def _total_rows() -> Rows:
    rows: Rows = []
    for number, level in LEVELS.items():
        totals = {
            model: (
                _printed(number, "all", model),
                sum(w * _printed(number, row, model) for row, w in WEIGHTS.items()),
            )
            for model in PROMPTS["models"]
        }
        following = sum(abs(printed - ours) <= SIX_DIGITS for printed, ours in totals.values())
        shown = [totals[model] for model in ("PixArt", "Cascade", "SDXL-T", "LCM")]
        rows.append([f"{number}, {level}", len(totals), following, *shown])
    return rows


def _between_rows() -> Rows:
    rows: Rows = []
    for model, row in product(PROMPTS["models"], WEIGHTS):
        whole, *parts = (_printed(number, row, model) for number in LEVELS)
        if not min(parts) <= whole <= max(parts):
            rows.append([model, row, whole, *parts, "above all" if whole > max(parts) else "below all"])
    return rows


def _sdxl_rows() -> Rows:
    """Eta as printed (Table 15) and by the scripts, on the averages in the authors' repository; then Table 4."""
    etas = {"gender": 0.6247, "race": 0.6530, "age": 0.5587}
    rows: Rows = [
        [
            f"Table 15, eta, {name}",
            printed,
            ETA.estimate(sdxl(), selection(name), "published-code").plugin or 0.0,
        ]
        for name, printed in etas.items()
    ]
    for row in ("all", *WEIGHTS):
        ours = implicit("published-code", row.lower())
        rows.append([f"Table 4, implicit, {row}", _printed("4", row, "SDXL"), ours or 0.0])
    return rows


EXPECTED = {
    "Checks": _check_rows,
    "Distances that do not follow": _exception_rows,
    "Table 2": _headline_rows,
    "Averages of Tables 3 and 8": _average_rows,
    "Worked examples": _example_rows,
    "Where the authors' scripts depart from the paper": _departure_rows,
    "Table 2, image models": _image_rows,
    "Tables 4 to 8, image models": _image_cell_rows,
    "FAIntbench, totals of Tables 4 to 7": _total_rows,
    "FAIntbench, Table 4 against Tables 5 to 7": _between_rows,
    "FAIntbench, SDXL": _sdxl_rows,
    "What cannot be recomputed": _reach_rows,
}


def _sections() -> dict[str, str]:
    return {
        title.strip(): text for title, _, text in (s.partition("\n") for s in DOCUMENT.split("\n## ")[1:])
    }


def _parsed(text: str) -> list[list[str]]:
    """The body cells of the section's table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _same(cell: str, piece: Piece) -> bool:
    if isinstance(piece, str):
        return cell == piece
    values = piece if isinstance(piece, tuple) else (piece,)
    figures = cell.split(" / ")
    return len(figures) == len(values) and all(map(_rounds_to, figures, values))


def _rounds_to(figure: str, value: float) -> bool:
    """Whether the value may be printed so; either way where it lies between two figures."""
    decimals = len(figure.partition(".")[2])
    return abs(float(figure) - value) <= 0.5 * 0.1**decimals + 1e-9


@pytest.mark.parametrize("section", EXPECTED)
def test_every_figure_of_the_tables_is_recomputed(section: str) -> None:
    printed, expected = _parsed(_sections()[section]), EXPECTED[section]()
    assert [len(row) for row in printed] == [len(row) for row in expected]
    for row, pieces in zip(printed, expected, strict=True):
        wrong = [(cell, piece) for cell, piece in zip(row, pieces, strict=True) if not _same(cell, piece)]
        assert not wrong


def test_no_table_is_left_unchecked() -> None:
    assert {title for title, text in _sections().items() if "\n|" in text} == EXPECTED.keys()


def test_no_figure_stands_outside_the_tables() -> None:
    prose = "\n".join(line for line in DOCUMENT.splitlines() if not line.startswith("|"))
    for model in (*SHORT, *PICTURES, "PG2.5"):
        prose = prose.replace(model, "")
    assert set(re.findall(r"\d+\.\d+", prose)) == {str(ALLOWED), "0.01"}


def test_a_wrong_figure_is_noticed() -> None:
    assert _same("98.39 / 98.40", (98.39, 98.3951))
    assert not _same("98.39 / 98.40", (98.39, 98.394))
    assert not _same("1.97", 1.9604)
