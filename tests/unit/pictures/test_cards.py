from __future__ import annotations

import numpy as np
import pytest

from pytest_factorfair.pictures import cards
from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import decode


def centres(pixels: np.ndarray) -> list[tuple[int, ...]]:
    """The colour in the middle of each band of the only card."""
    framed = (pixels == cards.FRAME_COLOUR).all(axis=2)
    top_edge, left_edge = (int(np.flatnonzero(framed.any(axis=axis))[0]) + cards.FRAME for axis in (1, 0))
    rows = [(band.start + band.stop) * cards.CELL // 2 for band in cards.BANDS.values()]
    return [tuple(pixels[top_edge + row, left_edge + 20].tolist()) for row in rows]


def test_bands_have_the_colours_of_their_classes() -> None:
    pixels = decode(cards.paint({"race": 6, "gender": 1, "age": 8}, seed=5))
    assert centres(pixels) == [cards.COLOURS[6], cards.COLOURS[1], cards.COLOURS[8]]


def test_every_class_has_a_colour_and_none_is_the_frames() -> None:
    assert len(set(cards.COLOURS)) == len(cards.COLOURS) == max(map(len, HEADS.values()))
    assert cards.FRAME_COLOUR not in cards.COLOURS
    assert cards.BANDS.keys() == HEADS.keys()


def test_the_seed_makes_the_picture() -> None:
    assert cards.paint({"race": 1}, seed=3) == cards.paint({"race": 1}, seed=3)
    assert len({cards.paint({"race": 1}, seed=seed) for seed in range(50)}) == 50
    assert cards.blank(3) == cards.blank(3) != cards.blank(4)


def test_unnamed_heads_are_drawn_alike_whatever_is_named() -> None:
    of_one_race = centres(decode(cards.paint({"race": 0}, seed=9)))
    of_another = centres(decode(cards.paint({"race": 5}, seed=9)))
    assert of_one_race[1:] == of_another[1:]
    drawn = [centres(decode(cards.paint({"race": 0}, seed=seed)))[1] for seed in range(200)]
    assert 70 <= drawn.count(cards.COLOURS[0]) <= 130  # of 200 at one half: four standard errors are 28


@pytest.mark.parametrize(("people", "shape"), [(1, (96, 96, 3)), (2, (96, 192, 3)), (5, (192, 288, 3))])
def test_the_picture_grows_with_its_cards(people: int, shape: tuple[int, ...]) -> None:
    pixels = decode(cards.paint(*[{"race": 1}] * people, seed=1))
    assert pixels.shape == shape
    ring = cards.SIDE**2 - (cards.CELLS * cards.CELL) ** 2
    assert (pixels == cards.FRAME_COLOUR).all(axis=2).sum() == people * ring


def test_noise_has_no_frame() -> None:
    assert not (decode(cards.blank(1)) == cards.FRAME_COLOUR).all(axis=2).any()
