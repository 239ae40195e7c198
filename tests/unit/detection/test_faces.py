"""Where the frames of code cards are found, and what is taken for none."""

from __future__ import annotations

import numpy as np

from pytest_factorfair.detection.faces import Cards
from pytest_factorfair.pictures.cards import FRAME, FRAME_COLOUR, SIDE
from pytest_factorfair.pictures.decode import Pixels


def framed(*corners: tuple[int, int], size: tuple[int, int] = (300, 300)) -> Pixels:
    """Grey with empty frames whose upper left corners, x and y, are these."""
    picture = np.full((*size, 3), 128, np.uint8)
    for x, y in corners:
        picture[y : y + SIDE, x : x + SIDE] = FRAME_COLOUR
        picture[y + FRAME : y + SIDE - FRAME, x + FRAME : x + SIDE - FRAME] = 0
    return picture


def boxes(picture: Pixels) -> list[tuple[float, float, float, float]]:
    return [each.box for each in Cards().detect(picture)]


def test_frames_come_from_the_top_down() -> None:
    corners = [(100, 0), (10, 80), (200, 90), (10, 200), (232, 232)]
    assert boxes(framed(*reversed(corners))) == [(x + 6, y + 6, 56, 56) for x, y in corners]


def test_specks_in_a_frame_do_not_hide_it() -> None:
    picture = framed((20, 30))
    picture[50:55, 50:55] = FRAME_COLOUR
    assert boxes(picture) == [(26, 36, 56, 56)]


def test_fields_bars_and_broken_frames_are_none() -> None:
    field, bar, broken = framed(), framed(), framed((20, 30))
    field[40:140, 40:140] = FRAME_COLOUR
    bar[40:48, :] = FRAME_COLOUR
    broken[30 : 30 + SIDE, 20 : 20 + FRAME] = 128  # three sides are left
    broken[30 : 30 + FRAME, 20 : 20 + SIDE // 2] = 128
    assert [boxes(each) for each in (field, bar, broken)] == [[], [], []]
