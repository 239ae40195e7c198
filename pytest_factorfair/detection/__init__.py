"""Pictures to perceived groups: decode, find faces, align, classify, map to the checklist's groups."""

from pytest_factorfair.detection.protocol import Detector, check, read
from pytest_factorfair.detection.registry import DetectorSpec, Factory, build

__all__ = ["Detector", "DetectorSpec", "Factory", "build", "check", "read"]
