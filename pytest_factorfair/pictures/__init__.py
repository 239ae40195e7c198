"""Encoded pictures to pixels, the code cards that simulated models paint, and the classes of detectors."""

from __future__ import annotations

import re

_KIND = re.compile(rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpg>\xff\xd8\xff)|(?P<webp>RIFF.{4}WEBP)", re.DOTALL)
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
"""Media types by the ending of a picture's file name."""


def kind(image: bytes) -> str | None:
    """What the first bytes of a picture say it is: png, jpg or webp; None for anything else."""
    match = _KIND.match(image)
    return match.lastgroup if match else None
