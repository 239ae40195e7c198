"""Read and write the labelling sheet: a CSV with a row per face and a column per attribute and annotator.

A heading such as ``gender 2: Male | Female | unclear | no face`` names the attribute, the annotator and the
allowed labels. Annotators are numbered, or have pseudonyms such as e2.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from pytest_factorfair.domain import NO_FACE, UNCLEAR, Attribute
from pytest_factorfair.errors import InputError, nearest

# Names of the files in a sample's folder.
SHEET, KEY, README, FOLDER = "labels.csv", "key.json", "README.md", "pictures"

PLACE = ("picture", "face", "box")
LARGEST = 20_000_000
MOST_DIGITS = 6

Box = tuple[float, float, float, float]
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HEADING = re.compile(r"(?P<attribute>[^:]+?) (?P<annotator>e?\d+)(:.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spot:
    """A face to be labelled: number ``face`` of a picture, counted from left to right.

    ``box`` is x, y, width and height in pixels; without a box, the picture's largest face is meant.
    """

    picture: str
    face: int = 1
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class LabelledFace:
    """A face with the label of every annotator, by attribute; None for an empty cell."""

    spot: Spot
    labels: Mapping[str, tuple[str | None, ...]]


def allowed(attribute: Attribute) -> tuple[str, ...]:
    """The labels that annotators may use for an attribute."""
    return (*attribute.groups, UNCLEAR, NO_FACE)


def write(
    path: Path, spots: Iterable[Spot], attributes: Sequence[Attribute], annotators: Sequence[str]
) -> None:
    """Write an empty sheet; a cell that a spreadsheet would interpret as a formula is marked as text."""
    headings = [
        f"{attribute.name} {annotator}: {' | '.join(allowed(attribute))}"
        for attribute in attributes
        for annotator in annotators
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        sheet = csv.writer(file)
        sheet.writerow(map(_safe, (*PLACE, *headings)))
        for spot in spots:
            box = " ".join(f"{max(side, 0):.0f}" for side in spot.box or ())
            sheet.writerow(map(_safe, (spot.picture, str(spot.face), box, *[""] * len(headings))))


def _safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def read(path: Path, attributes: Sequence[Attribute]) -> tuple[LabelledFace, ...]:
    """Read a filled-in sheet, separated by commas or semicolons as spreadsheets save it.

    Raises:
        InputError: the file or a column is missing, or a column, picture or label is invalid; names file,
            line and column.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise InputError(f"{path}: is too large for a labelling sheet (more than 20 MB)")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; save it as CSV (UTF-8)") from None
    header = text.partition("\n")[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:  # cells on one line, without the marker for text
        rows = [(lines.line_num, [" ".join(cell.removeprefix("'").split()) for cell in row]) for row in lines]
    except csv.Error as error:
        raise InputError(f"{path}:{lines.line_num}: not a CSV file: {error}") from None
    filled = [(line, row) for line, row in rows if any(row)]
    if not filled:
        raise InputError(f"{path}: the sheet is empty")
    (_, headings), *faces = filled
    columns = _columns(path, headings, attributes)
    labelled = tuple(
        _row(f"{path}:{line}", dict(zip(headings, row, strict=False)), columns) for line, row in faces
    )
    if not any(label for face in labelled for labels in face.labels.values() for label in labels):
        raise InputError(f"{path}: contains no labels yet")
    return labelled


def _columns(path: Path, headings: Sequence[str], attributes: Sequence[Attribute]) -> dict[str, Attribute]:
    """Find the columns of labels: their attributes, by heading."""
    by_name = {attribute.name: attribute for attribute in attributes}
    for name in PLACE:
        if name not in headings:
            raise InputError(f"{path}: column '{name}' is missing")
    columns: dict[str, Attribute] = {}
    for heading in headings:
        if heading in PLACE or not heading:
            continue
        parts = _HEADING.fullmatch(heading)
        if parts is None or parts["attribute"] not in by_name:
            name = parts["attribute"] if parts else heading
            raise InputError(
                f"{path}: column '{name}' is not an attribute of the checklist{nearest(name, by_name)}"
            )
        if heading in columns:
            raise InputError(f"{path}: column '{heading}' appears twice")
        columns[heading] = by_name[parts["attribute"]]
    if not columns:
        raise InputError(f"{path}: there is no column of labels; expected e.g. '{next(iter(by_name))} 1'")
    return columns


def _row(where: str, cells: Mapping[str, str], columns: Mapping[str, Attribute]) -> LabelledFace:
    labels: dict[str, tuple[str | None, ...]] = {}
    for heading, attribute in columns.items():
        label = _label(f"{where}: {heading.partition(':')[0]}", cells.get(heading, ""), attribute)
        labels[attribute.name] = (*labels.get(attribute.name, ()), label)
    picture, face = cells.get("picture", ""), cells.get("face", "")
    if not picture or Path(picture).is_absolute() or ".." in Path(picture).parts:
        raise InputError(f"{where}: picture: '{picture}' is not a path inside the sheet's folder")
    if not face.isdecimal() or len(face) > MOST_DIGITS or int(face) < 1:
        raise InputError(f"{where}: face: expected a number of at least 1, got '{face[:20]}'")
    box: Box | None = None
    if cell := cells.get("box", ""):
        try:
            x, y, width, height = map(float, cell.split())
        except ValueError:
            raise InputError(f"{where}: box: expected 'x y width height' in pixels, got '{cell}'") from None
        box = x, y, width, height
        if not (width > 0 and height > 0 and all(map(isfinite, box))):
            raise InputError(f"{where}: box: expected a width and height above 0, got '{cell}'")
    return LabelledFace(Spot(picture, int(face), box), labels)


def _label(where: str, cell: str, attribute: Attribute) -> str | None:
    """Parse a cell: the label itself, its word in a sentence or an alias, ignoring case; None if empty."""
    if not cell:
        return None
    labels = allowed(attribute)
    spellings = {
        word.casefold(): label
        for label in labels
        for word in (label, attribute.words.get(label, label), *attribute.aliases.get(label, ()))
    }
    if cell.casefold() in spellings:
        return spellings[cell.casefold()]
    suggestion = nearest(cell, labels, listing=False)
    raise InputError(f"{where}: '{cell}' is not one of {', '.join(labels)}{suggestion}")
