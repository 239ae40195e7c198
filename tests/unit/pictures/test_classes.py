from __future__ import annotations

import pytest

from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import InputError
from pytest_factorfair.pictures.classes import HEADS, OTHER, RACES, grouping, painted

FOUR = ("Asian", "Black", "Hispanic", "White")


def attribute(name: str, *groups: str) -> Attribute:
    return Attribute(name, groups, {}, {})


def test_the_outputs_of_fairface() -> None:
    assert [len(classes) for classes in HEADS.values()] == [7, 2, 9]
    assert HEADS["race"][3:5] == ("East Asian", "Southeast Asian")
    assert HEADS["gender"][0] == "Male"


@pytest.mark.parametrize(
    ("races", "asian", "white", "left_out"),
    [
        ("census", {"East Asian", "Southeast Asian", "Indian"}, {"White", "Middle Eastern"}, set()),
        ("sum", {"East Asian", "Southeast Asian"}, {"White"}, {"Indian", "Middle Eastern"}),
        ("published-code", {"East Asian", "Southeast Asian"}, {"White"}, {"Indian", "Middle Eastern"}),
        ("other", {"East Asian", "Southeast Asian"}, {"White"}, set()),
    ],
)
def test_seven_races_to_four(races: str, asian: set[str], white: set[str], left_out: set[str]) -> None:
    grouped = grouping(attribute("race", *FOUR), races)
    assert grouped.name == races
    assert set(grouped.groups["Asian"]) & set(HEADS["race"]) == asian
    assert set(grouped.groups["White"]) == white
    assert grouped.groups["Black"] == ("Black",)
    assert grouped.groups["Hispanic"] == ("Latino_Hispanic",)
    named = {name for classes in grouped.groups.values() for name in classes}
    assert set(HEADS["race"]) - named == left_out
    assert (OTHER in grouped.groups) == (races == "other")


def test_the_groups_choose_the_mapping() -> None:
    five = grouping(attribute("race", "european", "east_asian", "african", "latino", "south_asian"), "sum")
    assert five.name == "five"
    assert five.groups["latino"] == ("Latino_Hispanic", "Middle Eastern")
    assert five.groups["south_asian"] == ("Indian",)
    ages = grouping(attribute("age", "young", "middle_aged", "elderly"))
    assert ages.groups["young"] == ("0-2", "3-9", "10-19", "20-29")
    assert ages.groups["middle_aged"] == ("30-39", "40-49", "50-59")
    assert ages.groups["elderly"] == ("60-69", "70+")
    assert grouping(attribute("sex", "woman", "man")).groups == {"man": ("Male",), "woman": ("Female",)}
    assert grouping(attribute("race", *HEADS["race"])).groups["Indian"] == ("Indian",)
    assert grouping(attribute("age", *HEADS["age"])).head == "age"


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (("Asian", "Blak", "Hispanic", "White"), "attribute 'race': 'Blak' cannot be perceived in a face; did you mean 'black'?"),
        (("Asian", "Black"), "attribute 'race': faces are not classified into Asian, Black, but into "),
    ],
)  # fmt: skip
def test_groups_without_a_class_are_refused(groups: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as error:
        grouping(attribute("race", *groups))
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("group", "head", "name"),
    [
        ("White", "race", "White"),
        ("Black", "race", "Black"),
        ("Hispanic", "race", "Latino_Hispanic"),
        ("Asian", "race", "East Asian"),
        ("south_asian", "race", "Indian"),
        ("Female", "gender", "Female"),
        ("elderly", "age", "60-69"),
    ],
)
def test_the_class_to_paint(group: str, head: str, name: str) -> None:
    assert painted("any", group) == (head, HEADS[head].index(name))


@pytest.mark.parametrize("races", RACES)
def test_what_is_painted_is_read_back_under_every_mapping(races: str) -> None:
    for group in FOUR:
        head, number = painted("race", group)
        assert HEADS[head][number] in grouping(attribute("race", *FOUR), races).groups[group]


def test_a_group_without_a_class_cannot_be_painted() -> None:
    with pytest.raises(InputError, match="attribute 'faith': no class of faces maps to 'Jedi'"):
        painted("faith", "Jedi")
