"""Builds a detector from the spec ``KIND:TARGET?name=value&...`` that the user typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from pytest_factorfair.detection.protocol import Detector, FaceDetector
from pytest_factorfair.errors import InputError, MissingExtraError, nearest

_NEEDED = {"images": ("cv2", "onnxruntime", "PIL"), "transformers": ("torch", "transformers")}
_DEVICES = ("auto", "cpu", "cuda")
_FACES = ("faces", "face_score", "face_side")
"""The options that choose and set up a face detector."""


@dataclass(frozen=True, slots=True)
class DetectorSpec:
    """A detector as typed (``text``) and its parts; "?" starts the options."""

    text: str
    kind: str
    target: str
    options: Mapping[str, str]

    def wrong(self, problem: str) -> InputError:
        return InputError(f"detector '{self.text}': {problem}")

    def allow(self, *names: str) -> None:
        """Raise InputError for an option with another name."""
        for name in self.options:
            if name not in names:
                raise self.wrong(f"'{self.kind}' has no option '{name}'{nearest(name, names)}")

    def need(self, *extras: str) -> None:
        """Raise MissingExtraError if an extra is not installed."""
        for extra in extras:
            if not all(map(find_spec, _NEEDED[extra])):
                raise MissingExtraError(f"detector '{self.text}'", extra)

    def choice(self, name: str, known: Iterable[str]) -> str:
        """The option, one of the known values; the first of them by default."""
        choices = tuple(known)
        value = self.options.get(name, choices[0])
        if value not in choices:
            raise self.wrong(f"{name} cannot be '{value}'{nearest(value, choices)}")
        return value

    def number(self, name: str, default: float, *, least: float = 0, most: float = 1) -> float:
        """The option as a number within these bounds, both included."""
        try:
            value = float(self.options.get(name, default))
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise self.wrong(
                f"{name} must be a number from {least:g} to {most:g}, not '{self.options[name]}'"
            )
        return value

    def device(self) -> str:
        """The option ``device``: auto, cpu, cuda or cuda:NUMBER."""
        name, colon, number = self.options.get("device", "auto").partition(":")
        if name not in _DEVICES or (colon and (name != "cuda" or not number.isdigit())):
            raise self.wrong(f"device must be auto, cpu, cuda or cuda:NUMBER, not '{self.options['device']}'")
        return name + colon + number

    def file(self, path: str) -> Path:
        """The file at a path, relative to the folder pytest was started in."""
        expanded = Path(path).expanduser()
        if not path or not expanded.is_file():
            raise self.wrong(f"there is no file '{path}' in {Path.cwd()}")
        return expanded


Factory = Callable[[DetectorSpec], Detector]


def parse(text: str) -> DetectorSpec:
    """Parse a spec.

    Raises:
        InputError: an option is not ``name=value``, or is given twice.
    """
    head, _, query = text.partition("?")
    kind, _, target = head.partition(":")
    options: dict[str, str] = {}
    spec = DetectorSpec(text, kind, target, options)
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise spec.wrong(f"'{part}' is not an option; write name=value")
        if name in options:
            raise spec.wrong(f"option '{name}' is given twice; keep one")
        options[unquote(name)] = unquote(value)
    return spec


def build(text: str, *, custom: Mapping[str, Factory]) -> Detector:
    """The detector of a spec, validated as far as possible without a heavy import.

    ``custom`` holds factories by kind ("acme" for "acme:large") or by a spec's full text; they take
    precedence over the built-in kinds.

    Raises:
        InputError: no detector has that name, or its file or options are wrong.
        MissingExtraError: it needs an optional dependency that is not installed.
    """
    spec = parse(text)
    if factory := custom.get(text) or custom.get(spec.kind):
        try:
            return factory(spec)
        except InputError:
            raise
        except Exception as error:  # a user's factory may raise anything
            raise spec.wrong(f"its factory raised {type(error).__name__}: {error}") from error
    if spec.kind in _KINDS:
        return _KINDS[spec.kind](spec)
    known = {*_KINDS, *custom}
    if spec.kind in {"litellm", "replay", "transformers", "diffusers", "images"} or "/" in spec.kind:
        raise spec.wrong(f"that is a model, not a detector; detectors: {', '.join(sorted(known))}")
    raise spec.wrong(f"unknown detector '{spec.kind}'{nearest(spec.kind, known)}")


def _sim(spec: DetectorSpec) -> Detector:
    """Reads code cards; ``flip`` is the rate at which a group is read as another."""
    from pytest_factorfair.detection import groups, simulated
    from pytest_factorfair.detection.fairface import FairFace
    from pytest_factorfair.detection.pipeline import Pipeline

    spec.allow(*groups.OPTIONS, "flip")
    if spec.target:
        raise spec.wrong("'sim' takes no file; write sim, or sim?flip=0.2")
    spec.need("images")
    network = FairFace(simulated.FILE, device="cpu", name="sim")
    detector = groups.PictureDetector(spec, Pipeline(simulated.Cards(), network))
    rate = spec.number("flip", 0)
    return simulated.Flipping(detector, rate) if rate else detector


def _fairface(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import groups
    from pytest_factorfair.detection.fairface import FairFace
    from pytest_factorfair.detection.pipeline import Pipeline

    spec.allow(*groups.OPTIONS, *_FACES, "device")
    spec.need("images")
    network = FairFace(spec.file(spec.target), device=spec.device())
    return groups.PictureDetector(spec, Pipeline(_faces(spec), network))


def _clip(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import clip, groups
    from pytest_factorfair.detection.pipeline import Pipeline

    spec.allow(*groups.OPTIONS, *_FACES, *clip.OPTIONS, "device")
    folder = clip.folder(spec)
    spec.need("images", "transformers")
    network = clip.Clip(folder, clip.sentences(spec), device=spec.device())
    return groups.PictureDetector(spec, Pipeline(_faces(spec), network))


def _deepface(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import deepface, groups

    spec.allow(*groups.OPTIONS, "backend")
    spec.need("images")
    if not find_spec("deepface"):
        raise spec.wrong("it needs a package that is not installed: pip install deepface")
    return groups.PictureDetector(spec, deepface.DeepFace(spec.options.get("backend", "retinaface")))


def _python(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import custom

    return custom.build(spec)


_KINDS: Mapping[str, Factory] = {
    "clip": _clip,
    "deepface": _deepface,
    "fairface": _fairface,
    "python": _python,
    "sim": _sim,
}


def _faces(spec: DetectorSpec) -> FaceDetector:
    """The face detector that ``faces=`` names: a YuNet file, ``whole`` or ``cards``.

    ``face_score`` (0.7) is how confident YuNet must be, ``face_side`` (320) the longer side in pixels of the
    pictures it is given: it was trained on faces of 10 to 300 pixels.
    """
    from pytest_factorfair.detection import faces, simulated

    name = spec.options.get("faces", "")
    if name == "whole":
        return faces.Whole()
    if name == "cards":
        return simulated.Cards()
    if not name:
        raise spec.wrong("a face detector is missing: add faces=yunet.onnx, or faces=whole for cropped faces")
    score, side = spec.number("face_score", 0.7), spec.number("face_side", 320, least=64, most=4096)
    return faces.YuNet(spec.file(name), score=score, side=round(side))
