"""Draw prompts and pictures for people to label, and write a folder with everything that annotators need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import floor
from pathlib import Path
from random import Random
from typing import Literal, TypeVar

from pytest_factorfair.domain import NO_FACE, UNCLEAR, Attribute, Case, Detection
from pytest_factorfair.errors import FactorfairError, InputError
from pytest_factorfair.labelling import sheet
from pytest_factorfair.labelling.sheet import FOLDER, KEY, README, SHEET, Box, Spot, allowed
from pytest_factorfair.pictures.decode import decode, png

Find = Callable[[Iterable[bytes]], Iterable[Detection]]
"""A function that finds the faces in encoded pictures."""

Study = Literal["detector", "scores"]
"""The purpose of the labels: a detector's errors, or the scores of a benchmark."""

StratumT = TypeVar("StratumT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture that may be drawn: ``read`` returns its encoded bytes.

    ``origin`` is its entry in the key, ``people`` the number of its rows in the sheet.
    """

    origin: Mapping[str, object]
    read: Callable[[], bytes]
    people: int = 1


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a sample besides its pictures.

    ``key`` are the first fields of the sample's key, ``study`` is the purpose of the labels.
    """

    key: Mapping[str, object]
    study: Study
    attributes: Sequence[Attribute]
    annotators: Sequence[str]


def lay_out(
    folder: Path,
    pools: Sequence[Sequence[Candidate]],
    per_pool: int,
    page: Page,
    *,
    chance: Random,
    find: Find | None = None,
) -> tuple[Candidate, ...]:
    """Write a new folder with the first ``per_pool`` readable pictures of every pool, a sheet and a key.

    Pictures get neutral names, in an order shuffled by ``chance``, which reveals neither model nor prompt.
    With ``find``, the sheet has a row for each detected face, and one for a picture without faces.

    Returns:
        The candidates drawn.

    Raises:
        InputError: there is no picture, or the folder is not empty or cannot be written.
    """
    if not any(pools):
        raise InputError("there are no pictures to draw from")
    turns = [queue for pool in pools for queue in [_readable(pool)] * min(per_pool, len(pool))]
    chance.shuffle(turns)
    digits = len(str(len(turns)))
    drawn: dict[str, Candidate] = {}
    rows: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):  # never overwrite labels, which take hours of work
            raise InputError(f"{folder}: is not empty; name a new folder, this one may contain labels")
        (folder / FOLDER).mkdir()
        for queue in turns:
            for candidate, image in islice(queue, 1):
                name = f"{FOLDER}/{len(drawn) + 1:0{digits}}.png"
                (folder / name).write_bytes(image)
                drawn[name] = candidate
                row = {**candidate.origin, "sha256": hashlib.sha256(image).hexdigest()}
                rows.append(f" {json.dumps(name)}: {json.dumps(row)}")
        head = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in page.key.items()]
        pictures = '"pictures": {\n' + ",\n".join(rows) + "\n}"
        (folder / KEY).write_text("{\n" + ",\n".join([*head, pictures]) + "\n}\n", encoding="utf-8")
        (folder / README).write_text(instructions(page), encoding="utf-8")
        sheet.write(folder / SHEET, _spots(folder, drawn, find), page.attributes, page.annotators)
    except OSError as error:
        raise InputError(f"{folder}: cannot write there: {error.strerror}") from None
    return tuple(drawn.values())


def _readable(pool: Iterable[Candidate]) -> Iterator[tuple[Candidate, bytes]]:
    """The readable candidates, encoded again without metadata, which could reveal the model or prompt."""
    for candidate in pool:
        try:
            image = png(decode(candidate.read()))
        except FactorfairError:
            continue
        yield candidate, image


def _spots(folder: Path, drawn: Mapping[str, Candidate], find: Find | None) -> Iterator[Spot]:
    if find is None:
        for name, candidate in drawn.items():
            yield from (Spot(name, face) for face in range(1, candidate.people + 1))
        return
    detections = find((folder / name).read_bytes() for name in drawn)
    for name, detection in zip(drawn, detections, strict=True):
        boxes: list[Box | None] = [face.box for face in detection.faces]
        yield from (Spot(name, face, box) for face, box in enumerate(boxes or [None], 1))


def draw_prompts(cases: Sequence[Case], share: float, *, seed: int) -> tuple[Case, ...]:
    """Draw a share of the cases, stratified by the first two steps of their path; the order is kept."""
    strata: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        strata.setdefault(case.path[:2], []).append(case)
    drawn: set[str] = set()
    for stratum, size in quotas({name: len(members) for name, members in strata.items()}, share).items():
        chance = Random(f"{seed} {' '.join(stratum)}")  # noqa: S311 - a reproducible draw
        drawn |= {case.id for case in chance.sample(strata[stratum], size)}
    return tuple(case for case in cases if case.id in drawn)


def quotas(sizes: Mapping[StratumT, int], share: float) -> dict[StratumT, int]:
    """How many cases of each stratum to draw: in total the share of all cases, by largest remainders.

    Every stratum contributes at least one.
    """
    exact = {name: max(1.0, share * size) for name, size in sizes.items()}
    whole = {name: floor(size) for name, size in exact.items()}
    remaining = round(share * sum(sizes.values())) - sum(whole.values())
    by_remainder = sorted(exact, key=lambda name: whole[name] - exact[name])
    return whole | {name: whole[name] + 1 for name in by_remainder[: max(remaining, 0)]}


def instructions(page: Page) -> str:
    """The annotators' instructions in Markdown: a content notice, consent, and how to label."""
    values = "\n".join(
        f"   - **{attribute.name}**: {', '.join(f'`{label}`' for label in allowed(attribute))}"
        for attribute in page.attributes
    )
    names = {"sheet": SHEET, "folder": FOLDER, "key": KEY, "unclear": UNCLEAR, "none": NO_FACE}
    return _PAGE.format(annotators=", ".join(page.annotators), values=values, **names, **_STUDIES[page.study])


_STUDIES: Mapping[Study, Mapping[str, str]] = {
    "detector": {
        "title": "Labelling perceived attributes",
        "purpose": "a detector can be compared with people",
        "row": """\
2. A row is a face: the picture, and which face of it, counted from left to right. `box` is x, y, width and
   height in pixels; if it is empty, the largest face of the picture is meant.""",
    },
    "scores": {
        "title": "Human check of a benchmark of text-to-image models",
        "purpose": "scores that a detector gave these models can be compared with scores from people",
        "row": """\
2. A row is one person of a picture. `face` is 1 for the only person, or the one on the left, and 2 for the
   one on the right. If there are more people than rows, label the most prominent; `box` stays empty.""",
    },
}

_PAGE = """# {title}

The pictures in `{folder}/` were made by text-to-image models. The people in them do not exist. You are asked
how they are *perceived*, so that {purpose}.
There is no right answer. The question is not who the person is, only what you take the person for.

## Content notice

The prompts raise stereotypes on purpose: about crime, income, health and occupations, about traits such as
poor or dishonest, about who is whose superior. Some pictures may be degrading, disturbing or malformed. Stop
if you do not want to see them.

## Consent

Take part only if you have read this page, had your questions answered, and agree to all of it.

- Taking part is voluntary. You may skip any picture and stop at any time, without giving a reason.
- Your labels are kept under a pseudonym, not your name: {annotators}. Write nothing else about yourself.
- Your labels are used to evaluate models, never for decisions about people. They may be published together
  with those of the others; until then you can have them deleted.
- Do not pass the pictures on.

## How to label

1. Open `{sheet}` and fill in only the columns with your pseudonym. Do not look at the others' labels.
{row}
3. Write one of these:

{values}

4. Write `{unclear}` if you cannot tell, rather than guess; `{none}` if there is no such person, or no face
   to be seen. Leave a cell empty only if you did not look.
5. Do not change the other columns, and do not add, remove or reorder rows. Save as CSV (UTF-8).

Do not open `{key}` before all labels are in: it says which model made which picture, and from what.
"""
