"""Probabilities to groups, each mapping by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_factorfair.detection import naming
from pytest_factorfair.detection.protocol import Location, Perceived
from pytest_factorfair.domain import Attribute, Face
from pytest_factorfair.errors import InputError
from pytest_factorfair.pictures.classes import HEADS, grouping
from tests.unit.detection.builders import BOTH, RACE

FIVE = Attribute("race", ("european", "east_asian", "african", "latino", "south_asian"), {}, {})
AGE = Attribute("age", ("young", "middle_aged", "elderly"), {}, {})


def race(*percent: float) -> dict[str, float]:
    """White, Black, Latino, East, Southeast, Indian, Middle Eastern."""
    return dict(zip(HEADS["race"], (each / 100 for each in percent), strict=True))


def seen(*percent: float, male: float = 0.9, age: str = "20-29") -> Perceived:
    chances = {"race": race(*percent), "gender": {"Male": male, "Female": 1 - male}, "age": {age: 1.0}}
    return Perceived(Location((1, 2, 3, 4)), chances)


def named(found: Perceived, attributes: Sequence[Attribute], *, races: str, margin: float) -> Face:
    return naming.face(found, naming.groupings(attributes, races), margin=margin)


SPLIT = (41, 2, 3, 30, 18, 4, 2)  # Asian by 48 % of two, 52 % of three, White by the largest single class
INDIAN = (20, 10, 25, 5, 5, 30, 5)
MIDDLE = (20, 5, 30, 5, 5, 5, 30)


@pytest.mark.parametrize(
    ("percent", "races", "group", "share"),
    [
        (SPLIT, "census", "Asian", 0.52),
        (SPLIT, "sum", "Asian", 48 / 94),
        (SPLIT, "published-code", "White", 41 / 94),
        (SPLIT, "other", "Asian", 0.48),
        ((22, 0, 0, 40, 38, 0, 0), "published-code", "Asian", 0.40),
        ((41, 0, 0, 40, 19, 0, 0), "published-code", "White", 0.41),
        ((41, 0, 0, 40, 19, 0, 0), "sum", "Asian", 0.59),
        (INDIAN, "census", "Asian", 0.40),
        (INDIAN, "sum", "Hispanic", 25 / 65),
        (INDIAN, "published-code", "Hispanic", 25 / 65),
        (INDIAN, "other", "", 0.35),
        (MIDDLE, "census", "White", 0.50),
        (MIDDLE, "sum", "Hispanic", 30 / 65),
        (MIDDLE, "other", "", 0.35),
    ],
)
def test_seven_races_to_four(percent: tuple[float, ...], races: str, group: str, share: float) -> None:
    found = naming.shares(race(*percent), grouping(RACE, races))
    assert naming.likeliest(found, 0) == group
    assert found[group] == pytest.approx(share)
    assert named(seen(*percent), [RACE], races=races, margin=0).groups == ({"race": group} if group else {})


def test_forty_and_thirty_eight_lose_to_forty_one() -> None:
    """The published code never adds East to Southeast; 119 parts here stand for its unnormalised example."""
    found = naming.shares(
        {"White": 41, "East Asian": 40, "Southeast Asian": 38}, grouping(RACE, "published-code")
    )
    assert naming.likeliest(found, 0) == "White"
    summed = naming.shares({"White": 41, "East Asian": 40, "Southeast Asian": 38}, grouping(RACE, "sum"))
    assert naming.likeliest(summed, 0) == "Asian"
    assert summed["Asian"] == pytest.approx(78 / 119)


@pytest.mark.parametrize("races", ["census", "sum", "other"])
def test_shares_are_one_in_all(races: str) -> None:
    assert sum(naming.shares(race(*SPLIT), grouping(RACE, races)).values()) == pytest.approx(1)


def test_five_races_and_three_ages() -> None:
    found = named(seen(*MIDDLE, age="60-69"), [FIVE, AGE], races="census", margin=0)
    assert found.groups == {"race": "latino", "age": "elderly"}
    assert found.confidence["race"] == pytest.approx(0.60)
    assert named(seen(20, 10, 15, 5, 15, 30, 5), [FIVE], races="sum", margin=0).groups == {
        "race": "south_asian"
    }
    edges = {
        "0-2": "young",
        "20-29": "young",
        "30-39": "middle_aged",
        "50-59": "middle_aged",
        "70+": "elderly",
    }
    for name, group in edges.items():
        assert named(seen(*SPLIT, age=name), [AGE], races="census", margin=0).groups == {"age": group}


def test_the_face_keeps_its_place_and_its_confidence() -> None:
    found = named(seen(*SPLIT), BOTH, races="census", margin=0)
    assert found.groups == {"gender": "Male", "race": "Asian"}
    assert found.confidence == pytest.approx({"gender": 0.9, "race": 0.52})
    assert found.box == (1, 2, 3, 4)


@pytest.mark.parametrize(("margin", "kept"), [(0, True), (0.09, True), (0.11, False)])
def test_near_ties_are_left_out(margin: float, kept: bool) -> None:  # noqa: FBT001 - a table
    found = named(seen(*SPLIT, male=0.55), BOTH, races="census", margin=margin)  # race leads by .09
    assert ("gender" in found.groups) == kept
    assert found.confidence.keys() == found.groups.keys()


def test_no_chance_at_all_names_nothing() -> None:
    chosen = grouping(RACE, "sum")
    assert naming.shares(race(0, 0, 0, 0, 0, 60, 40), chosen) == {}
    assert naming.likeliest({}, 0) == ""


@pytest.mark.parametrize(
    ("classes", "told"),
    [
        ({"gender": ("Male", "Female")}, "attribute 'race': the detector cannot perceive 'White', it knows nothing of the kind"),
        ({**HEADS, "race": ("White", "Black", "Asian")}, "attribute 'race': the detector cannot perceive 'Hispanic', it knows White, Black, Asian"),
    ],
)  # fmt: skip
def test_what_a_detector_cannot_perceive(classes: dict[str, tuple[str, ...]], told: str) -> None:
    with pytest.raises(InputError) as error:
        naming.check(BOTH, classes, "sum")
    assert str(error.value) == told
    naming.check(BOTH, HEADS, "other")
