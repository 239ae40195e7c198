"""From the probabilities of classes to the groups of a checklist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_factorfair.detection.protocol import Perceived
from pytest_factorfair.domain import Attribute, Face
from pytest_factorfair.errors import InputError
from pytest_factorfair.pictures.classes import OTHER, Grouping, grouping


def shares(chances: Mapping[str, float], chosen: Grouping) -> dict[str, float]:
    """The probability of each group, given that the face is of one of them; empty where that cannot be."""
    whole = sum(chances.get(name, 0.0) for classes in chosen.groups.values() for name in classes)
    if not whole > 0:
        return {}
    strength = sum if chosen.rule == "sum" else max
    return {
        group: strength(chances.get(name, 0.0) for name in classes) / whole
        for group, classes in chosen.groups.items()
    }


def likeliest(found: Mapping[str, float], margin: float) -> str:
    """The group with the largest share; OTHER where it leads the next by less than the margin."""
    first, *rest = sorted(found, key=lambda group: -found[group]) or [OTHER]
    near = bool(rest) and found[first] - found[rest[0]] < margin
    return OTHER if near else first


def groupings(attributes: Sequence[Attribute], races: str) -> dict[str, Grouping]:
    """How the classes stand for the groups of each attribute."""
    return {each.name: grouping(each, races) for each in attributes}


def face(seen: Perceived, chosen: Mapping[str, Grouping], *, margin: float) -> Face:
    """The face with the groups perceived in it; an attribute without a clear one is left out."""
    groups: dict[str, str] = {}
    confidence: dict[str, float] = {}
    for name, each in chosen.items():
        found = shares(seen.chances[each.head], each)
        if group := likeliest(found, margin):
            groups[name], confidence[name] = group, found[group]
    return Face(groups, confidence, seen.location.box)


def check(attributes: Sequence[Attribute], classes: Mapping[str, tuple[str, ...]], races: str) -> None:
    """Raises InputError where these classes cannot tell the groups of an attribute apart."""
    for attribute, chosen in groupings(attributes, races).items():
        known = classes.get(chosen.head, ())
        for group, names in chosen.groups.items():
            if group != OTHER and not set(names) & set(known):
                told = ", ".join(known) or "nothing of the kind"
                raise InputError(
                    f"attribute '{attribute}': the detector cannot perceive '{group}', it knows {told}"
                )
