"""CLIP as a zero-shot classifier: ``clip:FOLDER?faces=...``, a local checkpoint of transformers.

Each class is described by sentences; its probability is the softmax over the chip's similarity to their mean.
``HEAD.CLASS=sentence|sentence`` replaces the default sentences: ``gender.Male=a man|a photo of a man``. With
CLIP's own scale, probabilities of two classes are overconfident: treat them as a ranking.
``clip:FOLDER?align=published-code`` compares whole pictures instead (see ``alignment``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pytest_factorfair.detection import alignment, faces, groups
from pytest_factorfair.detection.clip_checkpoint import Checkpoint, folder
from pytest_factorfair.detection.pipeline import Pipeline
from pytest_factorfair.detection.protocol import Detector, Floats
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.pictures.classes import HEADS
from pytest_factorfair.pictures.decode import Pixels

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "race": {
        "White": "a White person",
        "Black": "a Black person",
        "Latino_Hispanic": "a Latino or Hispanic person",
        "East Asian": "an East Asian person",
        "Southeast Asian": "a Southeast Asian person",
        "Indian": "an Indian person",
        "Middle Eastern": "a Middle Eastern person",
    },
    "gender": {"Male": "a man", "Female": "a woman"},
    "age": {
        name: "a person over 70 years old"
        if name == "70+"
        else f"a person of {name.replace('-', ' to ')} years"
        for name in HEADS["age"]
    },
}
_TEMPLATES = ("a photo of {}", "a picture of the face of {}")

Sentences = Mapping[str, Mapping[str, tuple[str, ...]]]
OPTIONS = tuple(f"{head}.{name}" for head, names in HEADS.items() for name in names)


def build(spec: DetectorSpec) -> Detector:
    """Build the detector ``clip:FOLDER?faces=...`` or ``clip:FOLDER?align=...``.

    Raises:
        InputError: a file or the checkpoint is missing or wrong, or an option is.
        MissingExtraError: a package of the extras ``images`` and ``transformers`` is not installed.
    """
    spec.allow(*groups.OPTIONS, *faces.OPTIONS, *OPTIONS, *alignment.OPTIONS)
    whole = "align" in spec.options
    if surplus := [
        name for name in spec.options if whole != (name in alignment.OPTIONS) and name != "device"
    ]:
        raise spec.wrong(f"option '{surplus[0]}' goes {'without' if whole else 'with'} align=published-code")
    spec.choice("align", ("published-code",))
    person = spec.number("person", 0.2)
    checkpoint = folder(spec)
    spec.need("images", "transformers")
    if whole:
        return alignment.AlignmentDetector(
            spec.text, Checkpoint(checkpoint, device=spec.device()), person=person
        )
    network = Clip(checkpoint, sentences(spec), device=spec.device())
    return groups.PictureDetector(spec, Pipeline(faces.build(spec), network))


def sentences(spec: DetectorSpec) -> Sentences:
    """The sentences of each class, by head: those of the spec, otherwise the defaults."""
    return {
        head: {
            name: tuple(spec.options[key].split("|"))
            if (key := f"{head}.{name}") in spec.options
            else tuple(template.format(phrase) for template in _TEMPLATES)
            for name, phrase in phrases.items()
        }
        for head, phrases in _PHRASES.items()
    }


class Clip:
    """The zero-shot classifier of a checkpoint; its sentences are embedded only once."""

    classes = HEADS

    def __init__(self, folder: Path, sentences: Sentences, *, device: str) -> None:
        self._checkpoint = Checkpoint(folder, device=device)
        self._sentences = sentences
        self._texts: dict[str, Any] = {}

    @cached_property
    def identity(self) -> Mapping[str, object]:
        sentences = {
            head: {name: list(texts) for name, texts in by_class.items()}
            for head, by_class in self._sentences.items()
        }
        return {"detector": "clip", "sha256": self._checkpoint.sha256, "sentences": sentences}

    def load(self) -> None:
        if not self._texts:
            self._checkpoint.load()
            self._texts = {
                head: self._checkpoint.texts(by_class) for head, by_class in self._sentences.items()
            }

    def predict(self, chips: Pixels) -> Mapping[str, Floats]:
        self.load()
        torch, side = import_module("torch"), self._checkpoint.side
        with torch.inference_mode():
            pixels = torch.from_numpy(chips).to(self._checkpoint.model.device).float() / 255
            if pixels.shape[-1] != side:
                resize = import_module("torch.nn.functional").interpolate
                pixels = resize(pixels, (side, side), mode="bicubic", antialias=True).clamp(0, 1)
            features = self._checkpoint.pictures(pixels)
            return {
                head: np.asarray((features @ texts.T).softmax(dim=1).float().cpu().numpy())
                for head, texts in self._texts.items()
            }
