"""Two records of the same pictures: as people see them, and as the detector read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_factorfair.domain import NO_FACE, Answer, Attribute, CaseKey, PromptCase, Reading, Record
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.labelling.human.key import Key, Picture
from pytest_factorfair.labelling.people import Opinion
from pytest_factorfair.labelling.sheet import Labelled, Spot
from pytest_factorfair.reading import outcomes

Seen = Mapping[str, str | None]
"""The majority for one person, by attribute."""


class Compared(NamedTuple):
    """Records of the same pictures, and how many nobody has labelled, which both leave out."""

    people: tuple[Record, ...]
    automatic: tuple[Record, ...]
    unlabelled: int


def aligned(key: Key, faces: Sequence[Labelled], sheet: Path) -> tuple[Labelled, ...]:
    """The rows of a sheet in the order of the key.

    Raises:
        InputError: they are not those of the sample; names the picture.
    """
    rows: dict[Spot, Labelled] = {}
    known = {spot for spots in key.spots.values() for spot in spots}
    for face in faces:
        spot = Spot(face.spot.picture, face.spot.face)
        where = f"{sheet}: picture '{spot.picture}', face {spot.face}"
        if spot not in known:
            raise InputError(f"{where}: is not of this sample{_meant(spot.picture, key)}")
        if spot in rows:
            raise InputError(f"{where}: is there twice")
        rows[spot] = face
    for spots in key.spots.values():
        for spot in spots:
            if spot not in rows:
                raise InputError(f"{sheet}: picture '{spot.picture}', face {spot.face}: its row is missing")
    return tuple(rows[spot] for spots in key.spots.values() for spot in spots)


def compared(key: Key, opinions: Sequence[Opinion], cases: Mapping[str, PromptCase]) -> Compared:
    """What people and the detector say of each case, in the order of the key.

    ``opinions`` are over the aligned rows of its sheet, ``cases`` by id. Every person has an answer, from
    left to right: one without a majority for a group an unread one. Pictures without a label are in neither.
    """
    attributes = {one.attribute.name: one.attribute for one in opinions}
    rows = iter(zip(*(one.seen for one in opinions), strict=True))
    people: list[tuple[Picture, list[Answer]]] = []
    for picture in key.pictures.values():
        seen = [dict(zip(attributes, next(rows), strict=True)) for _ in range(picture.people)]
        about = [attributes[name] for name in cases[picture.case.case].attributes]
        if any(label is not None for one in seen for label in one.values()):
            people.append((picture, [_answer(picture, one, about) for one in seen]))
    automatic = [(picture, picture.answers) for picture, _ in people]
    return Compared(_records(people), _records(automatic), len(key.pictures) - len(people))


def _answer(picture: Picture, seen: Seen, about: Sequence[Attribute]) -> Answer:
    """One person, by the attributes that the case is about.

    Somebody who is there, but of no group that people agree on, is what a face of no known group is to a
    detector: the others of the picture count all the same.
    """
    groups = {
        one.name: label for one in about if (label := seen[one.name]) is not None and label in one.groups
    }
    nobody = any(seen[one.name] == NO_FACE for one in about)
    reading = Reading("answered") if groups else outcomes.NO_FACE if nobody else outcomes.NO_GROUP
    return Answer(
        query=picture.query,
        outcome=reading.outcome,
        reason=reading.reason,
        letter=None,
        groups=groups,
        background={},
        key=picture.key,
        repeat=picture.repeat,
    )


def _records(pictures: Iterable[tuple[Picture, Iterable[Answer]]]) -> tuple[Record, ...]:
    """A record for each case."""
    answers: dict[CaseKey, list[Answer]] = {}
    for picture, found in pictures:
        answers.setdefault(picture.case, []).extend(found)
    return tuple(Record(case, tuple(each)) for case, each in answers.items())


def _meant(name: str, key: Key) -> str:
    """The picture whose name comes closest; there are too many to list."""
    hint = "" if name in key.pictures else nearest(name, key.pictures)
    return hint if "did you mean" in hint else ""
