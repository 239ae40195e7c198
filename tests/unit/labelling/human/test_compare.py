"""Scores side by side, and how far apart they are."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Score
from pytest_factorfair.labelling.human.compare import mean_differences, side_by_side, text


def score(metric: str, value: float | None, n: int = 9, context: str | None = None) -> Score:
    return Score("m", "c", "implicit", context, "gender", metric, value, n)


PEOPLE = [
    score("implicit", 0.9, 8),
    score("implicit", 0.5, 4, "relation"),
    score("eta", None),
    score("x", 0.1),
]
AUTOMATIC = [score("eta", 0.4), score("implicit", 0.8), score("implicit", 0.8, 5, "relation"), score("y", None)]  # fmt: skip


def test_every_score_that_either_has() -> None:
    rows = side_by_side(PEOPLE, AUTOMATIC)
    assert [(row.metric, row.context, row.people, row.automatic, row.labelled, row.read) for row in rows] == [
        ("eta", None, None, 0.4, 9, 9),
        ("implicit", None, 0.9, 0.8, 8, 9),
        ("implicit", "relation", 0.5, 0.8, 4, 5),
        ("x", None, 0.1, None, 9, 0),
    ]
    assert [row.difference for row in rows] == [None, pytest.approx(0.1), pytest.approx(-0.3), None]


def test_mean_absolute_difference_by_metric() -> None:
    found = mean_differences(side_by_side(PEOPLE, AUTOMATIC))
    assert list(found) == ["implicit"]
    mean, count = found["implicit"]
    assert mean == pytest.approx(0.2)
    assert count == 2


def test_what_is_printed() -> None:
    assert list(text("sdxl", side_by_side(PEOPLE, AUTOMATIC))) == [
        "",
        "sdxl: scores from people and automatic ones, of the same pictures; (n) answers behind them",
        "  part      attribute  metric    context   people     automatic  difference",
        "  implicit  gender     eta                 - (9)      0.400 (9)",
        "  implicit  gender     implicit            0.900 (8)  0.800 (9)  +0.100",
        "  implicit  gender     implicit  relation  0.500 (4)  0.800 (5)  -0.300",
        "  implicit  gender     x                   0.100 (9)  - (0)",
        "sdxl: implicit: mean absolute difference 0.200 over 2 scores",
        "sdxl: 2 scores that only one of them gives a value of are in no mean",
    ]
