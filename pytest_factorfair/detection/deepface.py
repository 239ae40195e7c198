"""The detector ``deepface``, for comparison; ``backend=`` selects its face detector.

In the study of Huang et al. (2025) it misclassified 38 % of races and 21 % of genders, compared with at most
20 % for FairFace. It downloads its own weights on first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from pytest_factorfair.detection import groups
from pytest_factorfair.detection.protocol import Detector, Location, PerceivedFace
from pytest_factorfair.detection.registry import DetectorSpec
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


def build(spec: DetectorSpec) -> Detector:
    """Build the detector ``deepface?backend=...``.

    Raises:
        InputError: an option is wrong, or deepface is not installed.
        MissingExtraError: a package of the extra ``images`` is not installed.
    """
    spec.allow(*groups.OPTIONS, "backend")
    spec.need("images")
    if not find_spec("deepface"):
        raise spec.wrong("it needs a package that is not installed: pip install deepface")
    return groups.PictureDetector(spec, DeepFace(spec.options.get("backend", "retinaface")))


class DeepFace:
    """Finds and classifies faces in one call of ``DeepFace.analyze`` per picture."""

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

    def perceive(self, pictures: Sequence[bytes]) -> Iterator[tuple[PerceivedFace, ...] | PictureError]:
        self.load()
        for picture in pictures:
            try:
                faces = self._analyze(
                    img_path=decode(picture)[:, :, ::-1],
                    actions=("gender", "race", "age"),
                    detector_backend=self._backend,
                    enforce_detection=True,
                    silent=True,
                )
            except PictureError as error:
                yield error
                continue
            except ValueError:  # DeepFace's signal that there is no face
                faces = []
            try:
                yield tuple(map(_perceived, faces if isinstance(faces, list) else [faces]))
            except KeyError as error:
                raise DetectorError(
                    f"deepface returned an unknown class or lacks a field: {error}"
                ) from error


def _perceived(face: Mapping[str, Any]) -> PerceivedFace:
    x, y, width, height = (float(face["region"][side]) for side in "xywh")
    # DeepFace returns the age as a number without a probability. Names of age classes end with the last year.
    years = float(face["age"])
    ages = HEADS["age"]
    age = next((name for name in ages[:-1] if years < int(name.partition("-")[2]) + 1), ages[-1])
    return PerceivedFace(
        Location((x, y, width, height), score=float(face.get("face_confidence", 1))),
        {
            "race": {_RACES[name]: float(share) / 100 for name, share in face["race"].items()},
            "gender": {_GENDERS[name]: float(share) / 100 for name, share in face["gender"].items()},
            "age": {age: 1.0},
        },
    )
