"""A detector that errs at a known rate: what correcting for its errors is tried on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.domain import Attribute, Detection, Face


class Flipping:
    """Takes each group for another one with the probability ``rate``, all others being alike likely.

    So its confusion table has 1 - rate on the diagonal and rate / (k - 1) beside it. The draw hangs on the
    picture's content, the face's place in it and the attribute: the same picture is always misread alike.
    """

    def __init__(self, inner: Detector, rate: float) -> None:
        self._inner = inner
        self._rate = rate

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self._inner.identity, "flip": self._rate}

    def check(self, attributes: Sequence[Attribute]) -> None:
        self._inner.check(attributes)

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        return tuple(
            Detection(self._flipped(picture, detection.faces, attributes), detection.error)
            for picture, detection in zip(pictures, self._inner.read(pictures, attributes), strict=True)
        )

    def _flipped(
        self, picture: bytes, faces: Sequence[Face], attributes: Sequence[Attribute]
    ) -> tuple[Face, ...]:
        seed = int.from_bytes(hashlib.sha256(picture).digest()[:8])
        return tuple(self._misread(face, attributes, (seed, place)) for place, face in enumerate(faces))

    def _misread(self, face: Face, attributes: Sequence[Attribute], seed: tuple[int, ...]) -> Face:
        groups = dict(face.groups)
        for attribute in attributes:
            if attribute.name in groups:
                errs, draw = np.random.default_rng([*seed, *attribute.name.encode()]).random(2)
                others = [group for group in attribute.groups if group != groups[attribute.name]]
                if errs < self._rate:
                    groups[attribute.name] = others[int(draw * len(others))]
        return Face(groups, face.confidence, face.box)
