"""Chips: what a classifier sees of a face, cut out as dlib does for the pictures FairFace was trained on.

dlib's ``get_face_chips`` with a padding of .25 turns, scales and shifts the picture so that the eyes come to
lie where its five-point template has them. The template names the corners of the eyes; finders give their
centres, so the two midpoints are used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.detection.protocol import Location, Point
from pytest_factorfair.pictures.decode import Pixels

SIDE = 224
PADDING = 0.25
# dlib's mean face in the unit square: the midpoints between the corners of the left and of the right eye.
_TEMPLATE = ((0.227330, 0.221396), (0.752814, 0.221233))
EYES = tuple(((x + PADDING) / (1 + 2 * PADDING), (y + PADDING) / (1 + 2 * PADDING)) for x, y in _TEMPLATE)
_COARSE = 0.5


def chip(pixels: Pixels, location: Location, into: Pixels) -> Pixels:
    """The face, written ``into`` uint8 (224, 224, 3): aligned by its eyes, or the box without points."""
    left, right = location.points[:2] or ((0, 0), (0, 0))
    if left == right:
        _crop(pixels, location.box, into)
    else:
        _align(pixels, left, right, into)
    return into


def similarity(left: Point, right: Point) -> NDArray[np.float64]:
    """The 2 x 3 matrix from the picture to the chip that brings these eyes to their places.

    Two points fix a turn, a scale and a shift: in complex numbers, a product and a sum.
    """
    here, there = complex(*left), complex(*right)
    goal, other = (complex(*eye) * SIDE for eye in EYES)
    turn = (other - goal) / (there - here)
    shift = goal - turn * here
    return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])


def _align(pixels: Pixels, left: Point, right: Point, into: Pixels) -> None:
    import cv2

    matrix = similarity(left, right)
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    if scale < _COARSE:  # else the pixels between those looked at would be lost
        height, width = pixels.shape[:2]
        smaller = max(1, round(width * scale)), max(1, round(height * scale))
        pixels = np.asarray(cv2.resize(pixels, smaller, interpolation=cv2.INTER_AREA), np.uint8)
        step = np.array([width / smaller[0], height / smaller[1]])
        # The centre of pixel i of the small picture lies at (i + 1/2) step - 1/2 of the large one.
        matrix[:, 2] += matrix[:, :2] @ (step / 2 - 0.5)
        matrix[:, :2] *= step
    cv2.warpAffine(pixels, matrix, (SIDE, SIDE), dst=into, flags=cv2.INTER_LINEAR)


def _crop(pixels: Pixels, box: tuple[float, float, float, float], into: Pixels) -> None:
    import cv2

    high, wide = pixels.shape[:2]
    x, y = min(max(round(box[0]), 0), wide - 1), min(max(round(box[1]), 0), high - 1)
    face = pixels[y : max(y + 1, round(box[1] + box[3])), x : max(x + 1, round(box[0] + box[2]))]
    shrinks = max(face.shape[:2]) > SIDE
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    cv2.resize(face, (SIDE, SIDE), dst=into, interpolation=method)
