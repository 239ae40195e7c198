"""The key of a human check: which picture is which, and what the detector read off it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_factorfair.domain import Answer, CaseKey
from pytest_factorfair.errors import InputError
from pytest_factorfair.labelling.sheet import Spot

SCHEMA = "factorfair.human/1"


@dataclass(frozen=True, slots=True)
class Picture:
    """One query of a run, of so many ``people``, with an answer for each face the detector found."""

    case: CaseKey
    people: int
    query: str
    key: str
    repeat: int
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """The pictures of a sample by their neutral names, drawn by ``seed``.

    ``checklist`` is the hash of its content, ``truth`` the truth set its shares are of.
    """

    checklist: str
    truth: str
    seed: int
    pictures: Mapping[str, Picture]

    @property
    def spots(self) -> Mapping[str, tuple[Spot, ...]]:
        """The people of each picture, from left to right: the rows of its sheet."""
        return {
            name: tuple(Spot(name, face) for face in range(1, one.people + 1))
            for name, one in self.pictures.items()
        }


def to_json(key: Key, hashes: Mapping[str, str]) -> str:
    """The key as text, a picture a line; ``hashes`` are the SHA-256 of the copies by name."""
    head = {"schema": SCHEMA, "checklist": key.checklist, "truth": key.truth, "seed": key.seed}
    rows = (
        f" {json.dumps(name)}: {json.dumps(_row(picture) | {'sha256': hashes[name]})}"
        for name, picture in key.pictures.items()
    )
    fields = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    return "{\n" + ",\n".join([*fields, '"pictures": {\n' + ",\n".join(rows) + "\n}"]) + "\n}\n"


def read(path: Path) -> Key:
    """Read the key of a sample.

    Raises:
        InputError: one line: it is missing, unreadable or no key of a human check.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; it belongs beside the sheet") from None
    except ValueError as error:
        raise InputError(f"{path}: not the key of a sample: {' '.join(str(error).split())}") from None
    schema = told.get("schema") if isinstance(told, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"{path}: not the key of a human check: its schema is {schema!r}, '{SCHEMA}' is needed"
        )
    try:
        pictures = {str(name): _picture(row) for name, row in told["pictures"].items()}
        return Key(str(told["checklist"]), str(told["truth"]), int(told["seed"]), pictures)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: a damaged key: {type(error).__name__}: {error}") from None


def _row(picture: Picture) -> dict[str, Any]:
    return {
        **picture.case._asdict(),
        "people": picture.people,
        "query": picture.query,
        "key": picture.key,
        "repeat": picture.repeat,
        "answers": [
            {
                "outcome": one.outcome,
                "reason": one.reason,
                "groups": dict(one.groups),
                "confidence": dict(one.confidence),
            }
            for one in picture.answers
        ],
    }


def _picture(row: Mapping[str, Any]) -> Picture:
    return Picture(
        CaseKey(row["model"], row["checklist"], row["case"]),
        int(row["people"]),
        row["query"],
        row["key"],
        row["repeat"],
        tuple(
            Answer(
                query=row["query"],
                outcome=one["outcome"],
                reason=one["reason"],
                letter=None,
                groups=one["groups"],
                background={},
                key=row["key"],
                repeat=row["repeat"],
                confidence=one["confidence"],
            )
            for one in row["answers"]
        ),
    )
