from __future__ import annotations

from collections import Counter

import pytest

from pytest_factorfair.detection import build
from pytest_factorfair.pictures.cards import blank, paint
from tests.unit.detection.builders import BOTH, RACE

PICTURES = [paint({"race": 1, "gender": 1}, seed=seed) for seed in range(600)]


def test_groups_are_misread_at_the_rate_asked_for() -> None:
    """Four standard errors of 600 draws at .3 are .075; the wrong races are alike likely."""
    detections = build("sim?flip=0.3", custom={}).read(PICTURES, BOTH)
    races = Counter(each.faces[0].groups["race"] for each in detections)
    genders = Counter(each.faces[0].groups["gender"] for each in detections)
    assert races["Black"] / 600 == pytest.approx(0.7, abs=0.075)
    assert genders["Female"] / 600 == pytest.approx(0.7, abs=0.075)
    for race in ("Asian", "Hispanic", "White"):
        assert races[race] / 600 == pytest.approx(0.1, abs=0.049)
    both = sum(each.faces[0].groups == {"race": "Black", "gender": "Female"} for each in detections)
    assert both / 600 == pytest.approx(0.49, abs=0.082)  # the two err independently


def test_a_picture_is_always_misread_alike() -> None:
    detector = build("sim?flip=0.5", custom={})
    some = detector.read(PICTURES[:60], BOTH)
    assert detector.read(PICTURES[59::-1], BOTH) == some[::-1]
    for attribute in BOTH:
        alone = detector.read(PICTURES[:60], [attribute])
        assert [dict(each.faces[0].groups) for each in alone] == [
            {attribute.name: each.faces[0].groups[attribute.name]} for each in some
        ]


def test_a_certain_error() -> None:
    detections = build("sim?flip=1", custom={}).read([*PICTURES[:20], blank(1), b""], [RACE])
    assert all(face.groups["race"] != "Black" for each in detections for face in each.faces)
    assert detections[-2].faces == ()
    assert detections[-1].error
