from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_factorfair.domain import AnswerMode
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.local import checkpoint, transformers_model
from pytest_factorfair.local.model import device
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import parse
from tests.asking import spec


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Pretend that torch and transformers are installed; returns a function that makes one unavailable."""
    present = {"torch", "transformers", "accelerate", "gguf"}
    monkeypatch.setattr("pytest_factorfair.models.spec.find_spec", lambda name: name in present or None)
    return present.remove


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text("{}")
    (checkpoint / "model.safetensors").write_bytes(b"weights")
    return checkpoint


def built(target: object, **arguments: str) -> Model:
    named = {key.replace("__", "."): value for key, value in arguments.items()}
    return transformers_model.build(spec(f"transformers:{target}", named))


def complaint(target: object, **arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        built(target, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_paths_without_a_checkpoint_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for missing in ("./no-such", "no-such", "/no/such/folder", "a/b/c"):
        assert complaint(missing) == (
            f"model 'transformers:{missing}': '{missing}' is not a folder in {tmp_path}; "
            "write a model of the hub as organisation/name"
        )
    assert complaint("checkpoint/config.json").endswith("is a file; name the folder of the checkpoint")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "contains no *.safetensors; pickled weights are not loaded" in complaint(folder)
    (folder / "config.json").write_text("{")
    assert complaint(folder).startswith(f"{folder / 'config.json'}: cannot be read as JSON: ")
    (folder / "config.json").unlink()
    assert complaint(folder).endswith("contains no config.json, so it is not a checkpoint of a model")


def test_a_gguf_file_is_named_or_the_only_one_of_its_folder(
    tmp_path: Path, installed: Callable[[str], None]
) -> None:
    file = tmp_path / "q4.gguf"
    file.write_bytes(b"GGUF weights")
    digest = built(tmp_path).identity["weights"]
    assert built(file).identity["weights"] == digest
    assert built(file.rename(tmp_path / "other.gguf")).identity["weights"] == digest
    (tmp_path / "q8.gguf").write_bytes(b"GGUF weight?")
    assert complaint(tmp_path).endswith("contains several GGUF files (other.gguf, q8.gguf); name one of them")
    assert built(tmp_path / "q8.gguf").identity["weights"] != digest
    installed("gguf")
    with pytest.raises(MissingExtraError, match=r"pip install 'pytest-factorfair\[transformers\]'"):
        built(tmp_path / "q8.gguf")


def test_a_folder_with_safetensors_is_read_from_them(folder: Path) -> None:
    before = built(folder).identity
    (folder / "q4.gguf").write_bytes(b"GGUF weights")
    assert built(folder).identity == before


def test_one_device_or_a_map_of_them(folder: Path) -> None:
    assert built(folder, device_map="auto").identity == built(folder).identity
    assert complaint(folder, device_map="auto", device="cpu").endswith(
        "arguments 'device' and 'device_map': give one"
    )


def test_hub_id() -> None:
    assert built("org/name.v1-2").identity["weights"] == "org/name.v1-2@main"
    assert built("org/name", revision="abc").identity["weights"] == "org/name@abc"


@pytest.mark.parametrize("extra", ["torch", "transformers", "accelerate"])
def test_missing_extra(folder: Path, extra: str, installed: Callable[[str], None]) -> None:
    installed(extra)
    with pytest.raises(MissingExtraError) as caught:
        built(folder)
    assert str(caught.value) == (
        f"model 'transformers:{folder}' needs an extra: pip install 'pytest-factorfair[transformers]'"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("device", "gpu", "must be auto, cpu, mps, xpu, cuda or cuda:NUMBER, not 'gpu'"),
        ("device", "cuda:", "must be auto, cpu, mps, xpu, cuda or cuda:NUMBER, not 'cuda:'"),
        ("dtype", "int8", "must be auto, float32, float16 or bfloat16, not 'int8'"),
        ("device_map", "0", "must be auto, balanced, balanced_low_0 or sequential, not '0'"),
        ("batch", "0", "must be a whole number of at least 1, not '0'"),
        ("revision", "abc", "is for models of the hub, not for a folder"),
        ("generate__do_sample", "true", "cannot be given: the run sets it"),
        ("trust_remote_code", "true", "is unknown"),
    ],
)
def test_invalid_arguments_are_refused(folder: Path, key: str, value: str, message: str) -> None:
    assert message in complaint(folder, **{key: value})


def test_identity_holds_what_can_change_an_answer_and_nothing_else(folder: Path) -> None:
    plain = built(folder)
    assert plain.identity == {
        "provider": "transformers",
        "weights": checkpoint.digest(folder),
        "dtype": "auto",
        "temperature": 0,
        "top_p": 1,
        "max_tokens": 1024,
        "system": None,
        "template": {},
        "generate": {},
    }
    assert built(folder, batch="2", device="cpu").identity == plain.identity
    assert (plain.parallel, built(folder, batch="2").parallel) == (64, 8)
    for key, value in {
        "temperature": "1",
        "dtype": "float32",
        "template__a": "1",
        "generate__b": "2",
    }.items():
        assert built(folder, **{key: value}).identity != plain.identity


def asked_for(answers: AnswerMode, target: object, **arguments: str) -> Model:
    named = {key.replace("__", "."): value for key, value in arguments.items()}
    return transformers_model.build(parse(f"transformers:{target}", named, answers=answers))


def test_the_identity_of_probabilities_has_nothing_that_only_samples(folder: Path) -> None:
    assert asked_for("probabilities", folder, system="Be brief.").identity == {
        "provider": "transformers",
        "weights": checkpoint.digest(folder),
        "dtype": "auto",
        "system": "Be brief.",
        "template": {},
        "answers": "probabilities",
    }
    assert asked_for("json", folder).identity == {**built(folder).identity, "answers": "json"}


@pytest.mark.parametrize("key", ["temperature", "top_p", "max_tokens", "generate__top_k"])
def test_arguments_of_sampling_mean_nothing_to_probabilities(folder: Path, key: str) -> None:
    with pytest.raises(InputError) as caught:
        asked_for("probabilities", folder, **{key: "1"})
    assert str(caught.value) == (
        f"model 'transformers:{folder}': argument '{key.replace('__', '.')}' has no effect on probabilities: "
        "leave it out, or leave out --factorfair-answers=probabilities"
    )


def test_digest_is_of_content(folder: Path, tmp_path: Path) -> None:
    before = checkpoint.digest(folder)
    assert checkpoint.digest(folder.rename(tmp_path / "moved")) == before
    moved = tmp_path / "moved"
    (moved / "README.md").write_text("other words")
    assert checkpoint.digest(moved) == before
    (moved / "generation_config.json").write_text('{"repetition_penalty": 2.0}')
    assert checkpoint.digest(moved) != before


@pytest.mark.parametrize("size", [1, 2**16, 2**16 + 1, 5 * 2**20, 40_000_001])
@pytest.mark.parametrize("share", [0.0, 0.55, 1.0])
def test_digest_sees_a_changed_part_of_the_weights(folder: Path, size: int, share: float) -> None:
    weights = folder / "model.safetensors"
    with weights.open("wb") as file:
        file.truncate(size)
    before = checkpoint.digest(folder)
    part = min(size, 2**20)
    with weights.open("r+b") as file:
        file.seek(int((size - part) * share))
        file.write(b"\1" * part)
    assert weights.stat().st_size == size
    assert checkpoint.digest(folder) != before


@pytest.mark.parametrize(
    ("requested", "gpus", "worker", "expected"),
    [
        ("auto", 0, "", "cpu"),
        ("auto", 1, "", "cuda:0"),
        ("auto", 4, "gw5", "cuda:1"),
        ("cuda", 2, "gw3", "cuda:1"),
        ("cuda", 2, "master", "cuda:0"),
        ("cuda:3", 4, "gw0", "cuda:3"),
        ("cpu", 4, "gw1", "cpu"),
    ],
)
def test_device(requested: str, gpus: int, worker: str, expected: str) -> None:
    assert device(requested, gpus=gpus, worker=worker) == expected


def test_no_gpu() -> None:
    with pytest.raises(RuntimeError, match="no GPU is visible"):
        device("cuda", gpus=0, worker="")
