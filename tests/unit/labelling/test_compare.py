"""Detections held against the majority: the same faces, nothing left out unsaid."""

from __future__ import annotations

import pytest

from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.labelling.compare import accuracy, confusion, match, overlap
from pytest_factorfair.labelling.people import opinion
from pytest_factorfair.labelling.sheet import Box, Labelled, Spot

GENDER = Attribute("gender", ("Male", "Female"), {}, {})
HERE: Box = (10, 10, 40, 40)


def face(group: str | None, box: Box = HERE) -> Face:
    return Face({} if group is None else {"gender": group}, {}, box)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ((10, 10, 40, 40), 1.0),
        ((30, 10, 40, 40), 20 * 40 / (2 * 1600 - 800)),
        ((10, 50, 40, 40), 0.0),
        ((20, 20, 10, 10), 100 / 1600),
    ],
)
def test_overlap_is_shared_area_over_all(other: Box, expected: float) -> None:
    assert overlap(HERE, other) == pytest.approx(expected)
    assert overlap(other, HERE) == pytest.approx(expected)


def test_the_face_that_is_meant() -> None:
    left, right = face("Male", (0, 0, 50, 50)), face("Female", (100, 0, 60, 60))
    both = Detection((left, right))
    assert match(Spot("a", 2, (98, 2, 60, 60)), both) is right
    assert match(Spot("a", 1, (5, 5, 50, 50)), both) is left
    assert match(Spot("a", 3, (300, 0, 50, 50)), both) is None
    assert match(Spot("a"), both) is right
    assert match(Spot("a"), Detection()) is None


def test_the_table_counts_what_people_agree_on() -> None:
    """Rows Male, Female, no face; columns the same, the last for faces not found and groups not told."""
    seen = [
        ("Male", face("Male")), ("Male", face("Male")), ("Male", face("Female")), ("Male", None),
        ("Female", face("Female")), ("Female", face(None)), ("Female", face("Female", (200, 200, 9, 9))),
        ("no face", face("Male")), ("no face", None), ("unclear", face("Male")), (None, face("Male")),
    ]  # fmt: skip
    faces = [
        Labelled(Spot(f"{place}", 1, HERE), {"gender": (label,)}) for place, (label, _) in enumerate(seen)
    ]
    detections = [Detection((found,) if found else ()) for _, found in seen]
    table = confusion(opinion(faces, GENDER), [one.spot for one in faces], detections)
    assert table.counts.tolist() == [[2, 1, 1], [0, 1, 2], [1, 0, 1]]
    # Wilson's interval of 3 in 7, from the formula by hand.
    found = accuracy(table)
    assert found is not None
    assert (found.value, found.low, found.high, found.n) == pytest.approx(
        (3 / 7, 0.15822, 0.74954, 7), abs=1e-4
    )


def test_nothing_agreed_is_no_accuracy() -> None:
    faces = [Labelled(Spot("a", 1, HERE), {"gender": ("no face",)})]
    table = confusion(opinion(faces, GENDER), [faces[0].spot], [Detection()])
    assert accuracy(table) is None
