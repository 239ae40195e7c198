"""A user's own detector: ``python:module:attribute`` or ``python:path/to/file.py:attribute``.

The attribute is one of

- a detector: an object with ``identity``, ``check`` and ``read``;
- a class, or a function without parameters, that returns one;
- a function that takes a picture's pixels, uint8 (height, width, 3) in RGB, and returns the groups of each
  face by attribute: ``[{"gender": "Female", "race": "unclear"}]``.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_factorfair.detection.protocol import Detector, other_words
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.domain import UNCLEAR, Attribute, Detection, Face
from pytest_factorfair.errors import DetectorError, InputError, PictureError
from pytest_factorfair.models.python_object import load
from pytest_factorfair.pictures.decode import Pixels, decode
from pytest_factorfair.redaction import fit


def build(spec: DetectorSpec) -> Detector:
    """Build the detector of a module or file, which is imported immediately.

    Raises:
        InputError: there is no such module, file or attribute, or it is no detector.
    """
    spec.allow()
    return coerce(load(spec.target, f"detector '{spec.text}'"), spec)


def coerce(user_object: Any, spec: DetectorSpec) -> Detector:
    """Convert a user's object (a detector, a factory of one, or a function of pixels) to a detector.

    Raises:
        InputError: the object is none of these, or the factory raises.
        MissingExtraError: the package that reads pictures is not installed.
    """
    spec.need("images", modules=["PIL"])
    if _is_factory(user_object):
        try:
            user_object = user_object()
        except InputError:
            raise
        except Exception as error:  # a user's factory may raise anything
            raise spec.wrong(
                f"calling it without arguments raised {type(error).__name__}: {error}"
            ) from error
    if all(hasattr(user_object, part) for part in ("check", "identity", "read")):
        detector: Detector = user_object
        return detector
    if callable(user_object) and not _is_factory(user_object):
        return FunctionDetector(user_object, spec.text)
    raise spec.wrong(f"{type(user_object).__name__} is neither a detector nor a function of the pixels")


def _is_factory(user_object: object) -> bool:
    return isinstance(user_object, type) or (
        inspect.isfunction(user_object) and not inspect.signature(user_object).parameters
    )


class FunctionDetector:
    """A function of the pixels as a detector; an exception it raises becomes the picture's error."""

    def __init__(self, function: Callable[[Pixels], Iterable[Mapping[str, str]]], name: str) -> None:
        self._function = function
        try:
            file = inspect.getsourcefile(inspect.unwrap(function))
        except TypeError:  # a built-in function or a callable object
            file = None
        content = Path(file).read_bytes() if file and Path(file).is_file() else None
        sha256 = "" if content is None else hashlib.sha256(content).hexdigest()
        self.identity: Mapping[str, object] = {"detector": name, "sha256": sha256}

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Accept all attributes: only its results, in ``first_look``, show which the function perceives."""

    def first_look(self, picture: bytes, attributes: Sequence[Attribute]) -> None:
        """Check that the faces of a picture have a word for every attribute, even if it is "unclear".

        Raises:
            InputError: they lack one, or are no mappings.
        """
        try:
            returned: object = self._function(decode(picture))
            faces = [*returned] if isinstance(returned, Iterable) else returned
        except DetectorError:
            raise
        except Exception:  # noqa: BLE001  # `read` turns it into the error of this picture
            return
        name = f"detector '{self.identity['detector']}'"
        if not isinstance(faces, list) or not all(isinstance(face, Mapping) for face in faces):
            expected = "expected each face's groups, as [{'gender': 'Female', 'race': 'Asian'}]"
            raise InputError(f"{name} returned {fit(repr(returned))}, {expected}")
        words = dict.fromkeys(str(word) for face in faces for word in face)
        lacking = [attribute.name for attribute in attributes if attribute.name not in words]
        if words and lacking:
            raise InputError(
                f"{name} returned {' and '.join(words)}, and the checklist asks about {' and '.join(lacking)}"
                f", too: return that ('{UNCLEAR}' if a picture does not show it), or narrow the checklist to "
                f"what it perceives (only: {{attributes: [{', '.join(words)}]}})"
            )

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        return tuple(self._detection(picture, attributes) for picture in pictures)

    def _detection(self, picture: bytes, attributes: Sequence[Attribute]) -> Detection:
        try:
            pixels = decode(picture)
            height, width = pixels.shape[:2]
            faces, words = [], dict[str, str]()
            for groups in self._function(pixels):
                valid = {
                    attribute.name: groups[attribute.name]
                    for attribute in attributes
                    if groups.get(attribute.name) in attribute.groups
                }
                words |= {name: word for name, word in groups.items() if word not in (None, "", UNCLEAR)}
                faces.append(Face(valid, dict.fromkeys(valid, 1.0), (0, 0, width, height)))
            if words and not any(face.groups for face in faces):
                known = {attribute.name: attribute.groups for attribute in attributes}
                name = next((name for name in words if name in known), next(iter(words)))
                return Detection(unparsed=f"the detector returned {other_words(words[name], name, known)}")
            return Detection(tuple(faces))
        except DetectorError:
            raise
        except PictureError as error:
            return Detection(error=str(error))
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return Detection(error=f"the detector raised {reason}")
