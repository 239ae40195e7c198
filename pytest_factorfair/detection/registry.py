"""From what the user typed to the detector that reads the pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from pytest_factorfair.detection.protocol import Detector
from pytest_factorfair.detection.spec import DetectorSpec, parse
from pytest_factorfair.errors import InputError, nearest

Factory = Callable[[DetectorSpec], Detector]

_DEVICES = ("auto", "cpu", "cuda")


def build(spec: str, *, custom: Mapping[str, Factory]) -> Detector:
    """The detector a spec names, checked as far as it can be without a heavy import.

    ``custom`` holds factories by kind ("acme" for "acme:large") or by a spec's full text, and goes
    before everything built in.

    Raises:
        InputError: nothing goes by that name, or its file or options cannot be right.
        MissingExtraError: it needs an optional dependency that is not installed.
    """
    parsed = parse(spec)
    if factory := custom.get(spec) or custom.get(parsed.kind):
        return _guarded(factory, parsed)
    if parsed.kind not in _KINDS:
        raise parsed.wrong(_unknown(parsed, {*_KINDS, *custom}))
    return _KINDS[parsed.kind](parsed)


def _sim(spec: DetectorSpec) -> Detector:
    """Code cards, through a real session; ``flip`` is how often a group is taken for another one."""
    from pytest_factorfair.detection import card_network, detector, faces, fairface
    from pytest_factorfair.detection.flips import Flipping
    from pytest_factorfair.detection.pipeline import Pipeline

    spec.allow(*detector.OPTIONS, "flip")
    if spec.target:
        raise spec.wrong("'sim' names no file; write sim, or sim?flip=0.2")
    spec.need("images")
    network = fairface.FairFace(card_network.FILE, device="cpu", name="sim")
    read = detector.PictureDetector(spec, Pipeline(faces.Cards(), network))
    rate = spec.number("flip", 0)
    return Flipping(read, rate) if rate else read


def _fairface(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import detector, faces, fairface
    from pytest_factorfair.detection.pipeline import Pipeline

    spec.allow(*detector.OPTIONS, *faces.OPTIONS, "device")
    spec.need("images")
    network = fairface.FairFace(spec.file(spec.target), device=_device(spec))
    return detector.PictureDetector(spec, Pipeline(faces.build(spec), network))


def _clip(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import clip, detector, faces
    from pytest_factorfair.detection.pipeline import Pipeline

    spec.allow(*detector.OPTIONS, *faces.OPTIONS, *clip.OPTIONS, "device")
    folder = clip.folder(spec)
    spec.need("images", "transformers")
    network = clip.Clip(folder, clip.sentences(spec), device=_device(spec))
    return detector.PictureDetector(spec, Pipeline(faces.build(spec), network))


def _deepface(spec: DetectorSpec) -> Detector:
    from pytest_factorfair.detection import deepface, detector

    spec.allow(*detector.OPTIONS, "backend")
    spec.need("images")
    if not find_spec("deepface"):
        raise spec.wrong("it needs a package that is not installed: pip install deepface")
    return detector.PictureDetector(spec, deepface.DeepFace(spec.options.get("backend", "retinaface")))


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


def _device(spec: DetectorSpec) -> str:
    name, colon, number = spec.options.get("device", "auto").partition(":")
    if name not in _DEVICES or (colon and (name != "cuda" or not number.isdigit())):
        raise spec.wrong(f"device must be auto, cpu, cuda or cuda:NUMBER, not '{spec.options['device']}'")
    return name + colon + number


def _unknown(spec: DetectorSpec, known: set[str]) -> str:
    if spec.kind in {"litellm", "replay", "transformers", "diffusers", "images"} or "/" in spec.kind:
        return f"that is a model; a detector reads pictures: {', '.join(sorted(known))}"
    return f"unknown detector '{spec.kind}'{nearest(spec.kind, known)}"


def _guarded(factory: Factory, spec: DetectorSpec) -> Detector:
    """A user's factory, whose own failure becomes one line that names the detector."""
    try:
        return factory(spec)
    except InputError:
        raise
    except Exception as error:
        raise spec.wrong(f"its factory raised {type(error).__name__}: {error}") from error
