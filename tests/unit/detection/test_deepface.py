"""The adapter for DeepFace, with a fake module, because the package needs 2 GB."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pytest_factorfair.detection import Detector, build
from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import DetectorError, InputError
from pytest_factorfair.pictures.cards import blank
from tests.unit.detection.builders import BOTH, RACE

RACES = {"asian": 30.0, "indian": 20.0, "black": 5.0, "white": 40.0, "middle eastern": 3.0, "latino hispanic": 2.0}  # fmt: skip
FACE = {"region": {"x": 9, "y": 2, "w": 30, "h": 40}, "race": RACES, "gender": {"Woman": 75.0, "Man": 25.0},
        "age": 59, "face_confidence": 0.93}  # fmt: skip
AGE = Attribute("age", ("young", "middle_aged", "elderly"), {}, {})


def detector(monkeypatch: pytest.MonkeyPatch, analyze: Any, text: str = "deepface") -> Detector:
    module = ModuleType("deepface")
    module.__spec__ = ModuleSpec("deepface", None)
    vars(module)["DeepFace"] = SimpleNamespace(analyze=analyze)
    monkeypatch.setitem(sys.modules, "deepface", module)
    return build(text, custom={})


def test_percents_become_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def analyze(**options: Any) -> list[dict[str, Any]]:
        asked.append(options)
        return [FACE, {**FACE, "region": {"x": 1, "y": 0, "w": 5, "h": 5}, "age": 29.9}]

    reader = detector(monkeypatch, analyze, "deepface?backend=mtcnn")
    reader.check([*BOTH, AGE])
    (detection,) = reader.read([blank(1)], [*BOTH, AGE])
    left_face, right_face = detection.faces
    assert left_face.groups == {"gender": "Female", "race": "Asian", "age": "young"}
    assert right_face.groups == {"gender": "Female", "race": "Asian", "age": "middle_aged"}
    assert right_face.confidence == pytest.approx({"gender": 0.75, "race": 0.5, "age": 1})
    assert right_face.box == (9, 2, 30, 40)
    assert asked[0]["detector_backend"] == "mtcnn"
    assert asked[0]["enforce_detection"] is True
    assert asked[0]["img_path"].shape == (96, 96, 3)


def test_the_published_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = detector(monkeypatch, lambda **_: [FACE], "deepface?races=published-code")
    assert reader.read([blank(1)], [RACE])[0].faces[0].groups == {"race": "White"}


def test_no_face_and_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def analyze(**_: Any) -> list[dict[str, Any]]:
        raise ValueError("Face could not be detected")

    none, broken = detector(monkeypatch, analyze).read([blank(1), b"<html>"], BOTH)
    assert (none.faces, none.error) == ((), "")
    assert broken.error == "not a picture but HTML (6 bytes)"


def test_a_class_of_another_name_is_never_dropped_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = {**FACE, "race": {"Asian": 100.0}}
    with pytest.raises(DetectorError, match="deepface returned an unknown class or lacks a field: 'Asian'"):
        detector(monkeypatch, lambda **_: [renamed]).read([blank(1)], BOTH)


def test_groups_that_deepface_cannot_distinguish_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seven = Attribute("race", ("White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern"), {}, {})  # fmt: skip
    with pytest.raises(
        InputError, match="the detector cannot perceive 'East Asian'; its classes: Asian, Indian"
    ):
        detector(monkeypatch, lambda **_: [FACE]).check([seven])
