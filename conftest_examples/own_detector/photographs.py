"""A stand-in for an image model: it answers every prompt with one of the photographs of a folder."""

from __future__ import annotations

import zlib
from pathlib import Path

PHOTOGRAPHS = sorted(Path("package/demo").glob("sample*.jpg"))


def photograph(prompt: str) -> bytes:
    return PHOTOGRAPHS[zlib.crc32(prompt.encode()) % len(PHOTOGRAPHS)].read_bytes()
