"""The interface of a detector and its parts, the validation of its results, and the key that stores them."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.domain import Attribute, Detection, Face, plural
from pytest_factorfair.errors import DetectorError, FactorfairError, InputError, PictureError
from pytest_factorfair.pictures.decode import Pixels, decode

Floats = NDArray[np.float32]
Point = tuple[float, float]

AT_ONCE = 64
"""The number of encoded pictures held in memory, however many a case has."""

ROUNDED = 1e-3
"""How far from 1 the sum of a face's shares may be."""


class Detector(Protocol):
    """Reads the perceived groups of the people in pictures, for attributes that are not crossed ones.

    ``identity`` holds everything that can change a reading (models by content hash, mapping, votes) as JSON
    values; every report contains it. Nothing heavy is loaded before the first ``check`` or ``read``, and
    then only once. A detector may say how many pictures it takes at a time (``at_once``, by default
    ``AT_ONCE``).
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Check that the groups of these attributes can be perceived, before any picture is paid for.

        Raises:
            InputError: a group cannot be perceived, the model file does not load, or the device is missing.
        """
        ...

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """Return the detection of each encoded picture, in order.

        A picture that cannot be read gets a detection with an ``error``.

        Raises:
            DetectorError: no picture can be read (a model file that does not load, a missing device).
        """
        ...


@dataclass(frozen=True, slots=True)
class Location:
    """Where a face is: x, y, width and height in pixels, and the face detector's confidence from 0 to 1.

    ``points`` are the left and right eye, the tip of the nose, and the left and right corner of the mouth,
    left and right as seen in the picture; empty if the box itself is to be classified.
    """

    box: tuple[float, float, float, float]
    points: tuple[Point, ...] = ()
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Perceived:
    """A face with the probability of each class, by head: {"gender": {"Male": .9, "Female": .1}}."""

    location: Location
    probabilities: Mapping[str, Mapping[str, float]]


class Part(Protocol):
    """A part of a detector; ``load`` raises ``DetectorError`` if it cannot work at all."""

    @property
    def identity(self) -> Mapping[str, object]: ...

    def load(self) -> None: ...


class Classifying(Part, Protocol):
    """A part with ``classes`` by head."""

    @property
    def classes(self) -> Mapping[str, tuple[str, ...]]: ...


class FaceDetector(Part, Protocol):
    """Finds faces; ``detect`` is called from several threads at once.

    It raises ``DetectorError`` if the detector cannot work at all, and ``PictureError`` if it fails on one
    picture.
    """

    def detect(self, pixels: Pixels) -> tuple[Location, ...]: ...


class AttributeClassifier(Classifying, Protocol):
    """Classifies chips, uint8 (N, 3, 224, 224) in RGB: probabilities (N, classes) by head.

    ``predict`` is called from one thread and must not keep its argument, which is reused. It raises
    ``DetectorError`` if the classifier cannot work.
    """

    def predict(self, chips: Pixels) -> Mapping[str, Floats]: ...


class Perception(Classifying, Protocol):
    """Finds and classifies faces: yields the faces of each picture in order, or why it cannot be read."""

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[Perceived, ...] | PictureError]: ...


def decoded(picture: bytes) -> Pixels | Detection:
    """The pixels of a picture, or the detection that says why there are none."""
    try:
        return decode(picture)
    except PictureError as error:
        return Detection(error=str(error))


def check(detector: Detector, attributes: Sequence[Attribute]) -> None:
    """Check that a detector can perceive the groups of these attributes and has a valid identity.

    Raises:
        InputError: it cannot, its ``check`` fails, or its identity is not JSON.
    """
    try:
        detector.check(attributes)
        json.dumps(dict(detector.identity))
    except InputError:
        raise
    except Exception as error:  # a user's own detector may raise anything
        raise InputError(f"the detector cannot be used: {_described(error)}") from error


def read(
    detector: Detector, pictures: Iterable[bytes], attributes: Sequence[Attribute]
) -> Iterator[Detection]:
    """Yield the detection of each picture, in order, after validating what the detector returned.

    Raises:
        DetectorError: the detector fails, or does not return one detection per picture.
    """
    groups = {attribute.name: attribute.groups for attribute in attributes}
    remaining = iter(pictures)
    at_once: int = getattr(detector, "at_once", AT_ONCE)
    while batch := list(islice(remaining, at_once)):
        try:
            detections = tuple(detector.read(batch, attributes))
        except FactorfairError:
            raise
        except Exception as error:  # a user's own detector may raise anything
            raise DetectorError(f"the detector fails: {_described(error)}") from error
        if len(detections) != len(batch):
            raise DetectorError(
                f"the detector returned {len(detections)} detections for {plural(len(batch), 'picture')}"
            )
        for detection in detections:
            if not isinstance(detection, Detection):
                raise DetectorError(f"the detector returned {type(detection).__name__}, expected a Detection")
            for face in (*detection.faces, *(detection.sides or ())):
                _check_face(face, groups)
            yield detection


def _check_face(face: Face, groups: Mapping[str, tuple[str, ...]]) -> None:
    if not isinstance(face, Face):
        raise DetectorError(f"the detector returned {type(face).__name__}, expected a Face")
    for name, group in face.groups.items():
        if group not in groups.get(name, ()):
            raise DetectorError(f"the detector returned '{group}', which is not a group of '{name}'")
        if name not in face.confidence:
            raise DetectorError(f"the detector returned a group of '{name}' without its confidence")
    for name, shares in face.shares.items():
        complete = name in groups and shares.keys() == set(groups[name])
        if not (complete and min(shares.values()) >= 0 and abs(sum(shares.values()) - 1) < ROUNDED):
            raise DetectorError(
                f"the detector returned shares of '{name}' that are no probabilities: {shares}"
            )


def _described(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def digest(path: Path) -> str:
    """The SHA-256 of a file, by which a detector's identity names its models."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


REVISION = 1
"""Increase it with each change after which a built-in detector reads pictures differently."""

OURS = "pytest_factorfair."


def signature(detector: Detector) -> dict[str, Any] | None:
    """Everything that distinguishes a detector, as JSON values; None if its code may change unnoticed.

    For a user's detector this includes the hash of its file, because its identity may not change with it.
    """
    if isinstance(detector, Stored):
        return dict(detector.signature)
    detector = getattr(detector, "local", detector)  # a replicated detector is known by the local one
    identity, kind = dict(detector.identity), type(detector)
    if identity.get("sha256") == "":  # a function without a file, such as one of a notebook
        return None
    source = ""
    if not kind.__module__.startswith(OURS):
        try:
            source = digest(Path(inspect.getfile(kind)))
        except (TypeError, OSError):  # a class without a file
            return None
    return {"identity": identity, "source": source, "revision": REVISION}


def key(detector: Detector, attributes: Sequence[Attribute]) -> str | None:
    """The hash of a detector and of the attributes that it reads; None if detections cannot be stored."""
    detector_signature = signature(detector)
    if detector_signature is None:
        return None
    parts = [detector_signature, *(asdict(attribute) for attribute in attributes)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Stored:
    """Stands in for a detector that cannot be built here: all its detections come from the store."""

    def __init__(self, name: str, signature: Mapping[str, Any]) -> None:
        self._name = name
        self.signature = signature

    @property
    def identity(self) -> Mapping[str, object]:
        identity: Mapping[str, object] = self.signature["identity"]
        return identity

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Accept all attributes: ``read`` reports missing detections."""

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        names = " and ".join(attribute.name for attribute in attributes)
        raise DetectorError(
            f"detector '{self._name}' cannot be used here, and the store lacks its detections of {names} for "
            f"{plural(len(pictures), 'picture')} of a case"
        )
