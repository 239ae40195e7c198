"""Records of a sample's pictures: one with people's labels, and one with the detector's answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pytest_factorfair.domain import NO_FACE, Answer, Case, CaseKey, Reading, Record
from pytest_factorfair.domain.answer import from_json, to_json
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.labelling.people import MajorityLabels
from pytest_factorfair.labelling.sheet import LabelledFace, Spot
from pytest_factorfair.reading import outcomes

SCHEMA = "factorfair.human/1"


@dataclass(frozen=True, slots=True)
class JudgedPicture:
    """A picture of a run, which should show ``people`` people, with an answer for each detected face."""

    case: CaseKey
    people: int
    query: str
    key: str
    repeat: int
    answers: tuple[Answer, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.case._asdict(),
            "people": self.people,
            "query": self.query,
            "key": self.key,
            "repeat": self.repeat,
            "answers": json.loads(to_json(self.answers)),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> JudgedPicture:
        shared = {"query": row["query"], "key": row["key"], "repeat": row["repeat"]}
        answers = tuple(from_json(shared | answer) for answer in row["answers"])
        case = CaseKey(row["model"], row["checklist"], row["case"])
        return cls(case, int(row["people"]), **shared, answers=answers)


def pictures(record: Record, people: int) -> Iterator[JudgedPicture]:
    """The pictures of a record, which should each show this number of people, with the detector's answers."""
    for query, faces in groupby(record.answers, key=lambda answer: answer.query):
        answers = tuple(faces)
        yield JudgedPicture(record.case, people, query, answers[0].key, answers[0].repeat, answers)


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a sample: its pictures by their neutral names.

    ``checklist`` is the hash of the checklist's content, ``truth`` its truth set.
    """

    checklist: str
    truth: str
    pictures: Mapping[str, JudgedPicture]

    @property
    def spots(self) -> tuple[Spot, ...]:
        """The rows of the sheet: each person of each picture, from left to right."""
        return tuple(
            Spot(name, face)
            for name, picture in self.pictures.items()
            for face in range(1, picture.people + 1)
        )


def read_key(path: Path) -> Key:
    """Read the key of a sample.

    Raises:
        InputError: the file is missing, unreadable or not the key of a human check.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; it belongs next to the sheet") from None
    except ValueError as error:
        raise InputError(f"{path}: not the key of a sample: {' '.join(str(error).split())}") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"{path}: not the key of a human check: its schema is {schema!r}, expected '{SCHEMA}'"
        )
    try:
        rows = {str(name): JudgedPicture.from_json(row) for name, row in content["pictures"].items()}
        return Key(str(content["checklist"]), str(content["truth"]), rows)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: the key is damaged: {type(error).__name__}: {error}") from None


def aligned(key: Key, faces: Sequence[LabelledFace], sheet: Path) -> tuple[LabelledFace, ...]:
    """Sort the rows of a sheet in the order of the key.

    Raises:
        InputError: the rows are not those of the sample; names the picture.
    """
    rows: dict[Spot, LabelledFace] = {}
    spots = dict.fromkeys(key.spots)
    for face in faces:
        spot = Spot(face.spot.picture, face.spot.face)
        where = f"{sheet}: picture '{spot.picture}', face {spot.face}"
        if spot not in spots:
            known_picture = spot.picture in key.pictures
            suggestion = "" if known_picture else nearest(spot.picture, key.pictures, listing=False)
            raise InputError(f"{where}: is not in this sample{suggestion}")
        if spot in rows:
            raise InputError(f"{where}: appears twice")
        rows[spot] = face
    for spot in spots:
        if spot not in rows:
            raise InputError(f"{sheet}: picture '{spot.picture}', face {spot.face}: its row is missing")
    return tuple(rows[spot] for spot in spots)


class PeopleAndDetector(NamedTuple):
    """Records of the same pictures from people's labels and from the detector's answers.

    ``unlabelled`` is the number of pictures that nobody labelled; they are in neither record.
    """

    people: tuple[Record, ...]
    automatic: tuple[Record, ...]
    unlabelled: int


def compared(
    key: Key, labels_by_attribute: Sequence[MajorityLabels], cases: Mapping[str, Case]
) -> PeopleAndDetector:
    """Build the records of people and of the detector for each case, in the order of the key.

    ``labels_by_attribute`` are about the aligned rows of the sheet, ``cases`` by id. Every person has an
    answer, from left to right; the answer is unparsed if there is no majority for a group.
    """
    attributes = {labels.attribute.name: labels.attribute for labels in labels_by_attribute}
    rows = iter(zip(*(labels.majorities for labels in labels_by_attribute), strict=True))
    people: list[tuple[JudgedPicture, list[Answer]]] = []
    for picture in key.pictures.values():
        labels = [dict(zip(attributes, next(rows), strict=True)) for _ in range(picture.people)]
        if not any(label is not None for person in labels for label in person.values()):
            continue
        about = [attributes[name] for name in cases[picture.case.case].attributes]
        answers = []
        for person in labels:
            groups = {
                attribute.name: label
                for attribute in about
                if (label := person[attribute.name]) is not None and label in attribute.groups
            }
            # A person without a group people agree on is what a face of no known group is to a detector:
            # the other people in the picture still count.
            nobody = any(person[attribute.name] == NO_FACE for attribute in about)
            reading = Reading("answered") if groups else outcomes.NO_FACE if nobody else outcomes.NO_GROUP
            answers.append(
                Answer(
                    query=picture.query,
                    outcome=reading.outcome,
                    reason=reading.reason,
                    letter=None,
                    groups=groups,
                    background={},
                    key=picture.key,
                    repeat=picture.repeat,
                )
            )
        people.append((picture, answers))
    automatic = [(picture, picture.answers) for picture, _ in people]
    return PeopleAndDetector(_records(people), _records(automatic), len(key.pictures) - len(people))


def _records(pictures: Iterable[tuple[JudgedPicture, Iterable[Answer]]]) -> tuple[Record, ...]:
    """A record for each case."""
    by_case: dict[CaseKey, list[Answer]] = {}
    for picture, answers in pictures:
        by_case.setdefault(picture.case, []).extend(answers)
    return tuple(Record(case, tuple(answers)) for case, answers in by_case.items())
