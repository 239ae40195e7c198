"""The labelling sheet: a CSV with a row per face, and a column per attribute and annotator.

A heading such as ``gender 2: Male | Female | unclear | no face`` says who fills the column in and with what.
Annotators go by numbers, or by pseudonyms such as e2.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from pytest_factorfair.domain import NO_FACE, Attribute
from pytest_factorfair.errors import InputError, nearest

# What lies in the folder of a sample.
SHEET, KEY, README, FOLDER = "labels.csv", "key.json", "README.md", "pictures"

UNCLEAR = "unclear"
PLACE = ("picture", "face", "box")
LARGEST = 20_000_000
MOST_DIGITS = 6

Box = tuple[float, float, float, float]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HEADING = re.compile(r"(?P<attribute>[^:]+?) (?P<annotator>e?\d+)(:.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spot:
    """A face to be labelled: the ``face``-th of a picture, from left to right.

    ``box`` is x, y, width and height in pixels; without one the picture's largest face is meant.
    """

    picture: str
    face: int = 1
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A face with what each annotator wrote, by attribute; None where one wrote nothing."""

    spot: Spot
    labels: Mapping[str, tuple[str | None, ...]]


def write(
    path: Path, spots: Iterable[Spot], attributes: Sequence[Attribute], annotators: Sequence[str]
) -> None:
    """Write an empty sheet; no cell of it can act as a formula."""
    headings = [
        f"{one.name} {annotator}: {' | '.join(allowed(one))}"
        for one in attributes
        for annotator in annotators
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(map(_safe, (*PLACE, *headings)))
        for spot in spots:
            box = " ".join(f"{max(side, 0):.0f}" for side in spot.box or ())
            rows.writerow(map(_safe, (spot.picture, str(spot.face), box, *[""] * len(headings))))


def allowed(attribute: Attribute) -> tuple[str, ...]:
    """What an annotator may write."""
    return (*attribute.groups, UNCLEAR, NO_FACE)


def read(path: Path, attributes: Sequence[Attribute]) -> tuple[Labelled, ...]:
    """The rows of a filled-in sheet; comma or semicolon, whatever the spreadsheet saved.

    Raises:
        InputError: one line that names file, line and column: no such file, a column that is missing or
            means nothing, a picture outside the sheet's folder, a label that is none of the allowed.
    """
    text = _text(path)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        rows = [(lines.line_num, [_plain(cell) for cell in row]) for row in lines]
    except csv.Error as error:
        raise InputError(f"{path}:{lines.line_num}: not a CSV file: {error}") from None
    filled = [(line, row) for line, row in rows if any(row)]
    if not filled:
        raise InputError(f"{path}: the sheet is empty")
    (_, headings), *faces = filled
    columns = _columns(path, headings, attributes)
    found = tuple(
        _row(f"{path}:{line}", dict(zip(headings, row, strict=False)), columns) for line, row in faces
    )
    if not any(label for one in found for labels in one.labels.values() for label in labels):
        raise InputError(f"{path}: nobody has labelled anything yet")
    return found


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise InputError(f"{path}: is larger than 20 MB, which no labelling sheet is")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; save it as CSV (UTF-8)") from None


def _delimiter(text: str) -> str:
    first = text.partition("\n")[0]
    return ";" if first.count(";") > first.count(",") else ","


def _columns(path: Path, headings: Sequence[str], attributes: Sequence[Attribute]) -> dict[str, Attribute]:
    """The attribute of each column of labels, by heading."""
    known = {one.name: one for one in attributes}
    for name in PLACE:
        if name not in headings:
            raise InputError(f"{path}: the column '{name}' is missing")
    columns: dict[str, Attribute] = {}
    for heading in headings:
        if heading in PLACE or not heading:
            continue
        parts = _HEADING.fullmatch(heading)
        if parts is None or parts["attribute"] not in known:
            name = parts["attribute"] if parts else heading
            raise InputError(
                f"{path}: column '{name}' is no attribute of the checklist{nearest(name, known)}"
            )
        if heading in columns:
            raise InputError(f"{path}: the column '{heading}' is there twice")
        columns[heading] = known[parts["attribute"]]
    if not columns:
        raise InputError(f"{path}: no column holds labels, such as '{next(iter(known))} 1'")
    return columns


def _row(where: str, cells: Mapping[str, str], columns: Mapping[str, Attribute]) -> Labelled:
    labels: dict[str, tuple[str | None, ...]] = {}
    for heading, attribute in columns.items():
        label = _label(f"{where}: {heading.partition(':')[0]}", cells.get(heading, ""), attribute)
        labels[attribute.name] = (*labels.get(attribute.name, ()), label)
    picture, face = cells.get("picture", ""), cells.get("face", "")
    if not picture or Path(picture).is_absolute() or ".." in Path(picture).parts:
        raise InputError(f"{where}: picture: '{picture}' is no file in the sheet's folder")
    if not face.isdecimal() or len(face) > MOST_DIGITS or int(face) < 1:
        raise InputError(f"{where}: face: expected a number of at least 1, got '{face[:20]}'")
    return Labelled(Spot(picture, int(face), _box(where, cells.get("box", ""))), labels)


def _box(where: str, cell: str) -> Box | None:
    if not cell:
        return None
    try:
        x, y, width, height = map(float, cell.split())
    except ValueError:
        raise InputError(f"{where}: box: expected 'x y width height' in pixels, got '{cell}'") from None
    if not (width > 0 and height > 0 and all(map(isfinite, (x, y, width, height)))):
        raise InputError(f"{where}: box: expected a width and height above 0, got '{cell}'")
    return x, y, width, height


def _label(where: str, cell: str, attribute: Attribute) -> str | None:
    if not cell:
        return None
    known = dict(_spellings(attribute))
    if cell.casefold() not in known:
        raise InputError(
            f"{where}: '{cell}' is none of {', '.join(allowed(attribute))}{_meant(cell, attribute)}"
        )
    return known[cell.casefold()]


def _spellings(attribute: Attribute) -> Iterator[tuple[str, str]]:
    """What may be written for a label, in any case: the label, its word in a sentence, its aliases."""
    for label in allowed(attribute):
        words = (label, attribute.words.get(label, label), *attribute.aliases.get(label, ()))
        yield from ((word.casefold(), label) for word in words)


def _meant(cell: str, attribute: Attribute) -> str:
    hint = nearest(cell, allowed(attribute))
    return hint if "did you mean" in hint else ""


def _safe(cell: str) -> str:
    """What a spreadsheet would take for a formula is marked as text."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _plain(cell: str) -> str:
    """A cell on one line, without the mark of text."""
    return " ".join(cell.removeprefix("'").split())
