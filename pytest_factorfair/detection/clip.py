"""CLIP as a zero-shot classifier: ``clip:FOLDER?faces=...``, a checkpoint of transformers on this machine.

Each class has sentences, and the share of a class is the softmax over the chip's similarity to their mean.
``HEAD.CLASS=sentence|sentence`` in place of the sentences here: ``gender.Male=a man|a photo of a man``. Two
sentences at CLIP's own scale make very sure shares: take them for an order, not for probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pytest_factorfair.detection.protocol import Floats
from pytest_factorfair.detection.spec import DetectorSpec
from pytest_factorfair.errors import DetectorError
from pytest_factorfair.models.checkpoint import digest
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
# What CLIP's pictures were normalised by, where the checkpoint does not say.
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)

Sentences = Mapping[str, Mapping[str, tuple[str, ...]]]
OPTIONS = tuple(f"{head}.{name}" for head, names in HEADS.items() for name in names)


def sentences(spec: DetectorSpec) -> Sentences:
    """The sentences of each class, by head: those of the spec's options, else the ones above."""
    return {
        head: {
            name: tuple(spec.options[key].split("|"))
            if (key := f"{head}.{name}") in spec.options
            else tuple(template.format(phrase) for template in _TEMPLATES)
            for name, phrase in phrases.items()
        }
        for head, phrases in _PHRASES.items()
    }


def folder(spec: DetectorSpec) -> Path:
    """The folder of the spec's checkpoint.

    Raises:
        InputError: it is none, or of another model: transformers would go on with weights drawn at random.
    """
    path = Path(spec.target).expanduser()
    try:
        kind = json.loads((path / "config.json").read_bytes()).get("model_type")
    except (OSError, ValueError, AttributeError):
        raise spec.wrong(f"'{spec.target}' is no folder of a CLIP checkpoint in {Path.cwd()}") from None
    if kind != "clip":
        raise spec.wrong(f"'{spec.target}' holds a model of type '{kind}', not 'clip'")
    return path


class Clip:
    """The classifier of one checkpoint; the sentences are put through it once."""

    classes = HEADS

    def __init__(self, folder: Path, sentences: Sentences, *, device: str) -> None:
        self._folder = folder
        self._sentences = sentences
        self._device = device
        self._model: Any = None
        self._texts: dict[str, Any] = {}
        self._scale: tuple[Sequence[float], Sequence[float]] = (_MEAN, _STD)

    @cached_property
    def identity(self) -> Mapping[str, object]:
        told = {
            head: {name: list(texts) for name, texts in each.items()}
            for head, each in self._sentences.items()
        }
        return {"detector": "clip", "sha256": digest(self._folder), "sentences": told}

    def load(self) -> None:
        if self._model is not None:
            return
        torch, transformers = import_module("torch"), import_module("transformers")
        device = self._device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise DetectorError(f"device={device}: torch has no GPU here")
        import_module("transformers.utils.logging").disable_progress_bar()
        try:
            told = {"local_files_only": True}
            model = transformers.CLIPModel.from_pretrained(self._folder, use_safetensors=True, **told)
            tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, **told)
            model = model.eval().to(device)
            self._scale = _normalisation(self._folder)
            self._texts = {head: embedded(model, tokenizer, each) for head, each in self._sentences.items()}
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            reason = " ".join(str(error).split())
            raise DetectorError(f"'{self._folder}' cannot be loaded as a CLIP model: {reason}") from error
        self._model = model

    def predict(self, chips: Pixels) -> Mapping[str, Floats]:
        self.load()
        torch = import_module("torch")
        with torch.inference_mode():
            pictures = self._normalised(torch.from_numpy(chips))
            seen = self._model.vision_model(pixel_values=pictures).pooler_output
            seen = _unit(self._model.visual_projection(seen)) * self._model.logit_scale.exp()
            return {
                head: np.asarray((seen @ texts.T).softmax(dim=1).float().cpu().numpy())
                for head, texts in self._texts.items()
            }

    def _normalised(self, chips: Any) -> Any:
        """uint8 (N, 3, 224, 224) as the model takes them."""
        torch = import_module("torch")
        side = self._model.config.vision_config.image_size
        pictures = chips.to(self._model.device).float() / 255
        if pictures.shape[-1] != side:
            resized = import_module("torch.nn.functional").interpolate
            pictures = resized(pictures, (side, side), mode="bicubic", antialias=True).clamp(0, 1)
        mean, std = (torch.tensor(each, device=pictures.device)[:, None, None] for each in self._scale)
        return ((pictures - mean) / std).to(self._model.dtype)


def _normalisation(folder: Path) -> tuple[Sequence[float], Sequence[float]]:
    """Mean and standard deviation of the three colours, as the checkpoint has them."""
    told = folder / "preprocessor_config.json"
    given = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {}
    return given.get("image_mean", _MEAN), given.get("image_std", _STD)


def embedded(model: Any, tokenizer: Any, classes: Mapping[str, tuple[str, ...]]) -> Any:
    """A row of unit length per class: the mean direction of its sentences."""
    torch = import_module("torch")
    rows = []
    with torch.inference_mode():
        for texts in classes.values():
            tokens = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
            tokens = tokens.to(model.device)
            told = model.text_model(input_ids=tokens.input_ids, attention_mask=tokens.attention_mask)
            rows.append(_unit(_unit(model.text_projection(told.pooler_output)).mean(dim=0)))
        return torch.stack(rows)


def _unit(rows: Any) -> Any:
    return rows / rows.norm(dim=-1, keepdim=True)
