"""The FairFace classifier: which files are accepted or rejected, and what is computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.detection import fairface, simulated
from pytest_factorfair.detection.fairface import FairFace, normalised, softmax
from pytest_factorfair.errors import DetectorError
from pytest_factorfair.pictures.classes import HEADS
from tests.unit.detection.builders import chips, network

THREE = [("race_output", ("batch", 7)), ("gender_output", ("batch", 2)), ("age_output", ("batch", 9))]


@dataclass
class NodeArg:
    name: str
    shape: Sequence[int | str | None]
    type: str = "tensor(float)"


def test_a_chip_is_normalised_as_for_imagenet() -> None:
    chip = np.zeros((1, 3, 224, 224), np.uint8)
    chip[0, :, 0, 1] = 255, 128, 64
    ready = normalised(chip, np.empty(chip.shape, np.float32))
    assert ready.dtype == np.float32
    assert ready.shape == (1, 3, 224, 224)
    expected = [(1 - 0.485) / 0.229, (128 / 255 - 0.456) / 0.224, (64 / 255 - 0.406) / 0.225]
    assert ready[0, :, 0, 1] == pytest.approx(expected, abs=1e-6)
    assert ready[0, :, 0, 0] == pytest.approx([-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225], abs=1e-6)


def test_each_chip_of_a_batch_is_normalised_in_its_place() -> None:
    pixels, room = chips(5), np.empty((9, 3, 224, 224), np.float32)
    ready = normalised(pixels, room[2:7])
    mean, std = (np.array(channels)[:, None, None] for channels in (fairface.MEAN, fairface.STD))
    assert np.abs(ready - (pixels / 255 - mean) / std).max() < 1e-6
    assert np.shares_memory(ready, room)


def test_softmax_of_large_logits() -> None:
    shares = softmax(np.array([[1000.0, 1000.0], [0.0, np.log(3.0)]], np.float32))
    assert shares == pytest.approx(np.array([[0.5, 0.5], [0.25, 0.75]]), abs=1e-6)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_three_outputs_are_recognised_by_their_width(order: tuple[int, ...]) -> None:
    nodes = [NodeArg(f"out{width}", ("batch", width)) for width in (7, 2, 9)]
    heads = fairface.heads([nodes[index] for index in order])
    assert {head: name for head, (name, _) in heads.items()} == {
        "race": "out7",
        "gender": "out2",
        "age": "out9",
    }


def test_one_output_of_eighteen_is_cut_in_fairfaces_order() -> None:
    heads = fairface.heads([NodeArg("logits", (None, 18))])
    assert heads == {
        "race": ("logits", slice(0, 7)),
        "gender": ("logits", slice(7, 9)),
        "age": ("logits", slice(9, 18)),
    }


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([("a", ("batch", 7)), ("b", ("batch", 2))], "its outputs are a (batch, 7), b (batch, 2), not one of 18 logits or three of 7, 2 and 9"),
        ([("a", ("batch", 1000))], "its outputs are a (batch, 1000), not one of 18"),
        ([("a", ("batch", 7)), ("b", ("batch", 7)), ("c", ("batch", 9))], "its outputs are a (batch, 7), b (batch, 7), c (batch, 9), not"),
        ([("race_id", ("batch",)), ("gender_id", ("batch",)), ("age_id", ("batch",))], "its outputs are race_id (batch), gender_id (batch), age_id (batch): indices of classes"),
    ],
)  # fmt: skip
def test_other_outputs_are_refused(tmp_path: Path, outputs: list[Any], message: str) -> None:
    path = network(tmp_path / "other.onnx", outputs)
    with pytest.raises(DetectorError) as error:
        FairFace(path, device="cpu").load()
    assert str(error.value).startswith(f"'{path}' is not a FairFace model: {message}")
    assert "\n" not in str(error.value)


def test_numbers_of_classes_are_refused_by_their_type_too(tmp_path: Path) -> None:
    path = network(tmp_path / "ids.onnx", THREE, kind=7)
    with pytest.raises(DetectorError, match="indices of classes"):
        FairFace(path, device="cpu").load()


@pytest.mark.parametrize(
    "shape",
    [("batch", 3, 112, 112), ("batch", 224, 224, 3), ("batch", 1, 224, 224), (1, 3, 224, 224), ("batch", 18)],
)
def test_other_inputs_are_refused(tmp_path: Path, shape: Sequence[int | str]) -> None:
    path = network(tmp_path / "other.onnx", THREE, shape=shape)
    listed = ", ".join(map(str, shape))
    with pytest.raises(DetectorError) as error:
        FairFace(path, device="cpu").load()
    assert str(error.value) == (
        f"'{path}' is not a FairFace model: its input is input ({listed}), not (any number, 3, 224, 224)"
    )


def test_a_file_the_runtime_cannot_load(tmp_path: Path) -> None:
    ahead = network(tmp_path / "ahead.onnx", THREE, opset=99)
    page = tmp_path / "page.onnx"
    page.write_text("<html>Not found</html>")
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(simulated.FILE.read_bytes()[:5000])
    for path in (ahead, page, empty, cut):
        with pytest.raises(DetectorError) as error:
            FairFace(path, device="cpu").load()
        assert str(error.value).startswith(f"'{path}' cannot be loaded as an ONNX model: ")
        assert "\n" not in str(error.value)
    with pytest.raises(
        DetectorError,
        match=r"model: ONNX Runtime only \*guarantees\* support .* Opset 99 is under development",
    ):
        FairFace(ahead, device="cpu").load()


def test_one_of_eighteen_reads_as_three_do(tmp_path: Path) -> None:
    """The same network with its three outputs joined gives the same results."""
    import onnx

    model = onnx.load(simulated.FILE)
    names = [output.name for output in model.graph.output]
    del model.graph.output[:]
    model.graph.node.append(onnx.helper.make_node("Concat", names, ["logits"], axis=1))
    model.graph.output.append(onnx.helper.make_tensor_value_info("logits", 1, ["batch", 18]))
    joined = tmp_path / "joined.onnx"
    onnx.save(model, joined)
    combined, separate = (FairFace(path, device="cpu").predict(chips(5)) for path in (joined, simulated.FILE))
    for head, classes in HEADS.items():
        assert combined[head].shape == (5, len(classes))
        assert combined[head] == pytest.approx(separate[head], abs=1e-6)
        assert combined[head].sum(axis=1) == pytest.approx(np.ones(5), abs=1e-5)


def test_a_batch_does_not_show_in_the_next() -> None:
    network = FairFace(simulated.FILE, device="cpu")
    alone = [network.predict(chips(count, seed=count))["race"] for count in (3, 9, 2)]
    for count, shares in zip((3, 9, 2), alone, strict=True):
        fresh = FairFace(simulated.FILE, device="cpu").predict(chips(count, seed=count))["race"]
        assert shares == pytest.approx(fresh, abs=1e-6)


def changed(path: Path, change: Callable[[Any], None]) -> FairFace:
    """A FairFace classifier with a changed copy of the packaged network."""
    import onnx

    model = onnx.load(simulated.FILE)
    change(model.graph)
    onnx.save(model, path)
    return FairFace(path, device="cpu")


def test_logits_that_are_no_numbers_stop_the_run(tmp_path: Path) -> None:
    def spoil(graph: Any) -> None:
        import onnx

        (bias,) = (constant for constant in graph.initializer if constant.name == "age_bias")
        bias.CopyFrom(onnx.numpy_helper.from_array(np.full(9, np.nan, np.float32), "age_bias"))

    with pytest.raises(
        DetectorError, match=r"is not a FairFace model: logits that are not finite for 3 faces"
    ):
        changed(tmp_path / "nan.onnx", spoil).predict(chips(3))


def test_a_network_that_fails_over_its_input_stops_the_run(tmp_path: Path) -> None:
    def cut(graph: Any) -> None:
        for node, sides in zip(graph.node, ([56, 1], [1, 56]), strict=False):
            for attribute in node.attribute:
                attribute.ints[:] = sides  # sixteen cells where 49 are due

    detector = changed(tmp_path / "cut.onnx", cut)
    with pytest.raises(
        DetectorError, match=r"fails on 3 faces: |cannot be loaded as an ONNX model: "
    ) as error:
        detector.predict(chips(3))
    assert "\n" not in str(error.value)


def test_the_identity_is_the_files_content(tmp_path: Path) -> None:
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(simulated.FILE.read_bytes())
    identity = FairFace(simulated.FILE, device="cpu").identity
    assert FairFace(copy, device="auto").identity == identity
    copy.write_bytes(b"other")
    assert FairFace(copy, device="cpu").identity != identity


def test_cuda_without_a_runtime_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(
        DetectorError, match="device=cuda: this onnxruntime has no CUDA; install pytest-factorfair"
    ):
        FairFace(simulated.FILE, device="cuda").load()


def runtime(got: str) -> SimpleNamespace:
    """A fake of onnxruntime-gpu that silently uses the providers ``got`` if CUDA is requested."""

    class Session:
        def __init__(self, *_: object, providers: list[Any]) -> None:
            self.asked = providers

        def get_providers(self) -> list[str]:
            return [got, "CPUExecutionProvider"] if len(self.asked) > 1 else ["CPUExecutionProvider"]

    return SimpleNamespace(
        InferenceSession=Session,
        SessionOptions=lambda: SimpleNamespace(add_session_config_entry=lambda *_: None),
        get_available_providers=lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"],
        preload_dlls=lambda: None,
    )


def test_missing_cuda_is_an_error_and_auto_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairface, "import_module", lambda _: runtime("CPUExecutionProvider"))
    with pytest.raises(DetectorError, match="device=cuda:1: CUDA could not be started"):
        fairface.session(Path("any"), "cuda:1")
    with pytest.warns(UserWarning, match="the detector runs on the CPU: CUDA could not be started"):
        assert fairface.session(Path("any"), "auto").get_providers() == ["CPUExecutionProvider"] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fairface.session(Path("any"), "cpu").get_providers() == ["CPUExecutionProvider"]


def test_cuda_is_used_if_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairface, "import_module", lambda _: runtime("CUDAExecutionProvider"))
    for device in ("auto", "cuda", "cuda:0"):
        assert fairface.session(Path("any"), device).get_providers()[0] == "CUDAExecutionProvider"
