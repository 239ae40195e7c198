from __future__ import annotations

import asyncio
import functools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import FatalModelError, RejectedRequestError
from pytest_factorfair.local import diffusers_model
from pytest_factorfair.local.diffusers_model import PictureGenerator, build
from pytest_factorfair.local.model import LocalModel
from tests import tiny_pipeline
from tests.asking import ask, ask_all, spec
from tests.extras import needs

pytestmark = [
    needs("diffusers"),
    # Libraries' own affairs, of the versions that are installed.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]

PERSON, DOG = "a person", "a dog"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_pipeline.write(tmp_path_factory.mktemp("pipeline"))


def made(folder: Path, **arguments: str) -> LocalModel:
    named = {key.replace("__", "."): value for key, value in arguments.items()}
    model = build(spec(f"diffusers:{folder}", {"steps": "2", "device": "cpu"} | named))
    assert isinstance(model, LocalModel)
    return model


def wanted(prompt: str = PERSON, number: int = 4) -> list[Request]:
    return [Request(prompt, repeat=repeat, seed=9) for repeat in range(number)]


def pixels(response: Response) -> Any:
    from PIL import Image

    assert response.image is not None
    return np.asarray(Image.open(BytesIO(response.image)))


def same(shown: Any, expected: Any) -> bool:
    """Equal, but for a rounding here and there: sums of another batch differ in their seventh digit."""
    away = np.abs(shown.astype(int) - expected.astype(int))
    return bool(shown.shape == expected.shape and away.max() <= 1 and (away > 0).mean() < 0.002)


def by_hand(folder: Path, request: Request, **call: object) -> Any:
    """One picture by diffusers alone: the prompt as words, its own generator, no batch."""
    seed = import_module("torch").Generator("cpu").manual_seed((request.seed << 20) + request.repeat)
    drawn = loaded(folder)(request.prompt, generator=seed, **{"num_inference_steps": 2} | call)
    return np.asarray(drawn.images[0])


@functools.cache
def loaded(folder: Path) -> Any:
    kind = import_module("diffusers").StableDiffusionPipeline
    pipeline = kind.from_pretrained(folder, local_files_only=True)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


@contextmanager
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many pictures each batch was of."""
    sizes: list[int] = []
    whole = PictureGenerator.generate

    def counted(self: PictureGenerator, requests: list[Request]) -> list[Callable[[], Response]]:
        sizes.append(len(requests))
        return whole(self, requests)

    monkeypatch.setattr(PictureGenerator, "generate", counted)
    yield sizes


def test_batch_of_four_equals_single_pictures(folder: Path) -> None:
    """In a batch of another size, the same request gives the same bytes."""
    batched = ask_all(made(folder, batch="4"), wanted())
    for request, response in zip(wanted(), batched, strict=True):
        assert pixels(response).shape == (64, 64, 3)
        assert same(pixels(response), by_hand(folder, request))
    assert len({response.image for response in batched}) == 4
    assert ask_all(made(folder, batch="2"), wanted()[::-1])[::-1] == batched


def test_pictures_in_a_smaller_format(folder: Path) -> None:
    """The same drawing, in fewer bytes; what an untrained pipeline draws is noise, the worst case for colours."""
    from PIL import Image

    (exact,) = ask_all(made(folder), wanted(number=1))
    assert exact.image is not None
    assert Image.open(BytesIO(exact.image)).format == "PNG"
    for kind in ("webp", "jpeg"):
        (small,) = ask_all(made(folder, format=kind), wanted(number=1))
        assert small.image is not None
        assert Image.open(BytesIO(small.image)).format == kind.upper()
        assert len(small.image) < len(exact.image)
        exact_grey, small_grey = (pixels(picture).mean(axis=-1).ravel() for picture in (exact, small))
        assert np.corrcoef(exact_grey, small_grey)[0, 1] > 0.9


def test_arguments_reach_the_pipeline(folder: Path) -> None:
    asked = wanted(number=1)
    model = made(folder, steps="3", guidance="4", size="48x32", call__eta="0.5", call__negative_prompt=DOG)
    (response,) = ask_all(model, asked)
    call = {"num_inference_steps": 3, "guidance_scale": 4, "width": 48, "height": 32, "eta": 0.5}
    assert pixels(response).shape == (32, 48, 3)
    assert same(pixels(response), by_hand(folder, asked[0], negative_prompt=DOG, **call))
    assert not same(pixels(response), by_hand(folder, asked[0], **call))
    assert (response.cost, response.model, response.notes) == (0.0, str(folder), ())


@pytest.mark.parametrize(
    ("preset", "name"), [("sdxl-turbo", "EulerAncestralDiscreteScheduler"), ("lcm-sdxl", "LCMScheduler")]
)
def test_preset_samples_as_its_scheduler_does(folder: Path, preset: str, name: str) -> None:
    """Both draw noise at every step: from each picture's own seed, whatever batch it is in."""
    model = made(folder, preset=preset, steps="3", size="64x64")
    pipeline = copy(loaded(folder))
    kind = getattr(import_module("diffusers"), name)
    pipeline.scheduler = kind.from_config(pipeline.scheduler.config)
    asked = wanted(number=2)
    for request, response in zip(asked, ask_all(model, asked), strict=True):
        seed = import_module("torch").Generator("cpu").manual_seed((request.seed << 20) + request.repeat)
        call = {"num_inference_steps": 3, "guidance_scale": 1, "width": 64, "height": 64}
        drawn = np.asarray(pipeline(request.prompt, generator=seed, **call).images[0])
        assert same(pixels(response), drawn)
        assert not same(drawn, by_hand(folder, request, **call))


def test_scheduler_that_means_nothing_to_the_pipeline(folder: Path) -> None:
    with pytest.raises(FatalModelError) as caught:
        ask(made(folder, preset="playground-v2.5"), PERSON)
    assert str(caught.value).endswith(
        "the scheduler of this pipeline, DDIMScheduler, cannot become EDMEulerScheduler: it has no sigma_data"
    )


def test_prompts_do_not_mix_in_a_batch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    person, dog = wanted(PERSON, 2), wanted(DOG, 2)
    mixed = [request for pair in zip(person, dog, strict=True) for request in pair]
    with calls(monkeypatch) as sizes:
        responses = ask_all(made(folder, batch="4"), mixed)
    assert sizes == [2, 2]
    for request, response in zip(mixed, responses, strict=True):
        assert same(pixels(response), by_hand(folder, request))


def test_prompt_that_is_cut_off_is_reported(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    longest = "a" * (tiny_pipeline.LENGTH - 2)  # a token each, between those of start and end
    whole, cut = ask(made(folder), longest, f"{longest}a")
    assert whole.notes == ()
    assert cut.notes == ("prompts longer than the pipeline's text encoder reads were cut off at 77 tokens",)
    assert same(pixels(cut), by_hand(folder, Request(f"{longest}a")))
    assert "truncated" not in capfd.readouterr().err


def test_prompt_is_encoded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diffusers = import_module("diffusers")
    encode = diffusers.StableDiffusionPipeline.encode_prompt
    encoded: list[object] = []

    def counted(self: object, *positional: object, **named: object) -> object:
        # The pipeline's own call comes here too, with what was encoded.
        if (positional or (named.get("prompt"),))[0] is not None:
            encoded.append(named.get("prompt"))
        return encode(self, *positional, **named)

    monkeypatch.setattr(diffusers.StableDiffusionPipeline, "encode_prompt", counted)
    ask_all(made(folder, batch="2"), [*wanted(PERSON, 3), *wanted(DOG, 2)])
    assert encoded == [PERSON, DOG]


def test_batch_halves_when_memory_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, kind = import_module("torch"), import_module("diffusers").StableDiffusionPipeline
    expected = ask_all(made(folder), wanted(number=5))
    call = kind.__call__
    sizes: list[int] = []

    @functools.wraps(call)
    def scarce(self: object, **named: Any) -> object:
        sizes.append(named["num_images_per_prompt"])
        if sizes[-1] > 2:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")
        return call(self, **named)

    monkeypatch.setattr(kind, "__call__", scarce)
    for response, reference in zip(ask_all(made(folder, batch="4"), wanted(number=5)), expected, strict=True):
        assert same(pixels(response), pixels(reference))
    assert sizes == [4, 2, 2, 1]


def checked(monkeypatch: pytest.MonkeyPatch, flags: list[bool] | None, black: list[bool]) -> None:
    """Have the pipeline's safety checker black out and flag some pictures."""
    kind = import_module("diffusers").StableDiffusionPipeline

    def run(_: object, image: Any, *__: object) -> tuple[Any, object]:
        for number, is_black in enumerate(black):
            if is_black:
                image[number] = -1.0
        return image, flags

    monkeypatch.setattr(kind, "run_safety_checker", run)


def test_a_picture_is_encoded_while_the_next_is_generated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate, encode = PictureGenerator.generate, PictureGenerator.encode
    next_begins, overlaps = Event(), list[bool]()

    def generated(self: PictureGenerator, requests: list[Request]) -> list[Callable[[], Response]]:
        if requests[0].repeat == 1:
            next_begins.set()
        return generate(self, requests)

    def encoded(self: PictureGenerator, *arguments: Any, **flags: Any) -> Response:
        overlaps.append(next_begins.wait(60))
        return encode(self, *arguments, **flags)

    monkeypatch.setattr(PictureGenerator, "generate", generated)
    monkeypatch.setattr(PictureGenerator, "encode", encoded)
    responses = ask_all(made(folder, batch="1"), wanted(number=2))
    assert overlaps == [True, True]
    assert len({response.image for response in responses}) == 2


@pytest.mark.parametrize(
    ("flags", "note"), [([False, True], diffusers_model.FLAGGED), (None, diffusers_model.BLANK)]
)
def test_black_picture_of_a_safety_checker_is_a_refusal(
    folder: Path, monkeypatch: pytest.MonkeyPatch, flags: list[bool] | None, note: str
) -> None:
    checked(monkeypatch, flags, [False, True])
    good, black = ask_all(made(folder), wanted(number=2))
    assert (good.finish, good.notes) == ("stop", ())
    assert good.image is not None
    assert black == Response("", "refusal", cost=0.0, model=str(folder), notes=(note,))


def test_pipeline_that_fails_for_one_prompt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = import_module("diffusers").StableDiffusionPipeline
    call = kind.__call__

    @functools.wraps(call)
    def fussy(self: object, **named: Any) -> object:
        if named["generator"][0].initial_seed() % 2:
            raise ValueError("an odd\nseed")
        return call(self, **named)

    monkeypatch.setattr(kind, "__call__", fussy)
    assert len(ask_all(made(folder, batch="1"), wanted(number=1))) == 1
    with pytest.raises(RejectedRequestError, match=r"pipeline\d: ValueError: an odd seed$"):
        ask_all(made(folder, batch="1"), wanted(number=2))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "unet/diffusion_pytorch_model.safetensors").write_bytes(
            b"\x08" + b"\0" * 40
        ),
        lambda folder: (folder / "unet/config.json").write_text("{"),
        lambda folder: (folder / "model_index.json").write_text('{"_class_name": "NoSuchPipeline"}'),
        lambda folder: (folder / "vae/diffusion_pytorch_model.safetensors").rename(folder / "vae/x.bin"),
    ],
    ids=["weights", "config", "class", "pickled"],
)
def test_pipeline_that_cannot_be_loaded(
    folder: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    spoil(shutil.copytree(folder, tmp_path, dirs_exist_ok=True))
    with pytest.raises(FatalModelError) as caught:
        ask(made(tmp_path), PERSON)
    assert str(caught.value).startswith(f"diffusers:{tmp_path}: cannot be loaded: ")
    assert "\n" not in str(caught.value)


def test_a_missing_gpu_is_a_fatal_error(folder: Path) -> None:
    if import_module("torch").cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(FatalModelError, match="cannot be loaded: RuntimeError: no GPU is visible"):
        ask(made(folder, device="cuda"), PERSON)


def test_run_that_is_stopped_leaves_nobody_waiting(folder: Path) -> None:
    async def run() -> list[object]:
        model = made(folder, batch="1", steps="20")
        tasks = [asyncio.ensure_future(model.ask(request)) for request in wanted(number=4)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await model.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(run())
    assert isinstance(outcomes[0], Response)
    assert isinstance(outcomes[-1], asyncio.CancelledError)


def test_another_pipeline_another_identity(folder: Path, tmp_path: Path) -> None:
    another_folder = tiny_pipeline.write(tmp_path, seed=1)
    assert made(folder).identity == made(folder, batch="1").identity
    assert made(folder).identity["weights"] != made(another_folder).identity["weights"]
