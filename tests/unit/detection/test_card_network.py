"""The packaged network is what its script makes, and reads what the painter paints."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from pytest_factorfair.detection import build, card_network
from pytest_factorfair.domain import Attribute
from pytest_factorfair.pictures.cards import blank, paint
from pytest_factorfair.pictures.classes import HEADS

CLASSES = tuple(Attribute(head, classes, {}, {}) for head, classes in HEADS.items())
CARDS = 400

Codes = dict[str, int]


def drawn(generator: np.random.Generator) -> Codes:
    return {head: int(generator.integers(len(classes))) for head, classes in HEADS.items()}


def named(codes: Codes) -> dict[str, str]:
    return {head: HEADS[head][number] for head, number in codes.items()}


def jpeg(picture: bytes) -> bytes:
    told = BytesIO()
    Image.open(BytesIO(picture)).save(told, "JPEG", quality=90)
    return told.getvalue()


def read(*pictures: bytes) -> Iterator[list[dict[str, str]]]:
    for detection in build("sim", custom={}).read(pictures, CLASSES):
        assert not detection.error
        yield [dict(face.groups) for face in detection.faces]


def test_the_packaged_file_is_what_the_script_makes() -> None:
    assert card_network.serialised() == card_network.FILE.read_bytes()
    assert card_network.FILE.stat().st_size < 12_000


@pytest.mark.parametrize("encode", [bytes, jpeg], ids=["png", "jpeg90"])
def test_cards_are_read_without_an_error(encode: type[bytes]) -> None:
    generator = np.random.default_rng(5)
    codes = [drawn(generator) for _ in range(CARDS)]
    pictures = [encode(paint(each, seed=seed)) for seed, each in enumerate(codes)]
    assert list(read(*pictures)) == [[named(each)] for each in codes]


@pytest.mark.parametrize("encode", [bytes, jpeg], ids=["png", "jpeg90"])
@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_all_cards_of_a_picture(encode: type[bytes], count: int) -> None:
    generator = np.random.default_rng(count)
    for seed in range(10):
        codes = [drawn(generator) for _ in range(count)]
        (faces,) = read(encode(paint(*codes, seed=seed)))
        assert sorted(map(str, faces)) == sorted(str(named(each)) for each in codes)


def test_faces_come_from_left_to_right() -> None:
    codes = [{"race": 0, "gender": number, "age": number} for number in (1, 0)]
    ((first, second),) = read(paint(*codes, seed=1))
    assert [first, second] == [named(each) for each in codes]


@pytest.mark.parametrize("encode", [bytes, jpeg], ids=["png", "jpeg90"])
def test_no_card_no_face(encode: type[bytes]) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (256, 256, 3), dtype=np.uint8)
    magenta = np.full((200, 200, 3), (255, 0, 255), np.uint8)
    told = []
    for pixels in (noise, magenta):
        kept = BytesIO()
        Image.fromarray(pixels).save(kept, "PNG")
        told.append(kept.getvalue())
    assert list(read(*(encode(each) for each in (blank(1), blank(2), *told)))) == [[], [], [], []]


def test_a_clean_card_is_read_with_confidence() -> None:
    pictures = [paint({"race": race}, seed=race) for race in range(7)]
    detections = build("sim", custom={}).read(pictures, CLASSES)
    assert all(min(each.faces[0].confidence.values()) > 0.99 for each in detections)
