"""DeepFace, for comparison: ``deepface``, with ``backend=`` for the face detector it is to use.

In the study behind FACT-OR-FAIR it erred over 38 % of races and 21 % of genders, against FairFace's 20 %
and below: it is here to be compared with. It downloads weights of its own when they are first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pytest_factorfair.detection.protocol import Location, Perceived
from pytest_factorfair.errors import DetectorError, PictureError
from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import decode

_RACES = {
    "asian": "Asian",
    "indian": "Indian",
    "black": "Black",
    "white": "White",
    "middle eastern": "Middle Eastern",
    "latino hispanic": "Latino_Hispanic",
}
_GENDERS = {"Man": "Male", "Woman": "Female"}
_OLDEST = HEADS["age"][-1]


class DeepFace:
    """Finds and sorts faces in one call of ``DeepFace.analyze`` per picture."""

    classes: Mapping[str, tuple[str, ...]] = {
        "race": tuple(_RACES.values()),
        "gender": tuple(_GENDERS.values()),
        "age": HEADS["age"],
    }

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._analyze: Any = None

    @property
    def identity(self) -> Mapping[str, object]:
        try:
            installed = version("deepface")
        except PackageNotFoundError:
            installed = "unknown"
        return {"detector": "deepface", "version": installed, "backend": self._backend}

    def load(self) -> None:
        if self._analyze is None:
            try:
                self._analyze = import_module("deepface").DeepFace.analyze
            except (ImportError, AttributeError) as error:
                raise DetectorError(f"deepface cannot be imported: {error}") from error

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[Perceived, ...] | PictureError]:
        self.load()
        for picture in pictures:
            try:
                pixels = decode(picture)[:, :, ::-1]
                yield tuple(map(_perceived, self._analyzed(pixels)))
            except PictureError as error:
                yield error
            except KeyError as error:
                raise DetectorError(f"deepface gives what is not known here, or lacks it: {error}") from error

    def _analyzed(self, pixels: Any) -> list[Mapping[str, Any]]:
        try:
            found = self._analyze(
                img_path=pixels,
                actions=("gender", "race", "age"),
                detector_backend=self._backend,
                enforce_detection=True,
                silent=True,
            )
        except ValueError:  # how it says that there is no face
            return []
        return found if isinstance(found, list) else [found]


def _perceived(found: Mapping[str, Any]) -> Perceived:
    x, y, width, height = (float(found["region"][side]) for side in "xywh")
    return Perceived(
        Location((x, y, width, height), score=float(found.get("face_confidence", 1))),
        {
            "race": {_RACES[name]: float(share) / 100 for name, share in found["race"].items()},
            "gender": {_GENDERS[name]: float(share) / 100 for name, share in found["gender"].items()},
            "age": {_age_class(float(found["age"])): 1.0},
        },
    )


def _age_class(years: float) -> str:
    """The class of an age in years; DeepFace gives a number, and no probability."""
    return next((name for name in HEADS["age"][:-1] if years < int(name.partition("-")[2]) + 1), _OLDEST)
