"""Find faces and cut out chips, the aligned crops that classifiers take.

Chips are aligned like those on which FairFace was trained, by dlib's ``get_face_chips`` with a padding of
.25: a picture is rotated, scaled and shifted so that the eyes match dlib's five-point template. The template
contains the corners of the eyes, but face detectors return centres, so the midpoints of the corners are used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.detection.protocol import FaceDetector, Location, Point, digest
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.errors import DetectorError, PictureError
from pytest_factorfair.pictures.cards import CELL, CELLS, FRAME, FRAME_COLOUR
from pytest_factorfair.pictures.decode import Pixels

SIDE = 224
PADDING = 0.25
# Centres of the left and right eye in dlib's mean face, in the unit square: midpoints of their corners.
_TEMPLATE = ((0.227330, 0.221396), (0.752814, 0.221233))
EYES = tuple(((x + PADDING) / (1 + 2 * PADDING), (y + PADDING) / (1 + 2 * PADDING)) for x, y in _TEMPLATE)
_COARSE = 0.5

_OVERLAP = 0.3
_MOST_FACES = 5000
_COLUMNS = 15

_FRAMED = 0.75, 1.25  # pixels of the frame's colour, as a share of those that a frame of this size has
_TOLERANCE = 75  # tolerance per channel, because JPEG blurs colours
_DARKEST, _BRIGHTEST = (
    np.clip(np.array(FRAME_COLOUR) + shift, 0, 255) for shift in (-_TOLERANCE, _TOLERANCE)
)


OPTIONS = ("faces", "face_score", "face_side")
"""The options of a spec that select and configure a face detector."""


def build(spec: DetectorSpec) -> FaceDetector:
    """Build the face detector that ``faces=`` names: a YuNet file, ``whole`` or ``cards``.

    ``face_score`` (0.7) is YuNet's minimum confidence, ``face_side`` (320) the longer side in pixels to which
    its input is scaled: it was trained on faces of 10 to 300 pixels.

    Raises:
        InputError: no face detector is named, there is no such file, or a number is wrong.
    """
    name = spec.options.get("faces", "")
    if name == "whole":
        return WholePicture()
    if name == "cards":
        return CodeCards()
    if not name:
        raise spec.wrong("a face detector is missing: add faces=yunet.onnx, or faces=whole for cropped faces")
    score, side = spec.number("face_score", 0.7), spec.number("face_side", 320, least=64, most=4096)
    return YuNet(spec.file(name), score=score, side=round(side))


class WholePicture:
    """Treats every picture as one face that is already cropped."""

    identity: Mapping[str, object] = {"finder": "whole"}

    def load(self) -> None:
        """Do nothing."""

    def detect(self, pixels: Pixels) -> tuple[Location, ...]:
        height, width = pixels.shape[:2]
        return (Location((0, 0, width, height)),)


class CodeCards:
    """Finds the frames of code cards; a location's box is the content of the frame."""

    identity: Mapping[str, object] = {"finder": "cards"}

    def load(self) -> None:
        """Nothing to load."""

    def detect(self, pixels: Pixels) -> tuple[Location, ...]:
        import cv2

        framed = np.asarray(cv2.inRange(pixels, _DARKEST, _BRIGHTEST), np.uint8)
        # Not connectedComponents: between its calls, one of OpenCV's threads spins on a core.
        outlines, _ = cv2.findContours(framed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        locations = []
        for outline in reversed(outlines):  # they come from the bottom up
            x, y, width, height = cv2.boundingRect(outline)
            if min(width, height) > CELLS * CELL:
                inner = width - 2 * FRAME, height - 2 * FRAME
                ring = width * height - inner[0] * inner[1]
                share = cv2.countNonZero(framed[y : y + height, x : x + width]) / ring
                if _FRAMED[0] < share < _FRAMED[1]:  # a frame, neither a filled area of its colour nor a blot
                    locations.append(Location((x + FRAME, y + FRAME, *inner)))
        return tuple(locations)


class YuNet:
    """Finds faces with YuNet, OpenCV's face detector: a model file of 230 KB, MIT.

    OpenCV 5 needs a different file than OpenCV 4. Each working thread uses its own network.
    """

    def __init__(self, path: Path, *, score: float, side: int) -> None:
        self._path = path
        self._score = score
        self._side = side
        self._idle: deque[Any] = deque()

    @cached_property
    def identity(self) -> Mapping[str, object]:
        return {"finder": "yunet", "sha256": digest(self._path), "score": self._score, "side": self._side}

    def load(self) -> None:
        """Run the model on an empty picture, because OpenCV rejects an unsuitable model only when it runs."""
        import cv2

        if self._idle:
            return
        try:
            self._rows(np.zeros((1, 1, 3), np.uint8))
        except cv2.error as error:
            reason = " ".join(str(error).split())
            raise DetectorError(
                f"'{self._path}' is not a YuNet model for OpenCV {cv2.__version__}: {reason}"
            ) from error

    def detect(self, pixels: Pixels) -> tuple[Location, ...]:
        import cv2

        height, width = pixels.shape[:2]
        scale = min(1.0, self._side / max(height, width))
        size = max(1, round(width * scale)), max(1, round(height * scale))
        smaller = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
        try:
            rows = self._rows(np.asarray(smaller, np.uint8))
        except cv2.error as error:
            raise PictureError(f"face detection failed: {' '.join(str(error).split())}") from error
        return locations(rows, (width / size[0], height / size[1]))

    def _rows(self, picture: Pixels) -> NDArray[np.float32] | None:
        """Run the network on the picture, placed in the corner of a square of constant size.

        OpenCV 5.0 finds nothing, or crashes, if the size of the input differs from the previous call.
        """
        import cv2

        square = np.zeros((self._side, self._side, 3), np.uint8)
        square[: picture.shape[0], : picture.shape[1]] = picture[:, :, ::-1]
        try:
            network = self._idle.pop()
        except IndexError:
            size = (self._side, self._side)
            # OpenCV logs the errors that it raises.
            level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
            try:
                network = cv2.FaceDetectorYN.create(
                    str(self._path), "", size, self._score, _OVERLAP, _MOST_FACES
                )
            finally:
                cv2.utils.logging.setLogLevel(level)
        _, rows = network.detect(square)
        self._idle.append(network)
        return None if rows is None else np.asarray(rows, np.float32)


def locations(rows: NDArray[np.float32] | None, scale: tuple[float, float] = (1, 1)) -> tuple[Location, ...]:
    """Convert YuNet's rows (N, 15) to locations, multiplied by ``scale`` (horizontal, vertical).

    A row is x, y, width, height, five points x, y (the person's right eye first, which is on the left of
    the picture) and the score. OpenCV returns None if there is no face.

    Raises:
        DetectorError: the array has another shape.
    """
    if rows is None:
        return ()
    if rows.ndim != 2 or rows.shape[1] != _COLUMNS:  # noqa: PLR2004 - rows and columns
        raise DetectorError(f"YuNet returned an array of shape {rows.shape}, expected rows of {_COLUMNS}")
    points = rows[:, :14].reshape(-1, 7, 2).astype(np.float64) * scale
    return tuple(
        Location(
            (*row[0].tolist(), *row[1].tolist()),
            tuple((x, y) for x, y in row[2:].tolist()),
            float(score),
        )
        for row, score in zip(points, rows[:, 14], strict=True)
    )


def chip(pixels: Pixels, location: Location, into: Pixels) -> Pixels:
    """Write the chip of a face to ``into``, uint8 (224, 224, 3).

    It is aligned by the eyes; for a location without points it is the box.
    """
    import cv2

    left_eye, right_eye = location.points[:2] or ((0, 0), (0, 0))
    height, width = pixels.shape[:2]
    if left_eye == right_eye:
        box = location.box
        x, y = min(max(round(box[0]), 0), width - 1), min(max(round(box[1]), 0), height - 1)
        face = pixels[y : max(y + 1, round(box[1] + box[3])), x : max(x + 1, round(box[0] + box[2]))]
        method = cv2.INTER_AREA if max(face.shape[:2]) > SIDE else cv2.INTER_LINEAR
        cv2.resize(face, (SIDE, SIDE), dst=into, interpolation=method)
        return into
    matrix = similarity(left_eye, right_eye)
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    if scale < _COARSE:  # shrink first: interpolation alone would skip pixels
        smaller = max(1, round(width * scale)), max(1, round(height * scale))
        pixels = np.asarray(cv2.resize(pixels, smaller, interpolation=cv2.INTER_AREA), np.uint8)
        step = np.array([width / smaller[0], height / smaller[1]])
        # The centre of pixel i of the small picture lies at (i + 1/2) step - 1/2 in the large one.
        matrix[:, 2] += matrix[:, :2] @ (step / 2 - 0.5)
        matrix[:, :2] *= step
    cv2.warpAffine(pixels, matrix, (SIDE, SIDE), dst=into, flags=cv2.INTER_LINEAR)
    return into


def similarity(left_eye: Point, right_eye: Point) -> NDArray[np.float64]:
    """The 2 x 3 affine matrix from picture to chip that moves the eyes to the template's positions.

    Two points determine a rotation, a scale and a shift: with complex numbers, a product and a sum.
    """
    eye, second_eye = complex(*left_eye), complex(*right_eye)
    goal, second_goal = (complex(*point) * SIDE for point in EYES)
    turn = (second_goal - goal) / (second_eye - eye)
    shift = goal - turn * eye
    return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])
