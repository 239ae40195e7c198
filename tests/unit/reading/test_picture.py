"""From pictures to answers: every outcome counted, one answer for each face."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_factorfair.domain import Attribute, Detection, Exchange, Face, Query, Response
from pytest_factorfair.reading import pictured

QUERY = Query("id", "A portrait.", (), 0, 0, {})
SHOWN = Exchange(QUERY, "key", Response("", image_file="ab/cd.png"))
GENDER = Attribute("gender", ("Female", "Male"), {}, {})
RACE = Attribute("race", ("Asian", "Black"), {}, {})
BOTH = Attribute("both", (), {}, {}, crossed=("gender", "race"))
BOX = (0.0, 0.0, 1.0, 1.0)


def face(**groups: tuple[str, float]) -> Face:
    named = {name: group for name, (group, _) in groups.items()}
    return Face(named, {name: share for name, (_, share) in groups.items()}, BOX)


def test_every_face_is_an_answer() -> None:
    faces = (
        face(gender=("Female", 0.9), race=("Asian", 0.6)),
        face(gender=("Male", 0.8), race=("Black", 0.5)),
    )
    first, second = pictured(SHOWN, Detection(faces), [GENDER, RACE])
    assert (first.outcome, first.reason, first.letter) == ("answered", "", None)
    assert (first.query, first.key) == (second.query, second.key) == ("id", "key")
    assert first.groups == {"gender": "Female", "race": "Asian"}
    assert second.groups == {"gender": "Male", "race": "Black"}
    assert first.confidence == {"gender": 0.9, "race": 0.6}


def test_only_the_attributes_asked_about_are_read() -> None:
    (answer,) = pictured(SHOWN, Detection((face(gender=("Male", 0.8), race=("Black", 0.5)),)), [RACE])
    assert answer.groups == {"race": "Black"}
    assert answer.confidence == {"race": 0.5}


def test_a_crossed_group_follows_from_its_parts() -> None:
    (answer,) = pictured(SHOWN, Detection((face(gender=("Male", 0.8), race=("Black", 0.5)),)), [GENDER, BOTH])
    assert answer.groups == {"gender": "Male", "both": "Male Black"}
    assert answer.confidence["both"] == pytest.approx(0.4)


def test_an_unknown_class_leaves_its_attribute_out() -> None:
    (answer,) = pictured(SHOWN, Detection((face(gender=("Male", 0.8)),)), [GENDER, RACE, BOTH])
    assert (answer.outcome, answer.groups) == ("answered", {"gender": "Male"})
    (answer,) = pictured(SHOWN, Detection((face(),)), [GENDER, RACE])
    assert (answer.outcome, answer.reason, answer.groups) == ("unread", "no known group", {})


@pytest.mark.parametrize(
    ("exchange", "detection", "outcome", "reason"),
    [
        (SHOWN, Detection(), "unread", "no face"),
        (SHOWN, Detection(error="a PNG cut off after 12 bytes"), "unread", "a PNG cut off after 12 bytes"),
        (SHOWN, None, "unread", "no picture"),
        (replace(SHOWN, response=Response("", finish="refusal")), None, "refused", "refused by the model"),
        (
            replace(SHOWN, response=Response("", finish="filtered")),
            None,
            "refused",
            "filtered by the provider",
        ),
        (replace(SHOWN, response=None, error="500: out of memory"), None, "error", "500: out of memory"),
        (replace(SHOWN, response=None), None, "error", "no response"),
    ],
)
def test_no_answer_says_why(
    exchange: Exchange, detection: Detection | None, outcome: str, reason: str
) -> None:
    (answer,) = pictured(exchange, detection, [GENDER, RACE])
    assert (answer.outcome, answer.reason) == (outcome, reason)
    assert (answer.groups, answer.confidence, answer.key) == ({}, {}, "key")
