"""Pictures: decoding, the code cards that simulated models paint, and the classes of face classifiers."""

from __future__ import annotations

import re

_KIND = re.compile(rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpg>\xff\xd8\xff)|(?P<webp>RIFF.{4}WEBP)", re.DOTALL)
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
"""Media types of pictures, by file name extension."""


def kind(image: bytes) -> str | None:
    """The format of a picture according to its first bytes: png, jpg or webp; None for anything else."""
    match = _KIND.match(image)
    return match.lastgroup if match else None
