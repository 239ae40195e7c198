"""The zero-shot classifier CLIP with a tiny random checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.detection import build, clip, clip_checkpoint
from pytest_factorfair.detection.clip_checkpoint import embedded
from pytest_factorfair.detection.registry import parse
from pytest_factorfair.errors import DetectorError
from pytest_factorfair.pictures.cards import paint
from pytest_factorfair.pictures.classes import HEADS
from tests import tiny_checkpoint
from tests.extras import needs
from tests.unit.detection.builders import BOTH, chips

pytestmark = needs("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint.write_clip(tmp_path_factory.mktemp("clip"))


def classifier(folder: Path, options: str = "") -> clip.Clip:
    return clip.Clip(folder, clip.sentences(parse(f"clip:{folder}?{options}")), device="cpu")


def by_hand(folder: Path, pictures: np.ndarray, sentences: list[str]) -> np.ndarray:
    """Similarities of pictures and sentences, (N, sentences), and their softmax, directly from transformers."""
    torch, transformers = import_module("torch"), import_module("transformers")
    model = transformers.CLIPModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    small = torch.nn.functional.interpolate(
        torch.from_numpy(pictures).float() / 255, (32, 32), mode="bicubic", antialias=True
    ).clamp(0, 1)
    mean = torch.tensor([0.48145466, 0.4578275, 0.40821073])[:, None, None]
    std = torch.tensor([0.26862954, 0.26130258, 0.27577711])[:, None, None]
    with torch.inference_mode():
        tokens = tokenizer(sentences, padding=True, return_tensors="pt")
        output = model(
            input_ids=tokens.input_ids,
            attention_mask=tokens.attention_mask,
            pixel_values=(small - mean) / std,
        )
        probabilities: np.ndarray = output.logits_per_image.softmax(dim=1).numpy()
    return probabilities


def test_one_sentence_a_class_is_transformers_own_similarity(folder: Path) -> None:
    predictions = classifier(folder, "gender.Male=a man&gender.Female=one woman").predict(chips(5))
    assert predictions["gender"] == pytest.approx(by_hand(folder, chips(5), ["a man", "one woman"]), abs=1e-5)


def test_all_heads_have_shares_of_one(folder: Path) -> None:
    predictions = classifier(folder).predict(chips(3))
    assert {head: shares.shape for head, shares in predictions.items()} == {
        head: (3, len(classes)) for head, classes in HEADS.items()
    }
    for shares in predictions.values():
        assert shares.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-5)


def test_sentences_of_a_class_are_averaged(folder: Path) -> None:
    once = classifier(folder, "gender.Male=a man").predict(chips(4))["gender"]
    twice = classifier(folder, "gender.Male=a man|a man").predict(chips(4))["gender"]
    mixed = classifier(folder, "gender.Male=a man|some men").predict(chips(4))["gender"]
    assert twice == pytest.approx(once, abs=1e-6)
    assert np.abs(mixed - once).max() > 1e-5


def test_sentences_are_put_through_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(model: Any, tokenizer: Any, classes: Mapping[str, tuple[str, ...]]) -> Any:
        calls.append(1)
        return embedded(model, tokenizer, classes)

    monkeypatch.setattr(clip_checkpoint, "embedded", counted)
    model = classifier(folder)
    for _ in range(3):
        model.predict(chips(2))
    assert len(calls) == len(HEADS)


def test_the_checkpoints_own_normalisation(folder: Path) -> None:
    plain = classifier(folder).predict(chips(2))["race"]
    settings = folder / "preprocessor_config.json"
    settings.write_text(json.dumps({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.1, 0.1, 0.1]}))
    try:
        assert np.abs(classifier(folder).predict(chips(2))["race"] - plain).max() > 1e-5
    finally:
        settings.unlink()


def test_a_detector_reads_pictures_from_file_to_groups(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    detector = build(f"clip:{folder}?faces=whole&device=cpu", custom={})
    detector.check(BOTH)
    detections = detector.read([paint({}, seed=seed) for seed in range(3)], BOTH)
    assert [sorted(detection.faces[0].groups) for detection in detections] == [["gender", "race"]] * 3
    sentences = detector.identity["sentences"]
    assert isinstance(sentences, dict)
    assert sentences["gender"]["Female"] == ["a photo of a woman", "a picture of the face of a woman"]


def test_a_folder_that_is_no_clip(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DetectorError) as error:
        classifier(tmp_path).load()
    assert str(error.value).startswith(f"'{tmp_path}' cannot be loaded as a CLIP model: ")
    assert "\n" not in str(error.value)


def test_cuda_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("torch").cuda, "is_available", lambda: False)
    model = clip.Clip(folder, clip.sentences(parse("clip:x")), device="cuda")
    with pytest.raises(DetectorError, match="device=cuda: torch has no GPU here"):
        model.load()
