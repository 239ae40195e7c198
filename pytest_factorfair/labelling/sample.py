"""Pictures drawn for people to label: copies under neutral names, a sheet, instructions and a key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pytest_factorfair.domain import Attribute, Detection
from pytest_factorfair.errors import FactorfairError, InputError
from pytest_factorfair.labelling import sheet
from pytest_factorfair.labelling.instructions import instructions
from pytest_factorfair.labelling.sheet import FOLDER, KEY, README, SHEET, Spot
from pytest_factorfair.pictures.decode import decode, png

Find = Callable[[Iterable[bytes]], Iterable[Detection]]
"""From encoded pictures to the faces in them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How many pictures of each model are drawn, by which seed, and how many people label them."""

    per_model: int = 25
    annotators: int = 3
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture of a model that may be drawn; ``read`` gives its encoded bytes."""

    model: str
    key: str
    read: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Drawn:
    """How many pictures of a model were drawn, of how many it has."""

    model: str
    pictures: int
    among: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A picture under its neutral name, and where it came from."""

    name: str
    model: str
    key: str
    image: bytes


def write(
    folder: Path,
    candidates: Iterable[Candidate],
    attributes: Sequence[Attribute],
    plan: Plan,
    *,
    find: Find | None,
) -> tuple[Drawn, ...]:
    """Draw pictures of each model and lay out what annotators need in an empty folder.

    The same candidates and seed draw the same pictures, in an order that does not tell the models apart.
    ``find`` gives the faces of pictures, a row each; without it a picture is one row.

    Raises:
        InputError: the folder holds something, cannot be written, or there is no picture.
    """
    models: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        models.setdefault(candidate.model, []).append(candidate)
    if not models:
        raise InputError("there are no pictures to draw from")
    make(folder)
    drawn = [one for model in sorted(models) for one in _drawn(models[model], plan)]
    Random(f"{plan.seed}").shuffle(drawn)  # noqa: S311 - a draw anybody can repeat
    digits = len(str(len(drawn)))
    copies = [
        Copy(f"{FOLDER}/{number:0{digits}}.png", one.model, one.key, image)
        for number, (one, image) in enumerate(drawn, 1)
    ]
    try:
        for copy in copies:
            (folder / copy.name).write_bytes(copy.image)
        (folder / KEY).write_text(_key(copies, plan.seed), encoding="utf-8")
        (folder / README).write_text(instructions(attributes, plan.annotators), encoding="utf-8")
        annotators = [str(number) for number in range(1, plan.annotators + 1)]
        sheet.write(folder / SHEET, _spots(copies, find), attributes, annotators)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None
    taken = {model: sum(copy.model == model for copy in copies) for model in sorted(models)}
    return tuple(Drawn(model, count, len(models[model])) for model, count in taken.items())


def make(folder: Path) -> None:
    """Make the folder of a sample. Labels are hours of work: nothing that is there is written over.

    Raises:
        InputError: it holds something, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder}: is not empty; name a new folder, there may be labels in this one")
        (folder / FOLDER).mkdir()
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None


def _drawn(candidates: Sequence[Candidate], plan: Plan) -> Iterator[tuple[Candidate, bytes]]:
    """So many of a model's pictures, each once; one that is gone or broken gives way to the next."""
    by_key = sorted({one.key: one for one in candidates}.values(), key=lambda one: one.key)
    Random(f"{plan.seed} {by_key[0].model}").shuffle(by_key)  # noqa: S311 - a draw anybody can repeat
    left = plan.per_model
    for candidate in by_key:
        if not left:
            return
        try:
            image = neutral(candidate.read())
        except FactorfairError:
            continue
        left -= 1
        yield candidate, image


def neutral(image: bytes) -> bytes:
    """The picture's pixels alone: what a file says besides may tell which model made it, and from what."""
    return png(decode(image))


def _spots(copies: Sequence[Copy], find: Find | None) -> Iterator[Spot]:
    detections = find([copy.image for copy in copies]) if find else [Detection()] * len(copies)
    for copy, detection in zip(copies, detections, strict=True):
        boxes = [face.box for face in detection.faces]
        yield from (Spot(copy.name, number, box) for number, box in enumerate(boxes, 1))
        if not boxes:
            yield Spot(copy.name)


def _key(copies: Sequence[Copy], seed: int) -> str:
    rows: Mapping[str, object] = {
        copy.name: {
            "model": copy.model,
            "key": copy.key,
            "sha256": hashlib.sha256(copy.image).hexdigest(),
        }
        for copy in copies
    }
    return json.dumps({"schema": "factorfair.sample/1", "seed": seed, "pictures": rows}, indent=1) + "\n"
