"""A text-to-image pipeline of Hugging Face diffusers: ``diffusers:PATH``, or an id of the hub.

Arguments: steps and guidance (the pipeline's own), size (WIDTHxHEIGHT, the pipeline's own), scheduler (own;
or euler-a, lcm, edm-euler), preset (all of these by the name of a model), batch (4), device (auto: a GPU if
there is one, under pytest-xdist the visible ones in turn), dtype (auto: bfloat16 on a GPU, else float32),
offload (none; model and sequential need less GPU memory), compile=true, format (png; webp and jpeg are lossy,
and a fifth of the size), revision (of a hub id), download=true (fetch a hub id that is not on this machine
yet), and ``call.KEY=VALUE`` for the pipeline's call.

Code in a pipeline and pickled weights are never run, and its safety checker stays as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from io import BytesIO
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, RetryableModelError, nearest
from pytest_factorfair.local import checkpoint
from pytest_factorfair.local.model import Generator, LocalArguments, LocalModel, chosen_device, seed_of
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import (
    AcceptedValues,
    Count,
    Flag,
    PassThrough,
    PictureFormat,
    Temperature,
    Text,
)
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

# torch and diffusers are imported by name when used: importing takes seconds, and they may not be installed.

FLAGGED = "pictures that a safety checker blacked out count as refusals"
BLANK = "pictures of one colour count as refusals (a safety checker, or half precision that overflowed)"
CUT = "prompts longer than the pipeline's text encoder reads were cut off at {} tokens"
LEAST_CONTRAST = 1.0  # standard deviation of the 8-bit values

# PNG is compressed fast, so that encoding keeps up with generating. The model's identity contains the
# format but not these settings; if a quality changes, add it to the identity.
SAVED: Mapping[str, Mapping[str, int]] = {
    "png": {"compress_level": 1},
    "webp": {"quality": 90},
    "jpeg": {"quality": 90},
}


class Scheduler(NamedTuple):
    """A scheduler class of diffusers; it can replace any scheduler that has the setting ``needs``."""

    name: str
    needs: str


OWN = "own"
SCHEDULERS: Mapping[str, Scheduler] = {
    "euler-a": Scheduler("EulerAncestralDiscreteScheduler", "beta_schedule"),
    "lcm": Scheduler("LCMScheduler", "beta_schedule"),
    "edm-euler": Scheduler("EDMEulerScheduler", "sigma_data"),
}

# Table 3 of Luo et al. (DMLR at ICML 2024): size, sampler, steps and guidance of each model. Two
# of its samplers ("Euler a" for all but LCM-SDXL) do not exist in diffusers: Playground v2.5 uses plain Euler
# in its own (EDM) formulation, Stable Cascade keeps its own ancestral sampler, with the steps and guidance of
# the first of its two stages.
PRESETS: Mapping[str, Mapping[str, object]] = {
    "sdxl": {"size": "1024x1024", "scheduler": "euler-a", "steps": 15, "guidance": 7},
    "sdxl-lightning": {"size": "1024x1024", "scheduler": "euler-a", "steps": 4, "guidance": 1},
    "sdxl-turbo": {"size": "512x512", "scheduler": "euler-a", "steps": 4, "guidance": 1},
    "lcm-sdxl": {"size": "1024x1024", "scheduler": "lcm", "steps": 4, "guidance": 1},
    "pixart-sigma": {"size": "512x512", "scheduler": "euler-a", "steps": 12, "guidance": 4.5},
    "stable-cascade": {
        "size": "1024x1024",
        "call.prior_num_inference_steps": 4,
        "call.prior_guidance_scale": 4,
    },
    "playground-v2.5": {"size": "1024x1024", "scheduler": "edm-euler", "steps": 12, "guidance": 4.5},
}

# For each result of encode_prompt, the argument of the pipeline's call that takes it.
_EMBEDDINGS: Mapping[str, tuple[str, ...]] = {
    "StableDiffusionPipeline": ("prompt_embeds", "negative_prompt_embeds"),
    "StableDiffusionXLPipeline": (
        "prompt_embeds",
        "negative_prompt_embeds",
        "pooled_prompt_embeds",
        "negative_pooled_prompt_embeds",
    ),
}
# Set by the run or by the arguments below, so that users cannot pass them on.
_TAKEN = frozenset(
    {"prompt", "prompt_embeds", "negative_prompt_embeds", "generator", "num_images_per_prompt", "height"}
    | {"width", "num_inference_steps", "guidance_scale", "output_type", "return_dict", "latents"}
    | {"callback_on_step_end"}
)
_SCHEDULER_NAMES = (OWN, *SCHEDULERS)


class PictureArguments(LocalArguments):
    """The arguments of a pipeline."""

    steps: Count | None = None
    guidance: Temperature | None = None
    size: (
        Annotated[str, Field(pattern=r"^[1-9]\d*x[1-9]\d*$"), AcceptedValues("WIDTHxHEIGHT", verbatim=True)]
        | None
    ) = None
    scheduler: Annotated[
        str,
        Field(pattern=f"^(?:{'|'.join(_SCHEDULER_NAMES)})$"),
        AcceptedValues(", ".join(_SCHEDULER_NAMES), verbatim=True),
    ] = OWN
    preset: Text | None = None
    batch: Count = 4
    offload: Annotated[
        str,
        Field(pattern="^(?:none|model|sequential)$"),
        AcceptedValues("none, model or sequential", verbatim=True),
    ] = "none"
    compile: Flag = False
    format: PictureFormat = "png"
    download: Flag = False
    call: Annotated[dict[str, object], PassThrough(_TAKEN)] = Field(default_factory=dict)

    @property
    def whole_call(self) -> Mapping[str, Any]:
        """All keyword arguments of the pipeline's call."""
        named = {"num_inference_steps": self.steps, "guidance_scale": self.guidance}
        width, _, height = (self.size or "").partition("x")
        size = {"width": int(width), "height": int(height)} if height else {}
        return {name: value for name, value in named.items() if value is not None} | size | self.call


def build(spec: ModelSpec) -> Model:
    """Validate the folder and arguments of a pipeline; its libraries and weights are loaded later.

    Raises:
        InputError: the folder is not a pipeline, or an argument is wrong.
        MissingExtraError: diffusers, torch or transformers is not installed.
    """
    asked = arguments.read(spec, PictureArguments)
    if asked.preset:
        if asked.preset not in PRESETS:
            suggestion = nearest(asked.preset, PRESETS)
            raise InputError(
                f"model '{spec.text}': argument 'preset': there is no preset '{asked.preset}'{suggestion}"
            )
        asked = arguments.read(spec, PictureArguments, preset=PRESETS[asked.preset])
    folder = checkpoint.pipeline(spec)
    if folder and (asked.revision or asked.download):
        argument = "revision" if asked.revision else "download"
        raise InputError(
            f"model '{spec.text}': argument '{argument}' is for pipelines of the hub, not for a folder"
        )
    spec.require("diffusers", "diffusers", "torch", "transformers", "accelerate", "PIL")
    if not (folder or asked.download):
        checkpoint.check_on_this_machine(spec, asked.revision)
    scheduler = SCHEDULERS.get(asked.scheduler)
    releases = {name: version(name).split(".")[:2] for name in ("diffusers", "torch", "transformers")}
    identity = {
        "provider": "diffusers",
        "weights": checkpoint.pipeline_digest(folder)
        if folder
        else f"{spec.target}@{asked.revision or 'main'}",
        "dtype": asked.dtype,
        "device": asked.device.partition(":")[0],
        "call": dict(asked.whole_call),
        **({"scheduler": scheduler.name} if scheduler else {}),
        **({"format": asked.format} if asked.format != "png" else {}),
        # Patch releases only fix bugs and generate the same pictures.
        "versions": {name: ".".join(release) for name, release in releases.items()},
    }
    return LocalModel(
        spec.text,
        lambda: PictureGenerator(spec.text, str(folder or spec.target), asked),
        batch=asked.batch,
        identity=identity,
        alike=lambda request: request.prompt,
    )


class PictureGenerator(Generator[Request]):
    """A loaded pipeline; all requests of a batch have the same prompt."""

    def __init__(self, name: str, source: str, asked: PictureArguments) -> None:
        self._source = source
        self._asked = asked
        self._encoded: tuple[str, Mapping[str, Any]] = ("", {})
        super().__init__(name, asked.batch)

    def load(self) -> None:
        torch, diffusers = import_module("torch"), import_module("diffusers")
        for library in ("diffusers", "transformers"):
            logging = import_module(f"{library}.utils.logging")
            logging.disable_progress_bar()
            logging.set_verbosity_error()  # reported as notes of the responses instead
        asked = self._asked
        device = chosen_device(asked.device)
        half = "float32" if device == "cpu" else "bfloat16"
        pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(
            self._source,
            dtype=getattr(torch, half if asked.dtype == "auto" else asked.dtype),
            use_safetensors=True,
            local_files_only=not asked.download,
            trust_remote_code=False,
            **({"revision": asked.revision} if asked.revision else {}),
        )
        pipeline.set_progress_bar_config(disable=True)
        if scheduler := SCHEDULERS.get(asked.scheduler):
            original = pipeline.scheduler
            if scheduler.needs not in original.config:
                raise ValueError(
                    f"the scheduler of this pipeline, {type(original).__name__}, cannot become "
                    f"{scheduler.name}: it has no {scheduler.needs}"
                )
            # from_config keeps the settings that the network was trained with.
            pipeline.scheduler = getattr(diffusers, scheduler.name).from_config(original.config)
        if asked.offload == "model":
            pipeline.enable_model_cpu_offload(device=device)
        elif asked.offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=device)
        else:
            pipeline.to(device)
        if asked.compile:
            part = "transformer" if getattr(pipeline, "transformer", None) is not None else "unet"
            setattr(pipeline, part, torch.compile(getattr(pipeline, part)))
        self._pipeline = pipeline
        self._parameters = inspect.signature(pipeline.__call__).parameters

    def prepared(self, request: Request) -> Request:
        return request

    def generate(self, batch: list[Request]) -> list[Callable[[], Response]]:
        torch = import_module("torch")
        prompt = batch[0].prompt
        # Noise is drawn on the CPU, so that it does not depend on the device; one generator per picture.
        seeds = [torch.Generator("cpu").manual_seed(seed_of(request)) for request in batch]
        steps = {"callback_on_step_end": self._step} if "callback_on_step_end" in self._parameters else {}
        with torch.inference_mode():
            drawn = self._pipeline(
                **self._prompt(prompt),
                num_images_per_prompt=len(batch),
                generator=seeds,
                **steps,
                **self._asked.whole_call,
            )
        flags = getattr(drawn, "nsfw_content_detected", None) or [False] * len(batch)
        cut = self._cut(prompt)
        pictures = zip(drawn.images, flags, strict=True)
        return [partial(self.encode, picture, cut, is_flagged=bool(flag)) for picture, flag in pictures]

    def _prompt(self, prompt: str) -> Mapping[str, Any]:
        """The prompt as arguments of the pipeline's call, encoded only once if the pipeline supports it."""
        names = _EMBEDDINGS.get(type(self._pipeline).__name__, ())
        call = self._asked.whole_call
        if not names or "negative_prompt" in call:
            return {"prompt": prompt}
        if self._encoded[0] != prompt:
            guidance = call.get("guidance_scale", self._parameters["guidance_scale"].default)
            encoded = self._pipeline.encode_prompt(
                prompt=prompt,
                device=self._pipeline._execution_device,  # noqa: SLF001  # as the pipeline's own call does
                num_images_per_prompt=1,
                do_classifier_free_guidance=guidance > 1,
            )
            self._encoded = (prompt, dict(zip(names, encoded, strict=True)))
        return self._encoded[1]

    def _cut(self, prompt: str) -> tuple[str, ...]:
        """The note for a prompt that every text encoder truncates."""
        parts = (getattr(self._pipeline, name, None) for name in ("tokenizer", "tokenizer_2", "tokenizer_3"))
        tokenizers = [part for part in parts if part is not None]
        limit = max((tokenizer.model_max_length for tokenizer in tokenizers), default=None)
        if limit is None or any(
            len(tokenizer(prompt).input_ids) <= tokenizer.model_max_length for tokenizer in tokenizers
        ):
            return ()
        return (CUT.format(limit),)

    def _step(self, _pipeline: Any, _step: int, _time: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if self.closing.is_set():
            raise RetryableModelError("the run was stopped")
        return tensors

    def encode(self, picture: Any, notes: tuple[str, ...], *, is_flagged: bool) -> Response:
        """Encode a picture as a response; a black picture, or one of a single colour, is a refusal."""
        pixels = import_module("numpy").asarray(picture)
        if is_flagged or pixels.std() < LEAST_CONTRAST:
            black = FLAGGED if is_flagged else BLANK
            return Response("", "refusal", cost=0.0, model=self._source, notes=(*notes, black))
        file = BytesIO()
        kind = self._asked.format
        # A JPEG has no transparency.
        (picture.convert("RGB") if kind == "jpeg" else picture).save(file, kind, **SAVED[kind])
        return Response("", cost=0.0, model=self._source, notes=notes, image=file.getvalue())
