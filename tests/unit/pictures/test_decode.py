"""Decoding all kinds of pictures that models return, and the errors for others."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from pytest_factorfair.errors import PictureError
from pytest_factorfair.pictures.decode import MOST_PIXELS, decode

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def encoded(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def flag() -> Image.Image:
    """A picture 4 wide and 2 high, red on the left and green on the right."""
    picture = Image.new("RGB", (4, 2), RED)
    picture.paste(GREEN, (2, 0, 4, 2))
    return picture


def png(width: int, height: int) -> bytes:
    """A PNG that states its size but has no content."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"")),
        (b"IEND", b""),
    ]
    chunks = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "TIFF", "GIF"])
def test_formats_without_loss(kind: str) -> None:
    pixels = decode(encoded(flag(), kind, **({"lossless": True} if kind == "WEBP" else {})))
    assert pixels.dtype == np.uint8
    assert pixels.shape == (2, 4, 3)
    assert (pixels[:, :2] == RED).all()
    assert (pixels[:, 2:] == GREEN).all()


def test_jpeg() -> None:
    pixels = decode(encoded(Image.new("RGB", (16, 8), (200, 40, 60)), "JPEG", quality=95))
    assert pixels.shape == (8, 16, 3)
    assert np.abs(pixels.astype(int) - (200, 40, 60)).max() <= 3


@pytest.mark.parametrize(
    ("orientation", "left_top"), [(1, RED), (3, GREEN), (6, RED), (8, GREEN), (2, GREEN)]
)
def test_the_exif_orientation_is_applied(orientation: int, left_top: tuple[int, int, int]) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    pixels = decode(encoded(flag(), exif=exif))
    assert pixels.shape == ((4, 2, 3) if orientation > 4 else (2, 4, 3))
    assert tuple(pixels[0, 0]) == left_top


def test_what_is_transparent_is_white() -> None:
    picture = Image.new("RGBA", (3, 1), (*RED, 255))
    picture.putpixel((1, 0), (*RED, 0))
    picture.putpixel((2, 0), (0, 0, 0, 128))
    assert decode(encoded(picture)).tolist() == [[list(RED), list(WHITE), [127, 127, 127]]]


def test_a_palette_with_a_transparent_colour() -> None:
    picture = Image.new("P", (2, 1), 0)
    picture.putpalette([*RED, *BLUE])
    picture.putpixel((1, 0), 1)
    assert decode(encoded(picture)).tolist() == [[list(RED), list(BLUE)]]
    assert decode(encoded(picture, transparency=0)).tolist() == [[list(WHITE), list(BLUE)]]


def test_grey_of_one_and_eight_and_sixteen_bits() -> None:
    assert decode(encoded(Image.new("1", (1, 1), 1))).tolist() == [[list(WHITE)]]
    assert decode(encoded(Image.new("L", (1, 1), 77))).tolist() == [[[77, 77, 77]]]
    sixteen = Image.fromarray(np.array([[0, 128 * 257, 65535]], np.uint16))
    assert decode(encoded(sixteen)).tolist() == [[[0] * 3, [128] * 3, [255] * 3]]


def test_sixteen_bits_a_channel() -> None:
    body = zlib.compress(b"\0" + struct.pack(">HHH", 65535, 128 * 257, 0))
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)), (b"IDAT", body), (b"IEND", b"")]
    chunks = (
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in parts
    )
    assert decode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).tolist() == [[[255, 128, 0]]]


def test_cmyk() -> None:
    pixels = decode(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=95))
    assert np.abs(pixels.astype(int) - RED).max() <= 4


def test_of_an_animation_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (2, 2), colour) for colour in (RED, GREEN, BLUE)]
    for kind in ("GIF", "WEBP", "PNG"):
        animation = encoded(
            frames[0],
            kind,
            save_all=True,
            append_images=frames[1:],
            **({"lossless": True} if kind == "WEBP" else {}),
        )
        assert (decode(animation) == RED).all()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_truncated_pictures_are_errors(kind: str, share: float) -> None:
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    whole = encoded(noise, kind)
    with pytest.raises(PictureError, match=r"broken|not a picture") as error:
        decode(whole[: int(len(whole) * share)])
    assert "\n" not in str(error.value)


def test_bits_flipped_never_end_in_anything_but_a_picture_error() -> None:
    """Flipped bits raise nothing but PictureError; some pictures still decode, to other colours."""
    generator = np.random.default_rng(2)
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "TIFF"):
        whole = bytearray(encoded(flag().resize((40, 20)), kind))
        for _ in range(60):
            broken = whole.copy()
            for index in generator.integers(0, len(broken), 4).tolist():
                broken[index] ^= 0xFF
            with suppress(PictureError):
                assert decode(bytes(broken)).ndim == 3


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the picture is empty (0 bytes)"),
        (b"<!DOCTYPE html><html>Bad gateway</html>", "not a picture but HTML (39 bytes)"),
        (b'\n {"error": 1}', "not a picture but JSON (14 bytes)"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "not a picture but data in another format (24 bytes)"),
        (png(8193, 8192), "the picture is too large: 8193 x 8192 pixels"),
        (png(32768, 1), "the picture is too large: 32768 x 1 pixels"),
        (png(60000, 60000), f"the picture is too large: more than {MOST_PIXELS} pixels"),
        (png(10000, 10000), f"the picture is too large: more than {MOST_PIXELS} pixels"),
        (encoded(Image.new("F", (2, 2), 0.5), "TIFF"), "the picture contains numbers of an unknown range instead of colours"),
    ],
    ids=["empty", "html", "json", "postscript", "large", "long", "bomb", "huge", "float"],
)  # fmt: skip
def test_a_picture_without_pixels_is_an_error(data: bytes, message: str) -> None:
    with pytest.raises(PictureError) as error:
        decode(data)
    assert str(error.value) == message
