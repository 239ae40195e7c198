from __future__ import annotations

import pytest

from pytest_factorfair.detection.votes import each, majority
from pytest_factorfair.domain import Face


def face(gender: str, race: str = "", *, x: float = 0, sure: float = 0.8) -> Face:
    groups = {name: group for name, group in {"gender": gender, "race": race}.items() if group}
    return Face(groups, dict.fromkeys(groups, sure), (x, 10, 20, 30))


def test_every_face_counts() -> None:
    faces = face("Male"), face("Female")
    assert each(faces) == faces


def test_one_vote_for_the_picture() -> None:
    faces = (
        face("Male", "Black", sure=0.9),
        face("Female", "Black", x=50, sure=0.7),
        face("Male", "", x=100, sure=0.5),
    )
    (vote,) = majority(faces)
    assert vote.groups == {"gender": "Male", "race": "Black"}
    assert vote.confidence == {"gender": pytest.approx(0.7), "race": pytest.approx(0.8)}
    assert vote.box == (0, 10, 120, 30)


def test_a_tie_leaves_the_attribute_out() -> None:
    (vote,) = majority((face("Male", "Black"), face("Female", "Black")))
    assert vote.groups == {"race": "Black"}
    three = majority((face("Male", "Black"), face("Male", "White"), face("Female", "Asian")))
    assert three[0].groups == {"gender": "Male"}


def test_no_face_no_vote() -> None:
    assert majority(()) == ()
