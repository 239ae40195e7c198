"""The classes of face classifiers, and how they map to the groups of a checklist.

The classes are those of FairFace (Kärkkäinen & Joo, WACV 2021), in the order of its outputs. How its seven
races map to the four of U.S. statistics is a choice, which every report names:

- ``census``: the U.S. standard of 1997; Asian includes East, Southeast and South ("Indian") Asians, White
  includes Middle Easterners.
- ``sum``: Asian includes East and Southeast Asians; Indian and Middle Eastern are ignored, and the largest of
  the others is taken.
- ``published-code``: as in published code, the most likely single class among White, Black, Latino, East and
  Southeast Asian: Asian with 40 % + 38 % loses to White with 41 %.
- ``other``: like ``sum``, but a face that is more likely Indian or Middle Eastern than any of the four races
  gets no race.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import InputError, nearest

HEADS: Mapping[str, tuple[str, ...]] = {
    "race": (
        "White",
        "Black",
        "Latino_Hispanic",
        "East Asian",
        "Southeast Asian",
        "Indian",
        "Middle Eastern",
    ),
    "gender": ("Male", "Female"),
    "age": ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70+"),
}
RACES = ("census", "sum", "published-code", "other")
OTHER = ""


@dataclass(frozen=True, slots=True)
class Grouping:
    """A mapping of a head's classes to groups.

    ``groups`` contains the classes of each group. Classes of ``OTHER`` compete with the groups without being
    one; a class in none of them is ignored before shares are computed. ``rule`` combines the probabilities of
    a group's classes: their sum, or the largest.
    """

    name: str
    head: str
    groups: Mapping[str, tuple[str, ...]]
    rule: Literal["sum", "largest"] = "sum"


_ASIAN = ("East Asian", "Southeast Asian", "Asian")  # "Asian": a class of DeepFace
_MIXED = ("Indian", "Middle Eastern")
_SUMMED = {"white": ("White",), "black": ("Black",), "hispanic": ("Latino_Hispanic",), "asian": _ASIAN}
_GROUPINGS = (
    Grouping(
        "census",
        "race",
        {**_SUMMED, "asian": (*_ASIAN, "Indian"), "white": ("White", "Middle Eastern")},
    ),
    Grouping("sum", "race", _SUMMED),
    Grouping("published-code", "race", _SUMMED, rule="largest"),
    Grouping("other", "race", {**_SUMMED, OTHER: _MIXED}),
    Grouping(
        "five",  # whose Latino includes West Asians
        "race",
        {
            "white": ("White",),
            "black": ("Black",),
            "hispanic": ("Latino_Hispanic", "Middle Eastern"),
            "east asian": _ASIAN,
            "south asian": ("Indian",),
        },
    ),
    Grouping("classes", "race", {name.casefold().replace("_", " "): (name,) for name in HEADS["race"]}),
    Grouping("classes", "gender", {"male": ("Male",), "female": ("Female",)}),
    Grouping(
        "three",  # up to 29, up to 59, from 60
        "age",
        {"young": HEADS["age"][:4], "middle aged": HEADS["age"][4:7], "elderly": HEADS["age"][7:]},
    ),
    Grouping("classes", "age", {name.replace("-", " "): (name,) for name in HEADS["age"]}),
)
_WORDS = {word for mapping in _GROUPINGS for word in mapping.groups} - {OTHER}
_SYNONYMS = {
    "african": "black",
    "caucasian": "white",
    "european": "white",
    "latino": "hispanic",
    "man": "male",
    "men": "male",
    "old": "elderly",
    "woman": "female",
    "women": "female",
}


def grouping(attribute: Attribute, races: str = RACES[0]) -> Grouping:
    """The mapping of classes to the groups of an attribute, in the checklist's spelling.

    It is chosen by the groups, not by the attribute's name; ``races`` applies if they are the four races.

    Raises:
        InputError: no class maps to a group, or faces are not classified into this set of groups.
    """
    spelling = {_word(group): group for group in attribute.groups}
    for word, group in spelling.items():
        if word not in _WORDS:
            raise InputError(
                f"attribute '{attribute.name}': '{group}' cannot be perceived in a face"
                f"{nearest(word, _WORDS)}"
            )
    fitting = [mapping for mapping in _GROUPINGS if mapping.groups.keys() - {OTHER} == spelling.keys()]
    if not fitting:
        sets = {", ".join(word for word in mapping.groups if word != OTHER) for mapping in _GROUPINGS}
        raise InputError(
            f"attribute '{attribute.name}': faces are not classified into {', '.join(attribute.groups)}, "
            f"but into {'; '.join(sorted(sets))}"
        )
    mapping = next((mapping for mapping in fitting if mapping.name == races), fitting[0])
    classes = {spelling.get(word, OTHER): names for word, names in mapping.groups.items()}
    return Grouping(mapping.name, mapping.head, classes, mapping.rule)


def painted(attribute: str, group: str) -> tuple[str, int]:
    """The head, and the index of its first class that maps to the group under every mapping.

    Raises:
        InputError: no class maps to it.
    """
    word = _word(group)
    for mapping in _GROUPINGS:
        if word in mapping.groups:
            return mapping.head, HEADS[mapping.head].index(mapping.groups[word][0])
    raise InputError(f"attribute '{attribute}': no class of faces maps to '{group}'{nearest(word, _WORDS)}")


def _word(group: str) -> str:
    word = group.casefold().replace("_", " ").replace("-", " ")
    return _SYNONYMS.get(word, word)
