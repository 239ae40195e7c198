"""Decode pictures to pixels, and encode pixels as PNG."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pytest_factorfair.errors import PictureError

if TYPE_CHECKING:
    from PIL import Image

Pixels = NDArray[np.uint8]

# Only some of Pillow's formats, because others are unsafe: EPS, for example, runs another program.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
MOST_PIXELS = 2**26  # 8192 x 8192
MOST_SIDE = 2**15 - 1  # OpenCV's limit
_SIXTEEN_BITS = 2**16 - 1


def decode(encoded: bytes) -> Pixels:
    """Decode a picture to RGB pixels (height, width, 3), rotated as EXIF says, with transparency over white.

    Only the first frame of an animation is decoded. Sixteen bits per channel are reduced to eight.

    Raises:
        PictureError: the picture is empty, truncated, too large, or not a picture; the message is one line.
    """
    from PIL import Image, UnidentifiedImageError  # an extra; 30 ms

    if not encoded:
        raise PictureError("the picture is empty (0 bytes)")
    try:
        with Image.open(BytesIO(encoded), formats=FORMATS) as picture:
            return _pixels(picture)
    except PictureError:
        raise
    except UnidentifiedImageError:
        start = encoded[:256].lstrip().lower()
        content = "data in another format"
        if start.startswith((b"<!doctype html", b"<html")):
            content = "HTML"
        elif start.startswith((b"{", b"[")):
            content = "JSON"
        raise PictureError(f"not a picture but {content} ({len(encoded)} bytes)") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(f"the picture is too large: more than {MOST_PIXELS} pixels") from None
    except Exception as error:  # decoders raise anything for broken data
        raise PictureError(f"the picture is broken: {' '.join(str(error).split())}") from error


def _pixels(picture: Image.Image) -> Pixels:
    from PIL import ImageOps

    width, height = picture.size
    if width * height > MOST_PIXELS or max(width, height) > MOST_SIDE:
        raise PictureError(f"the picture is too large: {width} x {height} pixels")
    ImageOps.exif_transpose(picture, in_place=True)
    if picture.mode == "F" or picture.mode.startswith("I"):
        values = np.asarray(picture)
        if values.dtype.kind == "f" or values.min() < 0 or values.max() > _SIXTEEN_BITS:
            raise PictureError("the picture contains numbers of an unknown range instead of colours")
        # Sixteen bits are scaled to eight, because Pillow would clip them.
        eight = np.rint(values / (_SIXTEEN_BITS / 255)).astype(np.uint8)
        return np.repeat(eight[:, :, None], 3, axis=2)
    if not picture.has_transparency_data:
        return np.asarray(picture if picture.mode == "RGB" else picture.convert("RGB"))
    layer = picture.convert("RGBA")
    ground = layer.copy()
    ground.paste("white", (0, 0, *layer.size))
    ground.alpha_composite(layer)
    return np.asarray(ground.convert("RGB"))


def png(pixels: Pixels) -> bytes:
    """Encode pixels (height, width, 3) as a PNG without metadata."""
    from PIL import Image  # an extra; 30 ms

    content = BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()
