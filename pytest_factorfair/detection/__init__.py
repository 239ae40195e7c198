"""Pictures to perceived groups: decode, find faces, align, classify, map to the checklist's groups."""

from pytest_factorfair.detection.contract import check, read
from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.detection.registry import Factory, build
from pytest_factorfair.detection.spec import DetectorSpec

__all__ = ["Detector", "DetectorSpec", "Factory", "build", "check", "read"]
