"""Comparing people's labels with a detector: face by face, and by scores."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Attribute, Detection, Face, Score
from pytest_factorfair.labelling.compare import (
    accuracy,
    confusion,
    match,
    mean_differences,
    overlap,
    scores_text,
    side_by_side,
)
from pytest_factorfair.labelling.people import majority_labels
from pytest_factorfair.labelling.sheet import Box, LabelledFace, Spot

GENDER = Attribute("gender", ("Male", "Female"), {}, {})
HERE: Box = (10, 10, 40, 40)


def face(group: str | None, box: Box = HERE) -> Face:
    return Face({} if group is None else {"gender": group}, {}, box)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((10, 10, 40, 40), 1.0),
        ((30, 10, 40, 40), 20 * 40 / (2 * 1600 - 800)),
        ((10, 50, 40, 40), 0.0),
        ((20, 20, 10, 10), 100 / 1600),
    ],
)
def test_overlap_is_shared_area_over_all(box: Box, expected: float) -> None:
    assert overlap(HERE, box) == pytest.approx(expected)
    assert overlap(box, HERE) == pytest.approx(expected)


def test_a_labelled_face_is_matched_to_a_detected_one() -> None:
    left_face, right_face = face("Male", (0, 0, 50, 50)), face("Female", (100, 0, 60, 60))
    both = Detection((left_face, right_face))
    assert match(Spot("a", 2, (98, 2, 60, 60)), both) is right_face
    assert match(Spot("a", 1, (5, 5, 50, 50)), both) is left_face
    assert match(Spot("a", 3, (300, 0, 50, 50)), both) is None
    assert match(Spot("a"), both) is right_face
    assert match(Spot("a"), Detection()) is None


def test_the_table_counts_what_people_agree_on() -> None:
    """The table counts faces with a majority: rows Male, Female, no face; the last column is for no group."""
    seen = [
        ("Male", face("Male")), ("Male", face("Male")), ("Male", face("Female")), ("Male", None),
        ("Female", face("Female")), ("Female", face(None)), ("Female", face("Female", (200, 200, 9, 9))),
        ("no face", face("Male")), ("no face", None), ("unclear", face("Male")), (None, face("Male")),
    ]  # fmt: skip
    faces = [
        LabelledFace(Spot(f"{number}", 1, HERE), {"gender": (label,)})
        for number, (label, _) in enumerate(seen)
    ]
    detections = [Detection((shown,) if shown else ()) for _, shown in seen]
    table = confusion(majority_labels(faces, GENDER), [face.spot for face in faces], detections)
    assert table.counts.tolist() == [[2, 1, 1], [0, 1, 2], [1, 0, 1]]
    # Wilson's interval of 3 in 7, from the formula by hand.
    measured = accuracy(table)
    assert measured is not None
    assert (measured.value, measured.low, measured.high, measured.n) == pytest.approx(
        (3 / 7, 0.15822, 0.74954, 7), abs=1e-4
    )


def test_without_majorities_there_is_no_accuracy() -> None:
    faces = [LabelledFace(Spot("a", 1, HERE), {"gender": ("no face",)})]
    table = confusion(majority_labels(faces, GENDER), [faces[0].spot], [Detection()])
    assert accuracy(table) is None


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
    differences = mean_differences(side_by_side(PEOPLE, AUTOMATIC))
    assert list(differences) == ["implicit"]
    mean, count = differences["implicit"]
    assert mean == pytest.approx(0.2)
    assert count == 2


def test_the_comparison_is_printed() -> None:
    assert list(scores_text("sdxl", side_by_side(PEOPLE, AUTOMATIC))) == [
        "",
        "sdxl: scores from people's and from the detector's labels of the same pictures; (n) answers",
        "  part      attribute  metric    context   people     automatic  difference",
        "  implicit  gender     eta                 - (9)      0.400 (9)",
        "  implicit  gender     implicit            0.900 (8)  0.800 (9)  +0.100",
        "  implicit  gender     implicit  relation  0.500 (4)  0.800 (5)  -0.300",
        "  implicit  gender     x                   0.100 (9)  - (0)",
        "sdxl: implicit: mean absolute difference 0.200 over 2 scores",
        "sdxl: 2 scores with only one of the two values, left out of the means",
    ]
