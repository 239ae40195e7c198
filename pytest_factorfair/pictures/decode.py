"""Encoded pictures to pixels, whatever a model, an endpoint or a folder may hold."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]

# Not all that Pillow knows: EPS, for one, runs another program.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
MOST_PIXELS = 2**26  # 8192 x 8192
MOST_SIDE = 2**15 - 1  # OpenCV goes no further
_SIXTEEN_BITS = 2**16 - 1


def decode(data: bytes) -> Pixels:
    """The pixels (height, width, 3) in RGB, upright as EXIF says, over white where it is transparent.

    Of an animation the first frame counts, as a viewer of stills shows it. Sixteen bits become eight.

    Raises:
        PictureError: one line on why there are no pixels: empty, cut short, no picture at all, too large.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError  # an extra; 30 ms

    if not data:
        raise PictureError("the picture is empty (0 bytes)")
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            _check_size(*picture.size)
            ImageOps.exif_transpose(picture, in_place=True)
            return _in_rgb(picture)
    except PictureError:
        raise
    except UnidentifiedImageError:
        raise PictureError(f"no picture but {_looks_like(data)} ({len(data)} bytes)") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(f"the picture is too large: more than {MOST_PIXELS} pixels") from None
    except Exception as error:  # what a decoder raises over broken data is anyone's guess
        raise PictureError(f"the picture is broken: {' '.join(str(error).split())}") from error


def _check_size(width: int, height: int) -> None:
    if width * height > MOST_PIXELS or max(width, height) > MOST_SIDE:
        raise PictureError(f"the picture is too large: {width} x {height} pixels")


def _in_rgb(picture: Image.Image) -> Pixels:
    if picture.mode == "F" or picture.mode.startswith("I"):
        return _grey(np.asarray(picture))
    if not picture.has_transparency_data:
        return np.asarray(picture if picture.mode == "RGB" else picture.convert("RGB"))
    layer = picture.convert("RGBA")
    ground = layer.copy()
    ground.paste("white", (0, 0, *layer.size))
    ground.alpha_composite(layer)
    return np.asarray(ground.convert("RGB"))


def _grey(values: NDArray[Any]) -> Pixels:
    """Sixteen bits scaled to eight: Pillow itself would clip them."""
    if values.dtype.kind == "f" or values.min() < 0 or values.max() > _SIXTEEN_BITS:
        raise PictureError("the picture holds numbers of no known range in place of colours")
    eight = np.rint(values / (_SIXTEEN_BITS / 255)).astype(np.uint8)
    return np.repeat(eight[:, :, None], 3, axis=2)


def _looks_like(data: bytes) -> str:
    start = data[:256].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    if start.startswith((b"{", b"[")):
        return "JSON"
    return "something in another format"
