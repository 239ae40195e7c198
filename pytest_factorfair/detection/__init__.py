"""Detectors: decode pictures, find faces, align and classify them, map classes to the checklist's groups."""

from pytest_factorfair.detection.protocol import (
    AT_ONCE,
    Detector,
    StoredDetector,
    check,
    key,
    merging,
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
    "key",
    "merging",
    "read",
    "signature",
]
