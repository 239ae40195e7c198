"""Conversion of FairFace's checkpoint to ONNX, compared with the same network in torch."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.detection import model_files
from pytest_factorfair.detection.fairface import FairFace, normalised, session
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.pictures.classes import HEADS
from tests.extras import needs
from tests.resnet34 import State, random_weights
from tests.unit.detection.builders import chips

pytestmark = needs("export")


def in_torch(state: State) -> dict[str, Any]:
    torch = import_module("torch")
    return {name: torch.from_numpy(np.asarray(array)) for name, array in state.items()}


def by_torch(state: dict[str, Any], pictures: np.ndarray) -> np.ndarray:
    """The logits (N, 18) of a ResNet-34 (He et al.), written with torch's functions."""
    torch, F = import_module("torch"), import_module("torch.nn.functional")  # noqa: N806 - as torch's users do

    def norm(x: Any, name: str) -> Any:
        mean, var = state[f"{name}.running_mean"], state[f"{name}.running_var"]
        return F.batch_norm(x, mean, var, state[f"{name}.weight"], state[f"{name}.bias"], eps=1e-5)

    def block(x: Any, name: str, stride: int) -> Any:
        y = F.relu(norm(F.conv2d(x, state[f"{name}.conv1.weight"], stride=stride, padding=1), f"{name}.bn1"))
        y = norm(F.conv2d(y, state[f"{name}.conv2.weight"], padding=1), f"{name}.bn2")
        if f"{name}.downsample.0.weight" in state:
            x = norm(F.conv2d(x, state[f"{name}.downsample.0.weight"], stride=stride), f"{name}.downsample.1")
        return F.relu(x + y)

    with torch.inference_mode():
        x = torch.from_numpy(pictures)
        x = F.max_pool2d(
            F.relu(norm(F.conv2d(x, state["conv1.weight"], stride=2, padding=3), "bn1")), 3, 2, 1
        )
        for layer, count in enumerate((3, 4, 6, 3), start=1):
            for number in range(count):
                x = block(x, f"layer{layer}.{number}", 2 if layer > 1 and number == 0 else 1)
        x = F.linear(x.mean(dim=(2, 3)), state["fc.weight"], state["fc.bias"])
    return np.asarray(x.numpy())


@pytest.fixture(scope="module")
def weights() -> State:
    return random_weights()


@pytest.fixture(scope="module")
def checkpoint(weights: State, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fairface") / "res34.pt"
    import_module("torch").save(in_torch(weights), path)
    return path


def test_the_file_computes_what_torch_computes(weights: State, checkpoint: Path, tmp_path: Path) -> None:
    target = tmp_path / "fairface.onnx"
    model_files.fairface(checkpoint, target)
    pictures = normalised(chips(3), np.empty((3, 3, 224, 224), np.float32))
    (logits,) = session(target, "cpu").run(None, {"input": pictures})
    expected = by_torch(in_torch(weights), pictures)
    assert 0.1 < expected.std() < 10
    assert np.abs(logits - expected).max() < 1e-4
    assert [child.name for child in tmp_path.iterdir()] == ["fairface.onnx"]


def test_the_file_is_a_fairface(checkpoint: Path, tmp_path: Path) -> None:
    target = tmp_path / "fairface.onnx"
    model_files.fairface(checkpoint, target)
    predictions = FairFace(target, device="cpu").predict(chips(2))
    assert {head: shares.shape for head, shares in predictions.items()} == {
        head: (2, len(classes)) for head, classes in HEADS.items()
    }


def test_names_of_a_parallel_training_are_known(tmp_path: Path) -> None:
    torch = import_module("torch")
    path = tmp_path / "parallel.pt"
    torch.save({"module.conv1.weight": torch.zeros(64, 3, 7, 7)}, path)
    with pytest.raises(InputError, match=r"'bn1.weight' is missing"):
        model_files.fairface(path, tmp_path / "out.onnx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fc.weight": None}, "is not FairFace, a ResNet-34 with 18 logits: 'fc.weight' is missing"),
        ({"layer5.0.conv1.weight": (1, 1)}, "is not FairFace: it has 'layer5.0.conv1.weight', which a ResNet-34 does not"),
        ({"fc.weight": (4, 512)}, "is not FairFace, a ResNet-34 with 18 logits: 'fc.weight' is (4, 512), not (18, 512)"),
    ],
)  # fmt: skip
def test_other_networks(weights: State, change: dict[str, Any], message: str) -> None:
    changed = {name: np.zeros(shape or (), np.float32) for name, shape in change.items()}
    state = {
        name: array for name, array in {**weights, **changed}.items() if array.shape or name not in change
    }
    with pytest.raises(InputError) as error:
        model_files.serialised(state, where="other.pt")
    assert str(error.value) == f"'other.pt' {message}"


class Runs:
    """An object whose pickle would run code when it is loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("ran"),))


def test_a_file_that_would_run_code_or_is_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    import_module("torch").save({"fc.weight": Runs()}, tmp_path / "code.pt")
    (tmp_path / "page.pt").write_text("<html>")
    for name in ("code.pt", "page.pt"):
        with pytest.raises(InputError) as error:
            model_files.fairface(Path(name), Path("out.onnx"))
        assert str(error.value).startswith(f"'{name}' cannot be read as a state dict of torch: ")
        assert "\n" not in str(error.value)
    assert not Path("ran").exists()
    with pytest.raises(InputError, match=r"there is no file 'missing.pt' in "):
        model_files.fairface(Path("missing.pt"), Path("out.onnx"))


def test_a_target_that_cannot_be_written(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written: there is no folder"):
        model_files.fairface(checkpoint, tmp_path / "nowhere" / "fairface.onnx")


def test_without_onnx(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "find_spec", lambda name: None if name == "onnx" else object())
    with pytest.raises(MissingExtraError, match=r"exporting FairFace needs an extra: .*\[export\]"):
        model_files.fairface(checkpoint, tmp_path / "fairface.onnx")
