"""The chip's geometry: where dlib's template has the eyes, there they come to lie."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np
import pytest

from pytest_factorfair.detection.align import EYES, SIDE, chip, similarity
from pytest_factorfair.detection.protocol import Location, Point
from pytest_factorfair.pictures.decode import Pixels
from tests.unit.detection.builders import cut_out

# dlib's five-point template with a padding of .25, midpoints of the corners of each eye, worked out by hand.
LEFT, RIGHT = (0.318220 * 224, 0.314264 * 224), (0.668543 * 224, 0.314155 * 224)


def spot(pixels: Pixels, channel: int) -> Point:
    """The centre of brightness of a channel."""
    weights = pixels[:, :, channel].astype(float)
    y, x = np.mgrid[: weights.shape[0], : weights.shape[1]]
    return float((weights * x).sum() / weights.sum()), float((weights * y).sum() / weights.sum())


def portrait(left: Point, right: Point, *, blur: float, size: tuple[int, int]) -> Pixels:
    """A red spot for the eye on the left, a green one for the eye on the right, on black."""
    y, x = np.mgrid[: size[1], : size[0]]
    picture = np.zeros((size[1], size[0], 3))
    for channel, (eye_x, eye_y) in enumerate((left, right)):
        picture[:, :, channel] = 255 * np.exp(-((x - eye_x) ** 2 + (y - eye_y) ** 2) / (2 * blur**2))
    return picture.round().astype(np.uint8)


def turned(centre: Point, distance: float, degrees: float) -> tuple[Point, Point]:
    dx, dy = distance / 2 * cos(radians(degrees)), distance / 2 * sin(radians(degrees))
    return (centre[0] - dx, centre[1] - dy), (centre[0] + dx, centre[1] + dy)


def test_the_template_is_dlibs() -> None:
    assert (np.array(EYES) * SIDE).round(3).tolist() == np.round([LEFT, RIGHT], 3).tolist()


@pytest.mark.parametrize("degrees", [0, 15, -30, 90])
@pytest.mark.parametrize(
    ("size", "distance"),
    [((300, 300), 70.0), ((260, 240), 20.0), ((1024, 1024), 260.0), ((2048, 1600), 500.0)],
)
def test_eyes_lie_where_the_template_has_them(size: tuple[int, int], distance: float, degrees: float) -> None:
    left, right = turned((size[0] * 0.52, size[1] * 0.45), distance, degrees)
    picture = portrait(left, right, blur=distance / 14, size=size)
    cut = cut_out(picture, Location((0, 0, 1, 1), (left, right)))
    assert cut.shape == (SIDE, SIDE, 3)
    assert cut.dtype == np.uint8
    assert np.hypot(*np.subtract(spot(cut, 0), LEFT)) < 0.5
    assert np.hypot(*np.subtract(spot(cut, 1), RIGHT)) < 0.5


def test_the_matrix_brings_two_points_home() -> None:
    matrix = similarity((10, 20), (40, 60))
    assert matrix @ (10, 20, 1) == pytest.approx(LEFT, abs=1e-3)
    assert matrix @ (40, 60, 1) == pytest.approx(RIGHT, abs=1e-3)
    assert matrix[0, 0] == matrix[1, 1]
    assert matrix[0, 1] == -matrix[1, 0]


@pytest.mark.parametrize(
    "box",
    [(10, 20, 56, 56), (-30, -30, 60, 60), (90, 90, 500, 500), (99.6, 99.6, 0.2, 0.2), (300, 300, 5, 5)],
)
def test_a_box_is_cut_out_as_far_as_it_lies_in_the_picture(box: tuple[float, float, float, float]) -> None:
    picture = np.full((100, 100, 3), 7, np.uint8)
    assert (cut_out(picture, Location(box)) == 7).all()


def test_eyes_in_one_place_leave_the_box() -> None:
    picture = np.full((50, 50, 3), 9, np.uint8)
    assert (cut_out(picture, Location((0, 0, 50, 50), ((5, 5), (5, 5)))) == 9).all()


def test_a_box_fills_the_chip() -> None:
    picture = np.zeros((100, 100, 3), np.uint8)
    picture[20:76, 10:66] = 200
    cut = cut_out(picture, Location((10, 20, 56, 56)))
    assert (cut == 200).all()


def test_a_chip_is_written_where_it_is_told_to() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (80, 90, 3), dtype=np.uint8)
    for points in ((), ((30.0, 40.0), (60.0, 41.0))):
        location = Location((10, 20, 56, 56), points)
        fresh, used = cut_out(pixels, location), np.full((SIDE, SIDE, 3), 99, np.uint8)
        assert chip(pixels, location, used) is used
        assert (used == fresh).all()
