"""What kept detections are found by, and a detector all of whose detections are kept."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_factorfair.detection.protocol import Detector, digest
from pytest_factorfair.domain import Attribute, Detection, plural
from pytest_factorfair.errors import DetectorError

REVISION = 1
"""To be raised by a change of this package after which a built-in detector reads pictures differently."""

OURS = "pytest_factorfair."


def signature(detector: Detector) -> dict[str, Any] | None:
    """All that tells a detector from others, as JSON values; None if its code may change unnoticed.

    The file of a user's detector belongs to it, as the identity may not mention what its author edits.
    """
    if isinstance(detector, Stored):
        return dict(detector.signature)
    detector = getattr(detector, "local", detector)  # of which a cluster has replicas
    identity, kind = dict(detector.identity), type(detector)
    if identity.get("sha256") == "":  # a function without a file, such as one of a notebook
        return None
    source = ""
    if not kind.__module__.startswith(OURS):
        try:
            source = digest(Path(inspect.getfile(kind)))
        except (TypeError, OSError):  # a class without a file
            return None
    return {"identity": identity, "source": source, "revision": REVISION}


def key(detector: Detector, attributes: Sequence[Attribute]) -> str | None:
    """The hash of a detector and of the attributes that it reads; None if detections cannot be kept."""
    found = signature(detector)
    if found is None:
        return None
    parts = [found, *(asdict(each) for each in attributes)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Stored:
    """A detector that cannot be built here, for pictures that it has read elsewhere."""

    def __init__(self, name: str, signature: Mapping[str, Any]) -> None:
        self._name = name
        self.signature = signature

    @property
    def identity(self) -> Mapping[str, object]:
        identity: Mapping[str, object] = self.signature["identity"]
        return identity

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Accept all attributes: what is not kept is reported by ``read``."""

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        names = " and ".join(each.name for each in attributes)
        raise DetectorError(
            f"detector '{self._name}' cannot be used here, and the store lacks what it sees of {names} in "
            f"{plural(len(pictures), 'picture')} of a case"
        )
