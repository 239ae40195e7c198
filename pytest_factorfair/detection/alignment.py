"""Compare whole pictures with sentences, as the published scripts do: ``clip:FOLDER?align=published-code``.

Faces are not detected. A picture shows a person if "a people" has a probability of at least ``person`` (0.2)
against "not a people"; each attribute is a softmax over bare labels. For two people, sentences about the
whole picture are used, too: "people on the left is man". Each person gets the likeliest group, and the
probabilities of all groups as ``shares``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from pytest_factorfair.detection.clip_checkpoint import Checkpoint
from pytest_factorfair.detection.protocol import Floats, decoded
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import DetectorError, InputError
from pytest_factorfair.pictures.decode import Pixels

OPTIONS = ("align", "device", "person")

ONE = ("a people", "not a people")
TWO = tuple(f"{no}one people on the left and one people on the right" for no in ("", "not "))
PEOPLE = ("{}", "people on the left is {}", "people on the right is {}")
"""The sentence templates about a single person, and about the left and the right of two."""

LABELS: Mapping[str, str] = {
    "man": "man",
    "woman": "woman",
    "european": "European",
    "east_asian": "East-asian",
    "african": "African",
    "latino": "Latino",
    "south_asian": "South-Asian",
    "young": "10~29 years old",
    "middle_aged": "31~59 years old",
    "elderly": "60 years old or older",
}
"""The labels of the published scripts."""

BATCH = 32
DIGITS = 6
"""Decimals of a share: the precision of a 32-bit float."""


class AlignmentDetector:
    """Reads the only person of a picture, or a left and a right one, by comparison with sentences."""

    def __init__(self, name: str, checkpoint: Checkpoint, *, person: float) -> None:
        self._name = name
        self._checkpoint = checkpoint
        self._person = person
        self._known: dict[str, Any] = {}

    @property
    def identity(self) -> Mapping[str, object]:
        return {
            "detector": "clip",
            "sha256": self._checkpoint.sha256,
            "align": "published-code",
            "person": self._person,
        }

    def check(self, attributes: Sequence[Attribute]) -> None:
        for attribute in attributes:
            if len(set(labels(attribute))) < attribute.k:
                raise InputError(
                    f"detector '{self._name}': two groups of '{attribute.name}' have the same label"
                )
        try:
            self._checkpoint.load()
        except DetectorError as error:
            raise InputError(f"detector '{self._name}': {error}") from error

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        self._checkpoint.load()
        detections: dict[int, Detection] = {}
        sizes: dict[int, tuple[int, int]] = {}
        squares = []
        for index, pixels in enumerate(map(decoded, pictures)):
            if isinstance(pixels, Detection):
                detections[index] = pixels
            else:
                sizes[index] = pixels.shape[1], pixels.shape[0]
                squares.append(cropped(pixels, self._checkpoint.side))
        if squares:
            detections |= zip(sizes, self._aligned(squares, [*sizes.values()], attributes), strict=True)
        return tuple(detections[index] for index in range(len(pictures)))

    def _aligned(
        self, squares: Sequence[Pixels], sizes: Sequence[tuple[int, int]], attributes: Sequence[Attribute]
    ) -> Iterator[Detection]:
        """The detections of pictures that were cropped to squares; ``sizes`` are the original ones."""
        torch = import_module("torch")
        with torch.inference_mode():
            batches = torch.from_numpy(np.stack(squares).transpose(0, 3, 1, 2)).split(BATCH)
            to = self._checkpoint.model.device
            rows = torch.cat([self._checkpoint.pictures(batch.to(to).float() / 255) for batch in batches])
            has_one, has_two = (self._softmax(rows, pair)[:, 0] >= self._person for pair in (ONE, TWO))
            shares = [
                [
                    self._softmax(rows, [form.format(label) for label in labels(attribute)]).tolist()
                    for attribute in attributes
                ]
                for form in PEOPLE
            ]
        for index, (width, height) in enumerate(sizes):
            half = width / 2
            boxes = (0, 0, width, height), (0, 0, half, height), (half, 0, half, height)
            whole, *sides = (
                _person(attributes, [by_picture[index] for by_picture in by_attribute], box)
                for by_attribute, box in zip(shares, boxes, strict=True)
            )
            yield Detection((whole,) if has_one[index] else (), sides=tuple(sides) if has_two[index] else ())

    def _softmax(self, pictures: Any, sentences: Sequence[str]) -> Floats:
        """The probability of each sentence for each picture, shape (pictures, sentences)."""
        if unseen := {sentence: (sentence,) for sentence in sentences if sentence not in self._known}:
            self._known |= zip(unseen, self._checkpoint.texts(unseen), strict=True)
        texts = import_module("torch").stack([self._known[sentence] for sentence in sentences])
        return np.asarray((pictures @ texts.T).softmax(dim=1).float().cpu().numpy())


def labels(attribute: Attribute) -> tuple[str, ...]:
    """The label of each group: the published scripts' or, if they have none, the checklist's word for it."""
    return tuple(LABELS.get(group, attribute.words.get(group, group)) for group in attribute.groups)


def _person(
    attributes: Sequence[Attribute], rows: Sequence[Sequence[float]], box: tuple[float, float, float, float]
) -> Face:
    shares = {
        attribute.name: {
            group: round(share, DIGITS) for group, share in zip(attribute.groups, row, strict=True)
        }
        for attribute, row in zip(attributes, rows, strict=True)
    }
    groups = {name: max(by_group, key=lambda group: by_group[group]) for name, by_group in shares.items()}
    return Face(groups, {name: shares[name][group] for name, group in groups.items()}, box, shares)


def cropped(pixels: Pixels, side: int) -> Pixels:
    """Scale a picture's shorter side to ``side``, and crop the centre (side, side, 3): the input of CLIP.

    If the centre lies between two pixels, it is rounded to even, as in OpenAI's package clip, which the
    published scripts use (torchvision's ``center_crop``); transformers rounds down.
    """
    from PIL import Image

    picture = Image.fromarray(pixels)
    shorter = min(picture.size)
    width, height = (side * length // shorter for length in picture.size)
    left, top = round((width - side) / 2), round((height - side) / 2)
    scaled = picture.resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(scaled.crop((left, top, left + side, top + side)))
