"""Contact sheets painted, with Pillow: a heading, then rows of thumbnails with their captions."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from PIL import Image, ImageDraw, ImageFont

from pytest_factorfair import process
from pytest_factorfair.domain import Case, ContactSheet, Summary, visible
from pytest_factorfair.errors import FactorfairError
from pytest_factorfair.models import slug
from pytest_factorfair.pictures.decode import decode
from pytest_factorfair.reports.responses import examples, excerpted
from pytest_factorfair.reports.sheets import ContactSheets, Sheet, Tile, sheet

Font: TypeAlias = ImageFont.FreeTypeFont | ImageFont.ImageFont

FOLDER = "pictures"

Fetch = Callable[[str], bytes]
"""Returns the encoded picture of an answer's key; raises a FactorfairError if there is none."""


THUMBNAILS = 800
"""Most pictures that the page shows beside what was read off them; contact sheets show more."""

COLUMNS = 5
SIDE = 232
GAP = 16
WIDTH = COLUMNS * SIDE + (COLUMNS + 1) * GAP
LINE = 20
LETTERS = 26  # as many as a tile is wide
LONGEST = 500
"""Characters of any text that are drawn."""
QUALITY = 85
SMALL_BYTES = 4 * 2**20
"""Bytes of all small pictures of a run, which are embedded in the page."""

PAPER, INK, FAINT, EMPTY = "#ffffff", "#1b1f24", "#6b7480", "#eceff2"
WRONG = "#b3261e"
TONES = {"plain": INK, "unsure": "#9a5b00", "none": "#0b5cad", "failed": WRONG}
LEGEND = (
    "Labels are perceived attributes, read by a detector, with its confidence; "
    "brown: below .60. The people do not exist."
)


@dataclass(frozen=True, slots=True)
class Area:
    """A box of the canvas: left, top and width in pixels."""

    left: int
    top: int
    width: int


def contact_sheets(summary: Summary, cases: Iterable[Case], folder: str, *, picture: Fetch) -> ContactSheets:
    """Write a sheet per record of an image checklist: ``<folder>/pictures/<model>/<case>.jpg``.

    Pictures are fetched and decoded one by one; a missing or broken one becomes a tile that says so.

    Raises:
        OSError: a sheet cannot be written.
    """
    of_scans = examples(summary)
    keys = (answer.key for record in summary.cases for answer in excerpted(record, of_scans) if answer.key)
    canvas = Canvas(picture, frozenset(islice(keys, THUMBNAILS)))
    cases_by_key = {(case.checklist, case.id): case for case in cases}
    several = len({checklist for checklist, _ in cases_by_key}) > 1
    written = []
    for record in summary.cases:
        if record.case[1:] not in cases_by_key:
            continue
        model, checklist, case = record.case
        name = f"{checklist}-{case}.jpg" if several else f"{case}.jpg"
        file = Path(FOLDER) / (slug(model).strip(".") or "model") / name
        path = Path(folder) / file
        process.make_folder(path.parent, ignored=False)
        drawn = sheet(summary, record, cases_by_key[record.case[1:]])
        with process.draft(path) as draft:
            canvas.save(drawn, draft)
            draft.replace(path)
        pictures = len({answer.query for answer in record.answers})
        written.append(ContactSheet(model, checklist, case, file.as_posix(), pictures, len(drawn.tiles)))
    return ContactSheets(tuple(written), canvas.small)


class Canvas:
    """Paints sheets; ``picture`` gives the encoded picture of a key. One picture is held at a time.

    ``small`` are the painted pictures among the ``keys``, as JPEGs, or why one cannot be shown.
    """

    def __init__(self, picture: Callable[[str], bytes], keys: Collection[str] = ()) -> None:
        self._picture = picture
        self._keys = keys
        self.small: dict[str, bytes | str] = {}
        self._room = SMALL_BYTES
        self._heading, self._text, self._small = (ImageFont.load_default(size) for size in (24, 15, 13))

    def save(self, sheet: Sheet, path: Path) -> None:
        """Paint a sheet and write it as a JPEG."""
        rows = [sheet.tiles[start : start + COLUMNS] for start in range(0, len(sheet.tiles), COLUMNS)]
        heights = [SIDE + LINE * (1 + max(len(tile.captions) for tile in row)) + GAP for row in rows]
        top = GAP + 36 + LINE * len(sheet.lines) + GAP
        width = WIDTH - 2 * GAP
        image = Image.new("RGB", (WIDTH, top + sum(heights) + LINE + GAP), PAPER)
        _write(image, Area(GAP, GAP, width), sheet.heading, self._heading, INK)
        for index, line in enumerate(sheet.lines):
            area = Area(GAP, GAP + 36 + index * LINE, width)
            _write(image, area, line, self._text, FAINT if index == 0 else INK)
        for row, height in zip(rows, heights, strict=True):
            for column, tile in enumerate(row):
                self._tile(image, tile, Area(GAP + column * (SIDE + GAP), top, SIDE))
            top += height
        _write(image, Area(GAP, top, width), LEGEND, self._small, FAINT)
        image.save(path, "JPEG", quality=QUALITY, optimize=True)

    def _tile(self, image: Image.Image, tile: Tile, area: Area) -> None:
        """A thumbnail above its captions, or text if there is no picture."""
        image.paste(EMPTY, (area.left, area.top, area.left + SIDE, area.top + SIDE))
        below = area.top + SIDE + 4
        name = f"{tile.number}  {tile.key[:12]}"
        thumbnail = self._thumbnail(tile)
        if tile.key in self._keys:
            self._keep_small(tile.key, thumbnail)
        if isinstance(thumbnail, str):
            texts = dict.fromkeys((*(caption.text for caption in tile.captions), thumbnail))
            lines = [line for text in texts for line in textwrap.wrap(visible(text[:LONGEST]), LETTERS)]
            for index, line in enumerate(lines[: SIDE // LINE - 2]):
                inner = Area(area.left + GAP, area.top + GAP + index * LINE, SIDE - 2 * GAP)
                _write(image, inner, line, self._text, WRONG)
            _write(image, Area(area.left, below, SIDE), name, self._small, FAINT)
            return
        left_margin, top_margin = ((SIDE - side) // 2 for side in thumbnail.size)
        image.paste(thumbnail, (area.left + left_margin, area.top + top_margin))
        _write(image, Area(area.left, below, SIDE), f"{name}  perceived:", self._small, FAINT)
        for index, caption in enumerate(tile.captions, 1):
            line_below = Area(area.left, below + index * LINE - 2, SIDE)
            _write(image, line_below, caption.text, self._text, TONES[caption.tone])

    def _keep_small(self, key: str, thumbnail: Image.Image | str) -> None:
        """Keep it for the page as long as there is room for it."""
        if isinstance(thumbnail, str):
            self.small[key] = visible(thumbnail[:LONGEST])
        elif key not in self.small:
            stream = BytesIO()
            thumbnail.resize((thumbnail.width // 2, thumbnail.height // 2)).save(
                stream, "JPEG", quality=QUALITY
            )
            if stream.tell() <= self._room:
                self._room -= stream.tell()
                self.small[key] = stream.getvalue()

    def _thumbnail(self, tile: Tile) -> Image.Image | str:
        """The picture scaled to its tile, or why there is none."""
        if not tile.key:
            return ""
        try:
            picture = Image.fromarray(decode(self._picture(tile.key)))
        except FactorfairError as error:
            return str(error)
        times = SIDE // max(picture.size)
        if times > 1:
            return picture.resize((picture.width * times, picture.height * times), Image.Resampling.NEAREST)
        picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
        return picture


def _write(image: Image.Image, area: Area, text: str, font: Font, colour: str) -> None:
    """One line, cut off with an ellipsis where it is too long."""
    image.paste(colour, (area.left, area.top), _lettering(text, font, area.width))


@lru_cache(maxsize=1000)
def _lettering(text: str, font: Font, width: int) -> Image.Image:
    """A line as a mask: captions recur from tile to tile, and letters take longer than pictures."""
    shown = visible(text[:LONGEST])
    if font.getlength(shown) > width:
        while shown and font.getlength(f"{shown}…") > width:
            shown = shown[:-1]
        shown = f"{shown.rstrip()}…"
    mask = Image.new("L", (width, 2 * LINE))
    ImageDraw.Draw(mask).text((0, 0), shown, font=font, fill=255)
    return mask
