"""From the probabilities of classes to the groups of a checklist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_factorfair.detection.protocol import Perceived
from pytest_factorfair.domain import Attribute, Face
from pytest_factorfair.errors import InputError
from pytest_factorfair.pictures.classes import OTHER, Grouping, grouping


def shares(chances: Mapping[str, float], chosen: Grouping) -> dict[str, float]:
    """The probability of each group, given that the face is of one of them; empty where that cannot be."""
    counted = {name for classes in chosen.groups.values() for name in classes}
    whole = sum(chances.get(name, 0.0) for name in counted)
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
    """How the classes stand for the groups of each attribute that is not the product of others."""
    return {each.name: grouping(each, races) for each in attributes if not each.crossed}


def face(
    seen: Perceived, attributes: Sequence[Attribute], chosen: Mapping[str, Grouping], *, margin: float
) -> Face:
    """The face with the groups perceived in it; an attribute without a clear one is left out."""
    groups: dict[str, str] = {}
    confidence: dict[str, float] = {}
    for name, each in chosen.items():
        found = shares(seen.chances[each.head], each)
        if group := likeliest(found, margin):
            groups[name], confidence[name] = group, found[group]
    return crossed(Face(groups, confidence, seen.location.box), attributes)


def crossed(alone: Face, attributes: Sequence[Attribute]) -> Face:
    """The face with the groups of crossed attributes put together anew; their confidence is the product."""
    groups, confidence = dict(alone.groups), dict(alone.confidence)
    for attribute in attributes:
        if not attribute.crossed:
            continue
        parts = [each for name in attribute.crossed for each in attributes if each.name == name]
        if all(part.name in groups for part in parts):
            groups[attribute.name] = _joined(attribute, parts, groups)
            confidence[attribute.name] = 1.0
            for part in parts:
                confidence[attribute.name] *= confidence[part.name]
        else:
            groups.pop(attribute.name, None)
    return Face(groups, confidence, alone.box)


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


def _joined(attribute: Attribute, parts: Sequence[Attribute], groups: Mapping[str, str]) -> str:
    index = 0
    for part in parts:
        index = index * part.k + part.groups.index(groups[part.name])
    return attribute.groups[index]
