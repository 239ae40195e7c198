from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.local import checkpoint, diffusers_model
from pytest_factorfair.models.protocol import Model
from tests.asking import spec


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Pretend that diffusers is installed; returns a function that makes a package unavailable."""
    present = {"diffusers", "torch", "transformers", "accelerate", "PIL"}
    monkeypatch.setattr("pytest_factorfair.models.spec.find_spec", lambda name: name in present or None)
    monkeypatch.setattr(diffusers_model, "version", lambda name: f"1.{len(name)}.7+cpu")
    return present.remove


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pipeline = tmp_path / "pipeline"
    (pipeline / "unet").mkdir(parents=True)
    (pipeline / "model_index.json").write_text('{"_class_name": "StableDiffusionPipeline"}')
    (pipeline / "unet" / "config.json").write_text("{}")
    (pipeline / "unet" / "model.safetensors").write_bytes(b"weights")
    return pipeline


def built(target: object, **arguments: str) -> Model:
    named = {key.replace("__", "."): value for key, value in arguments.items()}
    return diffusers_model.build(spec(f"diffusers:{target}", named))


def complaint(target: object, **arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        built(target, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_paths_without_a_pipeline_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint("./no-such") == (
        f"model 'diffusers:./no-such': './no-such' is not a folder in {tmp_path}; "
        "write a model of the hub as organisation/name"
    )
    assert complaint("pipeline/model_index.json").endswith("is a file; name the folder of the checkpoint")
    (folder / "unet" / "model.safetensors").rename(folder / "unet" / "model.bin")
    assert "contains no *.safetensors; pickled weights are not loaded" in complaint(folder)
    (folder / "model_index.json").write_text("{")
    assert complaint(folder).startswith(f"{folder / 'model_index.json'}: cannot be read as JSON: ")
    (folder / "model_index.json").unlink()
    assert complaint(folder).endswith("contains no model_index.json, so it is not a pipeline of diffusers")


def test_hub_id_that_was_never_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert complaint("nobody/nothing-at-all") == (
        "model 'diffusers:nobody/nothing-at-all': no such pipeline on this machine; "
        "--factorfair-model-arg download=true fetches it from the hub"
    )
    model = built("nobody/nothing-at-all", download="true", revision="abc")
    assert model.identity["weights"] == "nobody/nothing-at-all@abc"


@pytest.mark.parametrize("package", ["diffusers", "torch", "transformers", "accelerate", "PIL"])
def test_missing_extra(folder: Path, package: str, installed: Callable[[str], None]) -> None:
    installed(package)
    with pytest.raises(MissingExtraError) as caught:
        built(folder)
    assert str(caught.value) == (
        f"model 'diffusers:{folder}' needs an extra: pip install 'pytest-factorfair[diffusers]'"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("device", "gpu", "must be auto, cpu, mps, xpu, cuda or cuda:NUMBER, not 'gpu'"),
        ("dtype", "fp16", "must be auto, float32, float16 or bfloat16, not 'fp16'"),
        ("size", "512", "must be WIDTHxHEIGHT, not '512'"),
        ("size", "0x512", "must be WIDTHxHEIGHT, not '0x512'"),
        ("steps", "0", "must be a whole number of at least 1, not '0'"),
        ("format", "tiff", "argument 'format' must be png, webp or jpeg, not 'tiff'"),
        ("offload", "all", "must be none, model or sequential, not 'all'"),
        ("revision", "abc", "argument 'revision' is for pipelines of the hub, not for a folder"),
        ("download", "true", "argument 'download' is for pipelines of the hub, not for a folder"),
        ("scheduler", "euler", "must be own, euler-a, lcm, edm-euler, not 'euler'"),
        (
            "preset",
            "sdxl-turb",
            "argument 'preset': there is no preset 'sdxl-turb'; did you mean 'sdxl-turbo'?",
        ),
        ("preset", "x", "there is no preset 'x'; known: lcm-sdxl, pixart-sigma, playground-v2.5, sdxl, "),
        ("call__generator", "7", "argument 'call.generator' cannot be given: the run sets it"),
        ("trust_remote_code", "true", "is unknown"),
        ("safety_checker", "none", "is unknown"),
    ],
)
def test_invalid_arguments_are_refused(folder: Path, key: str, value: str, message: str) -> None:
    assert message in complaint(folder, **{key: value})


def test_identity_holds_what_can_change_a_picture_and_nothing_else(folder: Path) -> None:
    plain = built(folder)
    assert plain.identity == {
        "provider": "diffusers",
        "weights": checkpoint.pipeline_digest(folder),
        "dtype": "auto",
        "device": "auto",
        "call": {},
        "versions": {"diffusers": "1.9", "torch": "1.5", "transformers": "1.12"},
    }
    json.dumps(plain.identity)
    assert built(folder, batch="2", offload="model", compile="true").identity == plain.identity
    assert built(folder, device="cuda:1").identity["device"] == "cuda"
    assert built(folder, steps="30", guidance="4", size="512x768", call__eta="0.5").identity["call"] == {
        "num_inference_steps": 30,
        "guidance_scale": 4,
        "width": 512,
        "height": 768,
        "eta": 0.5,
    }
    assert built(folder, format="png").identity == plain.identity  # the default, as before there was a choice
    assert built(folder, format="webp").identity == {**plain.identity, "format": "webp"}
    assert (plain.parallel, built(folder, batch="2").parallel) == (8, 4)


def test_digest_is_of_content(folder: Path, tmp_path: Path) -> None:
    before = checkpoint.pipeline_digest(folder)
    moved = folder.rename(tmp_path / "moved")
    (moved / "README.md").write_text("words")
    assert checkpoint.pipeline_digest(moved) == before
    (moved / "unet" / "model.safetensors").write_bytes(b"Weights")
    changed = checkpoint.pipeline_digest(moved)
    (moved / "unet").rename(moved / "transformer")
    assert len({before, changed, checkpoint.pipeline_digest(moved)}) == 3


# Table 3 of the paper: size; sampler; steps; guidance.
TABLE_3 = {
    "sdxl": (1024, "EulerAncestralDiscreteScheduler", 15, 7),
    "sdxl-lightning": (1024, "EulerAncestralDiscreteScheduler", 4, 1),
    "sdxl-turbo": (512, "EulerAncestralDiscreteScheduler", 4, 1),
    "lcm-sdxl": (1024, "LCMScheduler", 4, 1),
    "pixart-sigma": (512, "EulerAncestralDiscreteScheduler", 12, 4.5),
    "playground-v2.5": (1024, "EDMEulerScheduler", 12, 4.5),
}


@pytest.mark.parametrize("name", TABLE_3)
def test_presets_are_those_of_the_paper(folder: Path, name: str) -> None:
    side, scheduler, steps, guidance = TABLE_3[name]
    identity = built(folder, preset=name).identity
    assert identity["call"] == {
        "num_inference_steps": steps,
        "guidance_scale": guidance,
        "width": side,
        "height": side,
    }
    assert identity["scheduler"] == scheduler


def test_preset_of_two_stages(folder: Path) -> None:
    """In the preset of a model with two stages, steps and guidance are for the first, and the sampler is kept."""
    identity = built(folder, preset="stable-cascade").identity
    assert identity["call"] == {
        "width": 1024,
        "height": 1024,
        "prior_num_inference_steps": 4,
        "prior_guidance_scale": 4,
    }
    assert "scheduler" not in identity


def test_what_a_preset_says_is_the_identity_and_not_its_name(folder: Path) -> None:
    spelt_out = built(folder, size="512x512", scheduler="euler-a", steps="4", guidance="1")
    assert built(folder, preset="sdxl-turbo").identity == spelt_out.identity
    overridden = built(folder, preset="sdxl-turbo", steps="8", scheduler="own", size="64x32", call__eta="1")
    assert overridden.identity["call"] == {
        "num_inference_steps": 8,
        "guidance_scale": 1,
        "width": 64,
        "height": 32,
        "eta": 1,
    }
    assert "scheduler" not in overridden.identity
    assert built(folder, scheduler="own").identity == built(folder).identity
