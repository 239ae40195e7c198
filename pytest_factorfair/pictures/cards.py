"""Code cards: the abstract pictures that a simulated image model paints instead of people.

A card is a magenta frame around 7 x 7 cells. Its rows form one band per head of FairFace; the colour of a
band encodes the class of that head. The cards are abstract: they depict nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, sqrt

import numpy as np

from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import Pixels, png

CELLS = 7
CELL = 8
FRAME = 6
FRAME_COLOUR = (255, 0, 255)
BANDS: Mapping[str, slice] = {"race": slice(0, 3), "gender": slice(3, 5), "age": slice(5, 7)}
COLOURS = (
    (0, 0, 0),
    (255, 255, 255),
    (230, 30, 30),
    (30, 160, 50),
    (30, 60, 220),
    (240, 220, 40),
    (40, 200, 220),
    (100, 0, 120),
    (128, 128, 128),
)
SIDE = CELLS * CELL + 2 * FRAME
_SLOT = 96
_GAP = 4  # margin around each card, so that frames never touch
_GREYS = 96, 160  # values of the background in every channel, far from the frame's colour


def paint(codes: Mapping[str, int], *further: Mapping[str, int], seed: int) -> bytes:
    """Paint a PNG with a card for each person (a mapping of heads to classes) on a background of noise.

    The seed determines the noise, the positions of the cards, and the classes of heads that a mapping omits.
    """
    cards = (codes, *further)
    columns = ceil(sqrt(len(cards)))
    generator = np.random.default_rng(seed)
    picture = _noise(ceil(len(cards) / columns), columns, generator)
    for number, card in enumerate(cards):
        drawn = {head: int(generator.integers(len(classes))) for head, classes in HEADS.items()}
        row, column = divmod(number, columns)
        top, left = generator.integers(_GAP, _SLOT - SIDE - _GAP, 2, endpoint=True)
        y, x = row * _SLOT + int(top), column * _SLOT + int(left)
        cells = np.zeros((CELLS, CELLS, 3), np.uint8)
        for head, rows in BANDS.items():
            cells[rows] = COLOURS[{**drawn, **card}[head]]
        framed = picture[y : y + SIDE, x : x + SIDE]
        framed[:] = FRAME_COLOUR
        framed[FRAME:-FRAME, FRAME:-FRAME] = _enlarged(cells)
    return png(picture)


def blank(seed: int) -> bytes:
    """Paint a PNG of noise without a card."""
    return png(_noise(1, 1, np.random.default_rng(seed)))


def _noise(rows: int, columns: int, generator: np.random.Generator) -> Pixels:
    shape = rows * _SLOT // CELL, columns * _SLOT // CELL, 3
    return _enlarged(generator.integers(*_GREYS, shape, dtype=np.uint8))


def _enlarged(cells: Pixels) -> Pixels:
    return cells.repeat(CELL, axis=0).repeat(CELL, axis=1)
