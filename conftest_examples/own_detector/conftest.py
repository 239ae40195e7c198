"""Your own detector: faces that dlib finds, and the groups that the network GEAR perceives in them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import dlib
import numpy as np
from gear import CLASSES, SIDE, Gear
from PIL import Image

from pytest_factorfair.detection import Factory
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import InputError

GROUPS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "gender": {"male": ("Male", "man"), "female": ("Female", "woman")},
    "race": {
        "white": ("White", "european"),
        "black": ("Black", "african"),
        "asian": ("Asian", "east_asian"),
        "indian": ("Asian", "south_asian"),
        "other": ("Hispanic", "latino"),
    },
    "age": {
        **dict.fromkeys(("up to 20", "21-25", "26-30"), ("young",)),
        **dict.fromkeys(("31-40", "41-50", "51-60"), ("middle_aged",)),
        "above 60": ("elderly",),
    },
}
"""The groups of FACT-OR-FAIR and FAIntbench that GEAR's classes stand for.

Its races are those of UTKFace, where "other" are Hispanic, Latino and Middle Eastern faces.
"""

LARGEST = 960
"""Pixels to which the longer side of a picture is reduced."""


class GearDetector:
    """``gear:FOLDER``, the folder with GEAR's files."""

    def __init__(self, folder: str) -> None:
        path = Path(folder, "gear.json")
        if not path.is_file():
            raise InputError(f"gear:{folder}: this folder has no gear.json")
        self._gear = Gear(path)
        self._faces = dlib.get_frontal_face_detector()
        weights = hashlib.sha256(path.with_suffix(".bin").read_bytes()).hexdigest()
        self.identity = {"detector": "gear", "faces": f"dlib {dlib.__version__}", "weights": weights}
        """Everything that can change a detection; every report shows it."""

    def check(self, attributes: Sequence[Attribute]) -> None:
        for attribute in attributes:
            if lacking := set(attribute.groups) - set(_groups(attribute)):
                raise InputError(f"GEAR cannot perceive {attribute.name}: {', '.join(sorted(lacking))}")

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        return tuple(self._detection(picture, attributes) for picture in pictures)

    def _detection(self, picture: bytes, attributes: Sequence[Attribute]) -> Detection:
        try:
            image = Image.open(io.BytesIO(picture)).convert("RGB")
        except OSError as error:
            return Detection(error=str(error))
        image.thumbnail((LARGEST, LARGEST))
        boxes = sorted(self._faces(np.asarray(image), 1), key=lambda box: box.left())
        return Detection(tuple(self._face(image, box, attributes) for box in boxes))

    def _face(self, image: Image.Image, box: dlib.rectangle, attributes: Sequence[Attribute]) -> Face:
        face = image.crop((box.left(), box.top(), box.right(), box.bottom())).resize((SIDE, SIDE))
        probabilities = self._gear(np.asarray(face))
        groups, confidence, shares = dict[str, str](), dict[str, float](), dict[str, dict[str, float]]()
        for attribute in attributes:
            name, share = attribute.name, dict.fromkeys(attribute.groups, 0.0)
            for group, probability in zip(_groups(attribute), probabilities[name], strict=True):
                if group:
                    share[group] += float(probability)
            groups[name] = max(share, key=share.__getitem__)
            confidence[name] = share[groups[name]]
            shares[name] = share
        return Face(groups, confidence, (box.left(), box.top(), box.width(), box.height()), shares)


def _groups(attribute: Attribute) -> list[str]:
    """The checklist's group for each class of GEAR, in order; "" if it has none."""
    classes = GROUPS.get(attribute.name, {})
    return [
        next((group for group in classes[label] if group in attribute.groups), "")
        for label in CLASSES.get(attribute.name, ())
    ]


def pytest_factorfair_detectors() -> Mapping[str, Factory]:
    return {"gear": lambda spec: GearDetector(spec.target)}
