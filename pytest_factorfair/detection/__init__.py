"""Detectors: decode pictures, find faces, align and classify them, map classes to the checklist's groups."""

from pytest_factorfair.detection.protocol import (
    AT_ONCE,
    Detector,
    StoredDetector,
    check,
    first_look,
    key,
    merging,
    needs_look,
    read,
    signature,
)
from pytest_factorfair.detection.registry import DetectorSpec, Factory, build

__all__ = [
    "AT_ONCE",
    "Detector",
    "DetectorSpec",
    "Factory",
    "StoredDetector",
    "build",
    "check",
    "first_look",
    "key",
    "merging",
    "needs_look",
    "read",
    "signature",
]
