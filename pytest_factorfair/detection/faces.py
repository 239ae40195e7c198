"""Where faces are found: YuNet, code cards, or nowhere else than all over the picture."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pytest_factorfair.detection.protocol import FaceDetector, Location
from pytest_factorfair.detection.spec import DetectorSpec
from pytest_factorfair.detection.yunet import YuNet
from pytest_factorfair.pictures.cards import CELL, CELLS, FRAME, FRAME_COLOUR
from pytest_factorfair.pictures.decode import Pixels

OPTIONS = ("faces", "face_score", "face_side")
_FRAMED = 0.75, 1.25  # the pixels of the frame's colour, as a share of those a frame of this size has
_TOLERANCE = 75  # per channel: JPEG blurs colours
_DARKEST, _BRIGHTEST = (
    np.clip(np.array(FRAME_COLOUR) + shift, 0, 255) for shift in (-_TOLERANCE, _TOLERANCE)
)


def build(spec: DetectorSpec) -> FaceDetector:
    """The face detector that ``faces=`` names: the file of YuNet, ``whole`` or ``cards``.

    ``face_score`` (0.7) is how sure YuNet must be, ``face_side`` (320) the pixels it is given on the longer
    side: it was trained on faces of 10 to 300.

    Raises:
        InputError: none is named, or the file is not there.
    """
    named = spec.options.get("faces", "")
    if named == "whole":
        return Whole()
    if named == "cards":
        return Cards()
    if not named:
        raise spec.wrong("where faces are is missing: faces=yunet.onnx, or faces=whole for cut-out faces")
    score, side = spec.number("face_score", 0.7), spec.number("face_side", 320, least=64, most=4096)
    return YuNet(spec.file(named), score=score, side=round(side))


class Whole:
    """Every picture is one face, cut out already."""

    identity: Mapping[str, object] = {"finder": "whole"}

    def load(self) -> None:
        """There is nothing to load."""

    def detect(self, pixels: Pixels) -> tuple[Location, ...]:
        height, width = pixels.shape[:2]
        return (Location((0, 0, width, height)),)


class Cards:
    """Finds the frames of code cards; the box is what they hold."""

    identity: Mapping[str, object] = {"finder": "cards"}

    def load(self) -> None:
        """There is nothing to load."""

    def detect(self, pixels: Pixels) -> tuple[Location, ...]:
        import cv2

        framed = np.asarray(cv2.inRange(pixels, _DARKEST, _BRIGHTEST), np.uint8)
        # Not connectedComponents: between its calls a thread of OpenCV's spins on a core that others need.
        outlines, _ = cv2.findContours(framed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        boxes = map(cv2.boundingRect, reversed(outlines))  # they come from the bottom up
        return tuple(
            Location((x + FRAME, y + FRAME, width - 2 * FRAME, height - 2 * FRAME))
            for x, y, width, height in boxes
            if min(width, height) > CELLS * CELL and _is_frame(framed[y : y + height, x : x + width])
        )


def _is_frame(framed: Pixels) -> bool:
    """Whether these pixels, which are 0 or not, are a frame: neither a field of its colour nor a blot."""
    import cv2

    height, width = framed.shape
    ring = width * height - (width - 2 * FRAME) * (height - 2 * FRAME)
    share: float = cv2.countNonZero(framed) / ring
    return _FRAMED[0] < share < _FRAMED[1]
