"""The detector itself: a perception, and what becomes of what it perceives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_factorfair.detection import naming
from pytest_factorfair.detection.protocol import Perceived, Perception
from pytest_factorfair.detection.spec import DetectorSpec
from pytest_factorfair.detection.votes import VOTES
from pytest_factorfair.domain import Attribute, Detection
from pytest_factorfair.errors import DetectorError, InputError, PictureError
from pytest_factorfair.pictures.classes import RACES

OPTIONS = ("races", "votes", "margin")


class PictureDetector:
    """Perceives, names the groups, counts the votes.

    Options: ``races`` (see ``pictures.classes``), ``votes`` (faces: all count; picture: one vote each) and
    ``margin`` (0: how far the likeliest group must lead the next, else the attribute is left out).
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
            naming.check(attributes, self._perception.classes, self._races)
            self._perception.load()
        except (InputError, DetectorError) as error:
            raise InputError(f"detector '{self._name}': {error}") from error

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        self._perception.load()
        chosen = naming.groupings(attributes, self._races)

        def detection(seen: tuple[Perceived, ...] | PictureError) -> Detection:
            if isinstance(seen, PictureError):
                return Detection(error=str(seen))
            in_order = sorted(seen, key=lambda each: each.location.box[0])
            faces = [naming.face(each, chosen, margin=self._margin) for each in in_order]
            return Detection(VOTES[self._votes](tuple(faces)))

        return tuple(map(detection, self._perception.perceive(pictures)))
