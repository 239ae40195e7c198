"""CLIP as a zero-shot classifier: ``clip:FOLDER?faces=...``, a local checkpoint of transformers.

Each class is described by sentences; its probability is the softmax over the chip's similarity to their mean.
``HEAD.CLASS=sentence|sentence`` replaces the default sentences: ``gender.Male=a man|a photo of a man``. With
CLIP's own scale, probabilities of two classes are overconfident: treat them as a ranking.
``clip:FOLDER?align=published-code`` compares whole pictures instead (see ``alignment``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pytest_factorfair.detection import alignment, faces, groups
from pytest_factorfair.detection.pipeline import Pipeline
from pytest_factorfair.detection.protocol import Detector, Floats
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.errors import DetectorError
from pytest_factorfair.local.checkpoint import HUB_ID, digest
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
# CLIP's normalisation, for checkpoints that do not state one.
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)

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


def folder(spec: DetectorSpec) -> Path:
    """The folder of the spec's checkpoint, in the hub's local cache if the spec is a model id.

    Raises:
        InputError: there is no such folder, or it contains another kind of model, whose missing weights
            transformers would initialise at random.
    """
    path = Path(spec.target).expanduser()
    problem = f"'{spec.target}' is not a folder with a CLIP checkpoint in {Path.cwd()}"
    if not path.is_dir() and HUB_ID.fullmatch(spec.target):
        problem += f", and no model of the Hugging Face hub that this machine has (hf download {spec.target})"
        spec.need("transformers")
        with suppress(OSError):  # the model is not in the cache
            path = Path(
                import_module("huggingface_hub").snapshot_download(spec.target, local_files_only=True)
            )
    try:
        kind = json.loads((path / "config.json").read_bytes()).get("model_type")
    except (OSError, ValueError, AttributeError):
        raise spec.wrong(problem) from None
    if kind != "clip":
        raise spec.wrong(f"'{spec.target}' holds a model of type '{kind}', not 'clip'")
    return path


class Checkpoint:
    """A CLIP model and its tokenizer, loaded on first use."""

    def __init__(self, folder: Path, *, device: str) -> None:
        self._folder = folder
        self._device = device
        self._colours: tuple[Sequence[float], Sequence[float]] = (_MEAN, _STD)
        self._tokenizer: Any = None
        self.model: Any = None

    @cached_property
    def sha256(self) -> str:
        return digest(self._folder)

    @property
    def side(self) -> int:
        """The width and height of the model's input."""
        return int(self.model.config.vision_config.image_size)

    def load(self) -> None:
        if self.model is not None:
            return
        torch, transformers = import_module("torch"), import_module("transformers")
        device = self._device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise DetectorError(f"device={device}: torch has no GPU here")
        import_module("transformers.utils.logging").disable_progress_bar()
        with self._errors():
            local = {"local_files_only": True}
            model = transformers.CLIPModel.from_pretrained(self._folder, use_safetensors=True, **local)
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder, **local)
            settings = self._folder / "preprocessor_config.json"
            stated = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
            self._colours = stated.get("image_mean", _MEAN), stated.get("image_std", _STD)
            self.model = model.eval().to(device)

    def texts(self, classes: Mapping[str, tuple[str, ...]]) -> Any:
        """The embeddings of classes, one unit vector per row; requires ``load``."""
        with self._errors():
            return embedded(self.model, self._tokenizer, classes)

    def pictures(self, pixels: Any) -> Any:
        """Scaled embeddings of pictures (N, 3, side, side) from 0 to 1: products with texts are logits."""
        mean, std = (pixels.new_tensor(channels)[:, None, None] for channels in self._colours)
        normalised = ((pixels - mean) / std).to(self.model.dtype)
        features = self.model.visual_projection(
            self.model.vision_model(pixel_values=normalised).pooler_output
        )
        return _unit(features) * self.model.logit_scale.exp()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # libraries raise anything for a damaged file
            reason = " ".join(str(error).split())
            raise DetectorError(f"'{self._folder}' cannot be loaded as a CLIP model: {reason}") from error


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


def embedded(model: Any, tokenizer: Any, classes: Mapping[str, tuple[str, ...]]) -> Any:
    """The embedding of each class, one unit vector per row: the mean direction of its sentences."""
    torch = import_module("torch")
    rows = []
    with torch.inference_mode():
        for texts in classes.values():
            tokens = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
            tokens = tokens.to(model.device)
            output = model.text_model(input_ids=tokens.input_ids, attention_mask=tokens.attention_mask)
            rows.append(_unit(_unit(model.text_projection(output.pooler_output)).mean(dim=0)))
        return torch.stack(rows)


def _unit(rows: Any) -> Any:
    return rows / rows.norm(dim=-1, keepdim=True)
