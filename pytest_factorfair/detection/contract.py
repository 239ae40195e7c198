"""A detector held to its protocol: a user's own may raise, or give, anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import DetectorError, FactorfairError, InputError

AT_ONCE = 64
"""So many encoded pictures are in memory, however many a case has."""


def check(detector: Detector, attributes: Sequence[Attribute]) -> None:
    """Look whether the detector can perceive the groups of these attributes, and say which it is.

    Raises:
        InputError: it cannot, its ``check`` fails, or its identity cannot stand in a report.
    """
    try:
        detector.check(attributes)
        json.dumps(dict(detector.identity))
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the detector cannot be used: {_told(error)}") from error


def read(
    detector: Detector, pictures: Iterable[bytes], attributes: Sequence[Attribute]
) -> Iterator[Detection]:
    """The detection of each picture, in their order.

    Raises:
        DetectorError: the detector cannot work, fails over all pictures, or gives what is no detection.
    """
    groups = {one.name: one.groups for one in attributes}
    waiting = iter(pictures)
    while part := list(islice(waiting, AT_ONCE)):
        for detection in _read(detector, part, attributes):
            for face in detection.faces:
                _check_face(face, groups)
            yield detection


def _read(
    detector: Detector, pictures: Sequence[bytes], attributes: Sequence[Attribute]
) -> Sequence[Detection]:
    try:
        found = tuple(detector.read(pictures, attributes))
    except FactorfairError:
        raise
    except Exception as error:
        raise DetectorError(f"the detector fails: {_told(error)}") from error
    if len(found) != len(pictures):
        raise DetectorError(f"the detector gives {len(found)} detections for {len(pictures)} pictures")
    for one in found:
        if not isinstance(one, Detection):
            raise DetectorError(f"the detector gives {type(one).__name__} where a Detection is due")
    return found


def _check_face(face: Face, groups: Mapping[str, tuple[str, ...]]) -> None:
    if not isinstance(face, Face):
        raise DetectorError(f"the detector gives {type(face).__name__} where a Face is due")
    for name, group in face.groups.items():
        if group not in groups.get(name, ()):
            raise DetectorError(f"the detector perceives '{group}', which is no group of '{name}'")
        if name not in face.confidence:
            raise DetectorError(f"the detector gives no confidence for the '{name}' it perceives")


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
