"""What a detector sees in a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Face:
    """One face and the groups a detector perceives in it, by attribute.

    An attribute whose class is none of the checklist's groups is left out. ``confidence`` is the
    detector's probability for each group named; ``box`` is x, y, width and height in pixels.
    """

    groups: Mapping[str, str]
    confidence: Mapping[str, float]
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Detection:
    """All faces of one picture, from left to right; ``error`` says why the picture could not be read."""

    faces: tuple[Face, ...] = ()
    error: str = ""
