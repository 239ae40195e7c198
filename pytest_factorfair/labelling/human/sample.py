"""Pictures of prompts laid out for evaluators: copies under neutral names, a sheet, instructions, a key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from random import Random

from pytest_factorfair.domain import Attribute, Record
from pytest_factorfair.errors import InputError, PictureError, StoreError
from pytest_factorfair.labelling import sample, sheet
from pytest_factorfair.labelling.human import key
from pytest_factorfair.labelling.human.instructions import instructions
from pytest_factorfair.labelling.human.key import Key, Picture
from pytest_factorfair.labelling.sheet import FOLDER, KEY, README, SHEET


@dataclass(frozen=True, slots=True)
class Plan:
    """How many pictures of each prompt are drawn, by which seed, and who labels them."""

    pictures: int
    evaluators: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture that may be drawn; ``read`` gives its encoded bytes."""

    picture: Picture
    read: Callable[[], bytes]


Pool = tuple[Candidate, ...]
"""All pictures that one model made of one prompt."""


def pictures(record: Record, people: int) -> Iterator[Picture]:
    """The pictures of a record, each of so many people, with what was read off them."""
    for query, faces in groupby(record.answers, key=lambda answer: answer.query):
        answers = tuple(faces)
        yield Picture(record.case, people, query, answers[0].key, answers[0].repeat, answers)


def write(
    folder: Path,
    pools: Sequence[Pool],
    attributes: Sequence[Attribute],
    plan: Plan,
    *,
    checklist: str,
    truth: str,
) -> Key:
    """Draw pictures of each pool and lay out what evaluators need in an empty folder.

    The same pools and seed draw the same pictures, in an order that tells neither model nor prompt.
    One that is gone or broken gives way to the next. ``checklist`` is the hash of its content.

    Raises:
        InputError: the folder holds something, cannot be written, or there is no picture.
    """
    if not any(pools):
        raise InputError("there are no pictures to draw from")
    sample.make(folder)
    copies: dict[str, Picture] = {}
    hashes: dict[str, str] = {}
    try:
        for name, picture, image in _copies(pools, plan):
            (folder / name).write_bytes(image)
            copies[name], hashes[name] = picture, hashlib.sha256(image).hexdigest()
        found = Key(checklist, truth, plan.seed, copies)
        (folder / KEY).write_text(key.to_json(found, hashes), encoding="utf-8")
        (folder / README).write_text(instructions(attributes, plan.evaluators), encoding="utf-8")
        spots = chain.from_iterable(found.spots.values())
        sheet.write(folder / SHEET, spots, attributes, plan.evaluators)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None
    return found


def _copies(pools: Sequence[Pool], plan: Plan) -> Iterator[tuple[str, Picture, bytes]]:
    """Name, origin and pixels of each copy, one at a time: all of them may be larger than memory."""
    chance = Random(f"{plan.seed}")  # noqa: S311 - a draw anybody can repeat
    turns: list[Iterator[tuple[Picture, bytes]]] = []
    for pool in pools:
        shuffled = chance.sample(pool, len(pool))
        turns += [_readable(shuffled)] * min(plan.pictures, len(pool))
    chance.shuffle(turns)
    digits, number = len(str(len(turns))), 0
    for queue in turns:
        for picture, image in islice(queue, 1):
            number += 1
            yield f"{FOLDER}/{number:0{digits}}.png", picture, image


def _readable(queue: Iterable[Candidate]) -> Iterator[tuple[Picture, bytes]]:
    for candidate in queue:
        try:
            image = sample.neutral(candidate.read())
        except (PictureError, StoreError):
            continue
        yield candidate.picture, image
