"""Pictures to perceived groups: decode, find faces, align, classify, map to the checklist's groups."""

from pytest_factorfair.detection.protocol import Detector

__all__ = ["Detector"]
