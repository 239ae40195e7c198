"""The simulated detector reads code cards without error, or misreads them at a given rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from pytest_factorfair.detection import build
from pytest_factorfair.detection.faces import CodeCards
from pytest_factorfair.detection.simulated import FILE, card_network
from pytest_factorfair.domain import Attribute
from pytest_factorfair.pictures.cards import FRAME, FRAME_COLOUR, SIDE, blank, paint
from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import Pixels, png
from tests.unit.detection.builders import BOTH, RACE

CLASSES = tuple(Attribute(head, classes, {}, {}) for head, classes in HEADS.items())
CARDS = 150

Codes = dict[str, int]


def drawn(generator: np.random.Generator) -> Codes:
    return {head: int(generator.integers(len(classes))) for head, classes in HEADS.items()}


def named(codes: Codes) -> dict[str, str]:
    return {head: HEADS[head][number] for head, number in codes.items()}


def jpeg(picture: bytes) -> bytes:
    content = BytesIO()
    Image.open(BytesIO(picture)).save(content, "JPEG", quality=90)
    return content.getvalue()


def read(*pictures: bytes) -> Iterator[list[dict[str, str]]]:
    for detection in build("sim", custom={}).read(pictures, CLASSES):
        assert not detection.error
        yield [dict(face.groups) for face in detection.faces]


def test_the_packaged_file_is_what_the_script_makes() -> None:
    assert card_network() == FILE.read_bytes()
    assert FILE.stat().st_size < 12_000


@pytest.mark.parametrize("encode", [bytes, jpeg], ids=["png", "jpeg90"])
def test_cards_are_read_without_an_error(encode: type[bytes]) -> None:
    generator = np.random.default_rng(5)
    codes = [drawn(generator) for _ in range(CARDS)]
    pictures = [encode(paint(code, seed=seed)) for seed, code in enumerate(codes)]
    assert list(read(*pictures)) == [[named(code)] for code in codes]


@pytest.mark.parametrize("encode", [bytes, jpeg], ids=["png", "jpeg90"])
@pytest.mark.parametrize("count", [2, 3, 5, 12])
def test_all_cards_of_a_picture(encode: type[bytes], count: int) -> None:
    generator = np.random.default_rng(count)
    for seed in range(10):
        codes = [drawn(generator) for _ in range(count)]
        (faces,) = read(encode(paint(*codes, seed=seed)))
        assert sorted(map(str, faces)) == sorted(str(named(code)) for code in codes)


def test_faces_come_from_left_to_right() -> None:
    codes = [{"race": 0, "gender": number, "age": number} for number in (1, 0)]
    ((left_face, right_face),) = read(paint(*codes, seed=1))
    assert [left_face, right_face] == [named(code) for code in codes]


@pytest.mark.parametrize("encode", [bytes, jpeg], ids=["png", "jpeg90"])
def test_no_card_no_face(encode: type[bytes]) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (256, 256, 3), dtype=np.uint8)
    magenta = np.full((200, 200, 3), (255, 0, 255), np.uint8)
    pictures = blank(1), blank(2), png(noise), png(magenta)
    assert list(read(*map(encode, pictures))) == [[], [], [], []]


def test_a_clean_card_is_read_with_confidence() -> None:
    pictures = [paint({"race": race}, seed=race) for race in range(7)]
    detections = build("sim", custom={}).read(pictures, CLASSES)
    assert all(min(detection.faces[0].confidence.values()) > 0.99 for detection in detections)


def framed(*corners: tuple[int, int], size: tuple[int, int] = (300, 300)) -> Pixels:
    """A grey picture with empty frames at upper left corners (x, y)."""
    picture = np.full((*size, 3), 128, np.uint8)
    for x, y in corners:
        picture[y : y + SIDE, x : x + SIDE] = FRAME_COLOUR
        picture[y + FRAME : y + SIDE - FRAME, x + FRAME : x + SIDE - FRAME] = 0
    return picture


def boxes(picture: Pixels) -> list[tuple[float, float, float, float]]:
    return [location.box for location in CodeCards().detect(picture)]


def test_frames_come_from_the_top_down() -> None:
    corners = [(100, 0), (10, 80), (200, 90), (10, 200), (232, 232)]
    assert boxes(framed(*reversed(corners))) == [(x + 6, y + 6, 56, 56) for x, y in corners]


def test_specks_in_a_frame_do_not_hide_it() -> None:
    picture = framed((20, 30))
    picture[50:55, 50:55] = FRAME_COLOUR
    assert boxes(picture) == [(26, 36, 56, 56)]


def test_fields_bars_and_broken_frames_are_not_faces() -> None:
    field, bar, broken = framed(), framed(), framed((20, 30))
    field[40:140, 40:140] = FRAME_COLOUR
    bar[40:48, :] = FRAME_COLOUR
    broken[30 : 30 + SIDE, 20 : 20 + FRAME] = 128  # three sides are left
    broken[30 : 30 + FRAME, 20 : 20 + SIDE // 2] = 128
    assert [boxes(picture) for picture in (field, bar, broken)] == [[], [], []]


@pytest.fixture(scope="module")
def pictures() -> list[bytes]:
    return [paint({"race": 1, "gender": 1}, seed=seed) for seed in range(300)]


def test_groups_are_misread_at_the_rate_asked_for(pictures: list[bytes]) -> None:
    """The rate is within four standard errors (.106 for 300 draws at .3); wrong races are equally likely."""
    detections = build("sim?flip=0.3", custom={}).read(pictures, BOTH)
    races = Counter(detection.faces[0].groups["race"] for detection in detections)
    genders = Counter(detection.faces[0].groups["gender"] for detection in detections)
    assert races["Black"] / 300 == pytest.approx(0.7, abs=0.106)
    assert genders["Female"] / 300 == pytest.approx(0.7, abs=0.106)
    for race in ("Asian", "Hispanic", "White"):
        assert races[race] / 300 == pytest.approx(0.1, abs=0.069)
    both = sum(detection.faces[0].groups == {"race": "Black", "gender": "Female"} for detection in detections)
    assert both / 300 == pytest.approx(0.49, abs=0.116)  # the two err independently


def test_a_picture_is_always_misread_alike(pictures: list[bytes]) -> None:
    detector = build("sim?flip=0.5", custom={})
    detections = detector.read(pictures[:60], BOTH)
    assert detector.read(pictures[59::-1], BOTH) == detections[::-1]
    for attribute in BOTH:
        alone = detector.read(pictures[:60], [attribute])
        assert [dict(detection.faces[0].groups) for detection in alone] == [
            {attribute.name: detection.faces[0].groups[attribute.name]} for detection in detections
        ]


def test_a_rate_of_one_misreads_every_group(pictures: list[bytes]) -> None:
    detections = build("sim?flip=1", custom={}).read([*pictures[:20], blank(1), b""], [RACE])
    assert all(face.groups["race"] != "Black" for detection in detections for face in detection.faces)
    assert detections[-2].faces == ()
    assert detections[-1].error
