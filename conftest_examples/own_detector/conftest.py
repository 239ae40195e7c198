"""Your own detector: it counts a face only if the wrapped detector is confident enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_factorfair.detection import Detector, DetectorSpec, Factory, build
from pytest_factorfair.domain import Attribute, Detection, Face

THRESHOLD = 0.6


class Sure:
    """Wraps a detector, and leaves out groups that it perceives with a probability below ``threshold``."""

    def __init__(self, inner: Detector, threshold: float) -> None:
        self.inner = inner
        self.threshold = threshold

    @property
    def identity(self) -> Mapping[str, object]:
        """Everything that can change a detection; every report shows it."""
        return {"detector": "sure", "threshold": self.threshold, "inner": dict(self.inner.identity)}

    def check(self, attributes: Sequence[Attribute]) -> None:
        self.inner.check(attributes)

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        seen = self.inner.read(pictures, attributes)
        return tuple(replace(detection, faces=tuple(map(self._sure, detection.faces))) for detection in seen)

    def _sure(self, face: Face) -> Face:
        confident = {
            name: group for name, group in face.groups.items() if face.confidence[name] >= self.threshold
        }
        return replace(face, groups=confident)


def sure(spec: DetectorSpec) -> Sure:
    return Sure(build(spec.target, custom={}), THRESHOLD)


def pytest_factorfair_detectors() -> Mapping[str, Factory]:
    return {"sure": sure}
