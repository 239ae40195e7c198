"""A detector of the user's own: ``python:module:attribute`` or ``python:path/to/file.py:attribute``.

The attribute is a detector (an object with ``identity``, ``check`` and ``read``); a class, or a function
without parameters, that makes one; or a function of a picture's pixels, uint8 (height, width, 3) in RGB,
that gives the groups of each face by attribute: ``[{"gender": "Female", "race": "Asian"}]``.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.detection.spec import DetectorSpec
from pytest_factorfair.domain import Attribute, Detection, Face
from pytest_factorfair.errors import DetectorError, InputError, PictureError
from pytest_factorfair.models.python_object import load
from pytest_factorfair.pictures.decode import Pixels, decode

_PARTS = ("check", "identity", "read")


def build(spec: DetectorSpec) -> Detector:
    """The detector that a module or file holds, imported at once.

    Raises:
        InputError: there is no such module, file or attribute, or it is nothing that can read a picture.
    """
    spec.allow()
    return coerce(load(spec.target, f"detector '{spec.text}'"), spec)


def coerce(thing: object, spec: DetectorSpec) -> Detector:
    """A detector out of what a user gives for one.

    Raises:
        InputError: the thing is neither a detector nor a function of pixels, or a factory raises.
    """
    made: Any = _made(thing, spec) if _is_factory(thing) else thing
    if all(hasattr(made, part) for part in _PARTS):
        detector: Detector = made
        return detector
    if callable(made) and not _is_factory(made):
        return FunctionDetector(made, spec.text)
    raise spec.wrong(f"{type(made).__name__} is neither a detector nor a function of the pixels")


class FunctionDetector:
    """A function of the pixels as a detector; what it raises is that picture's error."""

    def __init__(self, function: Callable[[Pixels], Iterable[Mapping[str, str]]], name: str) -> None:
        self._function = function
        self.identity: Mapping[str, object] = {"detector": name, "sha256": _source(function)}

    def check(self, attributes: Sequence[Attribute]) -> None:
        """What a function can tell shows when it is called."""

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        return tuple(self._detection(picture, attributes) for picture in pictures)

    def _detection(self, picture: bytes, attributes: Sequence[Attribute]) -> Detection:
        try:
            pixels = decode(picture)
            return Detection(tuple(_face(groups, pixels, attributes) for groups in self._function(pixels)))
        except DetectorError:
            raise
        except PictureError as error:
            return Detection(error=str(error))
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return Detection(error=f"the detector raised {reason}")


def _face(groups: Mapping[str, str], pixels: Pixels, attributes: Sequence[Attribute]) -> Face:
    known = {each.name: groups[each.name] for each in attributes if groups.get(each.name) in each.groups}
    height, width = pixels.shape[:2]
    return Face(known, dict.fromkeys(known, 1.0), (0, 0, width, height))


def _is_factory(thing: object) -> bool:
    if isinstance(thing, type):
        return True
    return inspect.isfunction(thing) and not inspect.signature(thing).parameters


def _made(thing: Any, spec: DetectorSpec) -> object:
    try:
        return thing()
    except InputError:
        raise
    except Exception as error:
        raise spec.wrong(f"making it raised {type(error).__name__}: {error}") from error


def _source(function: object) -> str:
    """The SHA-256 of the file the function stands in; empty where there is none."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(function))  # type: ignore[arg-type]  # or TypeError
    except TypeError:
        file = None
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and Path(file).is_file() else ""
