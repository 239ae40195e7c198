"""Specs of detectors, and the errors for invalid ones."""

from __future__ import annotations

import re
import sys
from importlib import util
from pathlib import Path

import pytest

from pytest_factorfair.detection import Detector, DetectorSpec, build, registry
from pytest_factorfair.detection.protocol import digest
from pytest_factorfair.errors import InputError, MissingExtraError
from tests.extras import needs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown detector ''; known: clip, deepface, fairface, litellm, python, sim, transformers"),
        ("fairfase:x.onnx", "unknown detector 'fairfase'; did you mean 'fairface'?"),
        ("images:./m", "that is a model, not a detector; detectors: clip, deepface, fairface, litellm, python, sim, "),
        ("transformers:./m", "'./m' is not a folder in "),
        ("sim?flop=1", "'sim' has no option 'flop'; did you mean 'flip'?"),
        ("sim?flip", "'flip' is not an option; write name=value"),
        ("sim?flip=0.1&flip=0.2", "option 'flip' is given twice; keep one"),
        ("sim?flip=2", "flip must be a number from 0 to 1, not '2'"),
        ("sim?flip=nan", "flip must be a number from 0 to 1, not 'nan'"),
        ("sim?margin=x", "margin must be a number from 0 to 1, not 'x'"),
        ("sim?races=censsus", "races cannot be 'censsus'; did you mean 'census'?"),
        ("sim?votes=all", "votes cannot be 'all'; known: faces, picture"),
        ("sim:cards.onnx", "'sim' takes no file; write sim, or sim?flip=0.2"),
        ("fairface:missing.onnx?faces=whole", "there is no file 'missing.onnx' in "),
        ("fairface:?faces=whole", "there is no file '' in "),
        ("fairface:here.onnx", "a face detector is missing: add faces=yunet.onnx, or faces=whole"),
        ("fairface:here.onnx?faces=yunet.onnx", "there is no file 'yunet.onnx' in "),
        ("fairface:here.onnx?faces=whole&device=gpu", "device must be auto, cpu, cuda or cuda:NUMBER, not 'gpu'"),
        ("fairface:here.onnx?faces=whole&device=cpu:1", "device must be auto, cpu, cuda or cuda:NUMBER, not 'cpu:1'"),
        ("fairface:here.onnx?faces=whole&flip=0.1", "'fairface' has no option 'flip'"),
        ("fairface:here.onnx?faces=here.onnx&face_side=10", "face_side must be a number from 64 to 4096, not '10'"),
        ("clip:missing?faces=whole", "'missing' is not a folder with a CLIP checkpoint in "),
        ("clip:other?faces=whole", "'other' holds a model of type 'llama', not 'clip'"),
        ("clip:.?faces=whole&gender.Mann=a man", "'clip' has no option 'gender.Mann'; did you mean 'gender.Male'?"),
        pytest.param(
            "clip:openai/none?faces=whole", "'openai/none' is not a folder with a CLIP checkpoint in ",
            marks=needs("transformers"),
        ),
        ("clip:other?align=published-code", "'other' holds a model of type 'llama', not 'clip'"),
        ("clip:.?align=paper", "align cannot be 'paper'; known: published-code"),
        ("clip:.?align=published-code&faces=whole", "option 'faces' goes without align=published-code"),
        ("clip:.?faces=whole&person=0.5", "option 'person' goes with align=published-code"),
        ("clip:.?align=published-code&person=2", "person must be a number from 0 to 1, not '2'"),
        ("deepface", "it needs a package that is not installed: pip install deepface"),
        ("python:nowhere:thing", "there is no module 'nowhere' in "),
        ("python:thing", "write python:module:attribute or python:path/to/file.py:attribute"),
        ("python:json:dumbs", "'json' has no 'dumbs'; did you mean 'dumps'?"),
        ("python:math:pi", "float is neither a detector nor a function of the pixels"),
        ("python:math:pi?votes=faces", "'python' has no option 'votes'"),
    ],
)  # fmt: skip
def test_wrong_specs_are_one_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.onnx").write_bytes(b"")
    Path("other").mkdir()
    Path("other", "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(InputError) as error:
        build(text, custom={})
    assert str(error.value).startswith(f"detector '{text}': {message}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("text", "missing", "extra"), [("sim", "onnxruntime", "images"), ("sim", "cv2", "images"), ("python:ast:dump", "PIL", "images"), ("openai/m", "PIL", "images"), ("clip:.?faces=whole", "torch", "transformers")])  # fmt: skip
def test_a_missing_extra(
    text: str, missing: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text('{"model_type": "clip"}')
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == missing else util.find_spec(name))
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install 'pytest-factorfair[{extra}]'")):
        build(text, custom={})


def test_a_detector_is_named_without_a_heavy_import() -> None:
    import subprocess

    code = (
        "import sys; from pytest_factorfair.detection import build; build('sim', custom={}).identity;"
        "print({'cv2', 'onnxruntime', 'PIL', 'torch'} & sys.modules.keys())"
    )
    completed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "set()"


def test_custom_factories_take_precedence() -> None:
    detector = build("sim", custom={})
    seen: list[DetectorSpec] = []

    def factory(spec: DetectorSpec) -> Detector:
        seen.append(spec)
        return detector

    assert build("acme:large?a=b%26c", custom={"acme": factory}) is detector
    assert build("sim", custom={"sim": factory}) is detector
    assert build("acme:small", custom={"acme:small": factory}) is detector
    assert (seen[0].kind, seen[0].target, seen[0].options) == ("acme", "large", {"a": "b&c"})


def test_a_factory_that_fails() -> None:
    def factory(_: DetectorSpec) -> Detector:
        raise KeyError("weights")

    with pytest.raises(InputError, match="detector 'acme:x': its factory raised KeyError: 'weights'"):
        build("acme:x", custom={"acme": factory})
    with pytest.raises(InputError, match="did you mean 'acme'"):
        build("acne:x", custom={"acme": factory})


def test_the_digest_is_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert digest(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
