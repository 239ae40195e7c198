"""The interfaces of detectors and their parts, the validation of detections, and their keys in the store."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import deque
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
"""How many pictures a detector is given at once by default, which limits the memory needed."""

ROUNDED = 1e-3
"""How much the sum of a face's shares may differ from 1."""


class Detector(Protocol):
    """Reads the perceived groups of the people in pictures. Attributes are never crossed ones.

    ``identity`` contains everything that can change a result (models by content hash, mapping, votes) as JSON
    values, and is part of every report. Models are loaded only once, by the first ``check`` or ``read``. The
    optional attribute ``at_once`` is how many pictures it takes at a time (default ``AT_ONCE``). If only a
    picture shows whether it works, the optional ``first_look(picture, attributes)`` gets a run's first one.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Check that the groups of these attributes can be perceived; called before any picture is generated.

        Raises:
            InputError: a group cannot be perceived, the model file does not load, or the device is missing.
        """
        ...

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """Return the detection of each encoded picture, in order.

        The detection of a picture that cannot be read has an ``error``.

        Raises:
            DetectorError: no picture can be read (a model file that does not load, a missing device).
        """
        ...


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a face: x, y, width and height in pixels, and the detector's confidence from 0 to 1.

    ``points`` are the left and right eye, the tip of the nose, and the left and right corner of the mouth,
    left and right as seen in the picture. If empty, the box is classified as it is.
    """

    box: tuple[float, float, float, float]
    points: tuple[Point, ...] = ()
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class PerceivedFace:
    """A face and the probabilities of classes by head: {"gender": {"Male": .9, "Female": .1}}."""

    location: Location
    probabilities: Mapping[str, Mapping[str, float]]


class Part(Protocol):
    """A part of a detector; ``load`` raises ``DetectorError`` if the part cannot be used."""

    @property
    def identity(self) -> Mapping[str, object]: ...

    def load(self) -> None: ...


class Classifier(Part, Protocol):
    """A part that classifies faces: ``classes`` lists the classes of each head."""

    @property
    def classes(self) -> Mapping[str, tuple[str, ...]]: ...


class FaceDetector(Part, Protocol):
    """Finds faces; ``detect`` is called from several threads at once.

    It raises ``DetectorError`` if the detector cannot be used, and ``PictureError`` if it fails on a picture.
    """

    def detect(self, pixels: Pixels) -> tuple[Location, ...]: ...


class AttributeClassifier(Classifier, Protocol):
    """Classifies chips, uint8 (N, 3, 224, 224) in RGB; returns probabilities (N, classes) by head.

    ``predict`` is called from one thread and must not keep its argument, whose memory is reused. It raises
    ``DetectorError`` if the classifier cannot be used.
    """

    def predict(self, chips: Pixels) -> Mapping[str, Floats]: ...


class Perception(Classifier, Protocol):
    """Finds and classifies faces; for each picture, in order, yields its faces or an error."""

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[PerceivedFace, ...] | PictureError]: ...


def decoded(picture: bytes) -> Pixels | Detection:
    """Decode a picture; if that fails, return a detection with the error."""
    try:
        return decode(picture)
    except PictureError as error:
        return Detection(error=str(error))


def check(detector: Detector, attributes: Sequence[Attribute]) -> None:
    """Check that a detector can perceive the groups of these attributes and has a valid identity.

    Raises:
        InputError: a group cannot be perceived, ``check`` fails, or the identity is not JSON.
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


def needs_look(detector: Detector) -> bool:
    """Whether ``check`` cannot show that a detector works: it is the user's own, or asks a model."""
    return hasattr(detector, "first_look") or not type(detector).__module__.startswith(OURS)


def first_look(detector: Detector, picture: bytes, attributes: Sequence[Attribute]) -> None:
    """Show a detector the first picture of a run, before others are paid for.

    Raises:
        InputError: the detector fails, or does not perceive all of these attributes.
    """
    try:
        if (look := getattr(detector, "first_look", None)) is not None:
            look(picture, attributes)
        else:
            deque(read(detector, [picture], attributes), maxlen=0)
    except DetectorError as error:
        raise InputError(str(error)) from error


def _check_face(face: Face, groups: Mapping[str, tuple[str, ...]]) -> None:
    if not isinstance(face, Face):
        raise DetectorError(f"the detector returned {type(face).__name__}, expected a Face")
    for name, group in face.groups.items():
        if group not in groups.get(name, ()):
            raise DetectorError(f"the detector returned {other_words(group, name, groups)}")
        if name not in face.confidence:
            raise DetectorError(f"the detector returned a group of '{name}' without its confidence")
    for name, shares in face.shares.items():
        complete = name in groups and shares.keys() == set(groups[name])
        if not (complete and min(shares.values()) >= 0 and abs(sum(shares.values()) - 1) < ROUNDED):
            raise DetectorError(
                f"the detector returned shares of '{name}' that are no probabilities: {shares}"
            )


def other_words(group: object, attribute: str, groups: Mapping[str, Sequence[str]]) -> str:
    """Say which word of a detector is no attribute that is asked about, or no group of it, and which are."""
    if attribute not in groups:
        return f"'{attribute}' and is asked about {', '.join(groups)}"
    return f"'{group}' for '{attribute}', whose groups are {', '.join(groups[attribute])}"


def _described(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def digest(path: Path) -> str:
    """The SHA-256 of a file, which identifies a model in a detector's identity."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def merging(detector: Detector) -> str:
    """The option with which a built-in detector gives one face per picture; empty if it gives all of them."""
    identity = detector.identity
    if identity.get("votes") == "picture":
        return "votes=picture"
    if identity.get("faces") == {"finder": "whole"}:
        return "faces=whole"
    return f"align={identity['align']}" if "align" in identity else ""


REVISION = 1
"""Increase this when a change makes a built-in detector read pictures differently."""

OURS = "pytest_factorfair."


def signature(detector: Detector) -> dict[str, Any] | None:
    """Everything that distinguishes a detector, as JSON values; None if changes of its code go unnoticed.

    For a user's detector this includes the hash of its file, because its identity may not reflect changes.
    """
    if isinstance(detector, StoredDetector):
        return dict(detector.signature)
    detector = getattr(detector, "local", detector)  # replicas are identified by the local detector
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


class StoredDetector:
    """A stand-in for a detector that cannot be built on this machine; all detections come from the store."""

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
