"""The built-in detector: finds and classifies faces, and maps classes to the groups of a checklist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_factorfair.detection.protocol import PerceivedFace, Perception
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import DetectorError, InputError, PictureError
from pytest_factorfair.pictures.classes import OTHER, RACES, Grouping, grouping

OPTIONS = ("races", "votes", "margin")
VOTES = ("faces", "picture")


class PictureDetector:
    """A detector from a perception: maps perceived classes to groups, and counts votes.

    Options: ``races`` (see ``pictures.classes``), ``votes`` (faces: every face counts; picture: a picture
    has one vote) and ``margin`` (default 0: the lead that the most likely group needs; otherwise the
    attribute is left out).
    """

    def __init__(self, spec: DetectorSpec, perception: Perception) -> None:
        self._name = spec.text
        self._perception = perception
        self._races = spec.choice("races", RACES)
        self._votes = spec.choice("votes", VOTES)
        self._margin = spec.number("margin", 0)

    @property
    def identity(self) -> Mapping[str, object]:
        counting = {"races": self._races, "votes": self._votes, "margin": self._margin}
        return {**self._perception.identity, **counting}

    def check(self, attributes: Sequence[Attribute]) -> None:
        try:
            check(attributes, self._perception.classes, self._races)
            self._perception.load()
        except (InputError, DetectorError) as error:
            raise InputError(f"detector '{self._name}': {error}") from error

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        self._perception.load()
        groupings = {attribute.name: grouping(attribute, self._races) for attribute in attributes}
        detections = []
        for perceived in self._perception.perceive(pictures):
            if isinstance(perceived, PictureError):
                detections.append(Detection(error=str(perceived)))
                continue
            in_order = sorted(perceived, key=lambda perceived_face: perceived_face.location.box[0])
            faces = tuple(face(perceived_face, groupings, margin=self._margin) for perceived_face in in_order)
            detections.append(Detection(majority(faces) if self._votes == "picture" else faces))
        return tuple(detections)


def check(attributes: Sequence[Attribute], classes: Mapping[str, tuple[str, ...]], races: str) -> None:
    """Raise InputError if a group of an attribute cannot be perceived with these classes."""
    for attribute in attributes:
        mapping = grouping(attribute, races)
        perceivable = classes.get(mapping.head, ())
        for group, names in mapping.groups.items():
            if group != OTHER and not set(names) & set(perceivable):
                raise InputError(
                    f"attribute '{attribute.name}': the detector cannot perceive '{group}'; "
                    f"its classes: {', '.join(perceivable) or 'none for this attribute'}"
                )


def face(perceived: PerceivedFace, groupings: Mapping[str, Grouping], *, margin: float) -> Face:
    """Map the classes of a perceived face to groups; an attribute without a clear group is left out."""
    groups: dict[str, str] = {}
    confidence: dict[str, float] = {}
    for name, mapping in groupings.items():
        probabilities = shares(perceived.probabilities[mapping.head], mapping)
        ranked = sorted(probabilities, key=lambda group: -probabilities[group])
        if not ranked or ranked[0] == OTHER:
            continue
        if len(ranked) > 1 and probabilities[ranked[0]] - probabilities[ranked[1]] < margin:
            continue
        groups[name], confidence[name] = ranked[0], probabilities[ranked[0]]
    return Face(groups, confidence, perceived.location.box)


def shares(probabilities: Mapping[str, float], mapping: Grouping) -> dict[str, float]:
    """The probability of each group, given that the face is in one of them; empty if that is impossible."""
    total = sum(probabilities.get(name, 0.0) for classes in mapping.groups.values() for name in classes)
    if not total > 0:
        return {}
    strength = sum if mapping.rule == "sum" else max
    return {
        group: strength(probabilities.get(name, 0.0) for name in classes) / total
        for group, classes in mapping.groups.items()
    }


def majority(faces: tuple[Face, ...]) -> tuple[Face, ...]:
    """Combine the faces of a picture to one vote: each attribute's most frequent group; ties are left out.

    The confidence is the mean over the faces with that group, the box covers all faces.
    """
    if not faces:
        return ()
    groups: dict[str, str] = {}
    confidence: dict[str, float] = {}
    for attribute in dict.fromkeys(name for face in faces for name in face.groups):
        ranked = Counter(face.groups[attribute] for face in faces if attribute in face.groups).most_common(2)
        if len(ranked) == 1 or ranked[0][1] > ranked[1][1]:
            groups[attribute] = ranked[0][0]
            agreeing = [face for face in faces if face.groups.get(attribute) == groups[attribute]]
            confidence[attribute] = sum(face.confidence[attribute] for face in agreeing) / len(agreeing)
    left, top = min(face.box[0] for face in faces), min(face.box[1] for face in faces)
    right = max(face.box[0] + face.box[2] for face in faces)
    bottom = max(face.box[1] + face.box[3] for face in faces)
    return (Face(groups, confidence, (left, top, right - left, bottom - top)),)
