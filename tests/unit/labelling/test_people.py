"""Majorities and Fleiss' kappa."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Attribute
from pytest_factorfair.labelling.people import fleiss_kappa, majority, majority_labels
from pytest_factorfair.labelling.sheet import LabelledFace, Spot

GENDER = Attribute("gender", ("Male", "Female"), {}, {})

# Fleiss (1971) as worked through on Wikipedia: 14 raters, 10 subjects, 5 categories; kappa .210.
WORKED = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("Male", "Male", "Female"), "Male"),
        (("Male", "Female", "unclear"), "tied"),
        (("Male", "Female"), "tied"),
        (("unclear", "unclear", "Male"), "unclear"),
        (("no face", "no face", None), "no face"),
        (("Male", None, None), "Male"),
        (("Male", "Male", "Female", "Female"), "tied"),
        ((None, None, None), None),
    ],
)
def test_a_majority_is_more_than_half_of_those_who_answered(
    labels: tuple[str | None, ...], expected: str | None
) -> None:
    assert majority(labels) == expected


def test_kappa_of_the_worked_example() -> None:
    rows = [[name for name, count in zip("abcde", row, strict=True) for _ in range(count)] for row in WORKED]
    assert fleiss_kappa(rows, "abcde") == pytest.approx(0.20993, abs=1e-5)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "a"), ("b", "b")], 1.0),
        ([("a", "b"), ("b", "a")], -1.0),
        ([("a", "a"), ("a", "a")], None),
        ([("a",), ("b",)], None),
        ([], None),
    ],
)
def test_kappa_at_its_ends_and_where_there_is_none(
    rows: list[tuple[str, ...]], expected: float | None
) -> None:
    assert fleiss_kappa(rows, ("a", "b")) == expected


def test_every_face_is_counted_once() -> None:
    rows = [
        ("Male", "Male", "Male"), ("Female", "Female", "Male"), ("unclear", "unclear", "Male"), ("Male", "Female", "no face"),
        ("no face", "no face", "no face"), (None, None, None), ("Female", None, None),
    ]  # fmt: skip
    labels = majority_labels([LabelledFace(Spot("a"), {"gender": row}) for row in rows], GENDER)
    assert labels.majorities == ("Male", "Female", "unclear", "tied", "no face", None, "Female")
    assert (labels.count("Male", "Female"), labels.count("unclear"), labels.count("tied"), labels.count("no face"), labels.count(None)) == (
        3, 1, 1, 1, 1,
    )  # fmt: skip
    assert (labels.annotators, labels.rated) == (3, 5)
