"""What a detector is, and the parts one is composed of: pictures go in, perceived groups come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.domain import Attribute, Detection
from pytest_factorfair.errors import PictureError
from pytest_factorfair.pictures.decode import Pixels

Floats = NDArray[np.float32]
Point = tuple[float, float]


class Detector(Protocol):
    """Reads the perceived groups of the people in pictures, by attributes that are no product of others.

    ``identity`` is everything that can change what it reads (models by content hash, mapping, votes),
    as JSON values: it stands in every report. Nothing heavy is loaded before the first ``check`` or
    ``read``, and then once.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Look whether the groups of these attributes can be perceived, before a picture is paid for.

        Raises:
            InputError: names the attribute or group, and what the detector knows; or the model file
                that does not load, or the device that is not there.
        """
        ...

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """The detection of each picture, in their order; they are encoded, as a model returned them.

        A picture that cannot be read has an ``error``; a detector that cannot work at all raises.

        Raises:
            DetectorError: no picture can be read (a model file that does not load, no such device).
        """
        ...


@dataclass(frozen=True, slots=True)
class Location:
    """Where a face is: x, y, width and height in pixels, and how sure the finder is, from 0 to 1.

    ``points`` are the eye on the left of the picture, the one on its right, the tip of the nose and
    the corners of the mouth, left and right; empty where the box itself is the chip.
    """

    box: tuple[float, float, float, float]
    points: tuple[Point, ...] = ()
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Perceived:
    """A face with the probability of each class, by head: {"gender": {"Male": .9, "Female": .1}}."""

    location: Location
    chances: Mapping[str, Mapping[str, float]]


class FaceDetector(Protocol):
    """Finds faces; ``detect`` is called from several threads at once.

    Both methods raise ``DetectorError`` where it cannot work at all; ``detect`` raises ``PictureError``
    where it fails over one picture.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    def load(self) -> None: ...

    def detect(self, pixels: Pixels) -> tuple[Location, ...]: ...


class AttributeClassifier(Protocol):
    """Sorts chips, uint8 (N, 3, 224, 224) in RGB, into classes: probabilities (N, classes) by head.

    ``predict`` is called from one thread, and keeps nothing of the array it is given. It and ``load`` raise
    ``DetectorError`` where it cannot work.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    @property
    def classes(self) -> Mapping[str, tuple[str, ...]]: ...

    def load(self) -> None: ...

    def predict(self, chips: Pixels) -> Mapping[str, Floats]: ...


class Perception(Protocol):
    """Finds faces and sorts them: those of each picture in turn, or why it cannot be read."""

    @property
    def identity(self) -> Mapping[str, object]: ...

    @property
    def classes(self) -> Mapping[str, tuple[str, ...]]: ...

    def load(self) -> None: ...

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[Perceived, ...] | PictureError]: ...
