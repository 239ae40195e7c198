"""Your own detector: it counts a face only if the wrapped detector is confident enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_factorfair.detection import Detector, DetectorSpec, Factory, build
from pytest_factorfair.domain import Attribute, Detection, Face

LEAST = 0.6


class Sure:
    """Leaves out what another detector perceives with less than ``least`` probability."""

    def __init__(self, inner: Detector, least: float) -> None:
        self.inner = inner
        self.least = least

    @property
    def identity(self) -> Mapping[str, object]:
        """Everything that can change a reading; every report shows it."""
        return {"detector": "sure", "least": self.least, "inner": dict(self.inner.identity)}

    def check(self, attributes: Sequence[Attribute]) -> None:
        self.inner.check(attributes)

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        seen = self.inner.read(pictures, attributes)
        return tuple(replace(one, faces=tuple(map(self._sure, one.faces))) for one in seen)

    def _sure(self, face: Face) -> Face:
        kept = {name: group for name, group in face.groups.items() if face.confidence[name] >= self.least}
        return replace(face, groups=kept)


def sure(spec: DetectorSpec) -> Sure:
    return Sure(build(spec.target, custom={}), LEAST)


def pytest_factorfair_detectors() -> Mapping[str, Factory]:
    return {"sure": sure}
