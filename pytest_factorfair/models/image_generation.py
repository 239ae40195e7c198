"""Batches of pictures through a diffusion pipeline, by torch and diffusers, in the calling thread."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from threading import Event
from typing import Any

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import FatalModelError, ModelError, RetryableModelError
from pytest_factorfair.models import accelerator
from pytest_factorfair.models.accelerator import Halving, line, seed_of
from pytest_factorfair.models.diffusion_presets import Scheduler

# torch and diffusers are imported by name, when used: they take seconds, and are not always installed.

FLAGGED = "pictures that a safety checker blacked out count as refusals"
BLANK = "pictures of one colour count as refusals (a safety checker, or half precision that overflowed)"
CUT = "prompts longer than the pipeline's text encoder reads were cut off at {} tokens"
LEAST_CONTRAST = 1.0  # standard deviation of the 8-bit values

# What encode_prompt returns, by the names under which the pipeline's call takes it.
_EMBEDDINGS: Mapping[str, tuple[str, ...]] = {
    "StableDiffusionPipeline": ("prompt_embeds", "negative_prompt_embeds"),
    "StableDiffusionXLPipeline": (
        "prompt_embeds",
        "negative_prompt_embeds",
        "pooled_prompt_embeds",
        "negative_pooled_prompt_embeds",
    ),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a pipeline is loaded and called: ``scheduler`` replaces its own, ``call`` is passed on to it."""

    source: str
    revision: str | None
    scheduler: Scheduler | None
    local_files_only: bool
    device: str
    dtype: str
    offload: str
    is_compiled: bool
    batch: int
    call: Mapping[str, Any]


class ImageGenerator:
    """A loaded pipeline. ``batch`` shrinks to what fits into memory, ``closing`` ends what is under way.

    Raises:
        FatalModelError: the pipeline cannot be loaded.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.closing = Event()
        self._name = name
        self._settings = settings
        self._encoded: tuple[str, Mapping[str, Any]] = ("", {})
        self._outcomes = Halving(name, settings.batch, self._generated)
        try:
            self._load()
        except Exception as error:  # a pipeline can be wrong in any way
            raise FatalModelError(f"{name}: cannot be loaded: {line(error)}") from error

    @property
    def batch(self) -> int:
        return self._outcomes.batch

    def __call__(self, requests: Sequence[Request]) -> list[Response | ModelError]:
        """The outcome of each request, in their order; they are of one prompt."""
        return self._outcomes(list(requests))

    def _load(self) -> None:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        torch, diffusers = import_module("torch"), import_module("diffusers")
        for library in ("diffusers", "transformers"):
            logging = import_module(f"{library}.utils.logging")
            logging.disable_progress_bar()
            logging.set_verbosity_error()  # what they warn of is among our notes
        settings = self._settings
        device = accelerator.chosen(settings.device)
        half = "float32" if device == "cpu" else "bfloat16"
        pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(
            settings.source,
            dtype=getattr(torch, half if settings.dtype == "auto" else settings.dtype),
            use_safetensors=True,
            local_files_only=settings.local_files_only,
            trust_remote_code=False,
            **({"revision": settings.revision} if settings.revision else {}),
        )
        pipeline.set_progress_bar_config(disable=True)
        if settings.scheduler:
            pipeline.scheduler = _rescheduled(pipeline.scheduler, settings.scheduler)
        self._pipeline = _placed(pipeline, device, settings)
        self._call = inspect.signature(pipeline.__call__).parameters

    def _generated(self, requests: list[Request]) -> list[Response]:
        torch = import_module("torch")
        # Drawn on the CPU, noise is the same on every device, and that of each picture its own.
        seeds = [torch.Generator("cpu").manual_seed(seed_of(request)) for request in requests]
        with torch.inference_mode():
            drawn = self._pipeline(
                **self._prompt(requests[0].prompt),
                num_images_per_prompt=len(requests),
                generator=seeds,
                **({"callback_on_step_end": self._step} if "callback_on_step_end" in self._call else {}),
                **self._settings.call,
            )
        flags = getattr(drawn, "nsfw_content_detected", None) or [False] * len(requests)
        cut = self._cut(requests[0].prompt)
        pictures = zip(drawn.images, flags, strict=True)
        return [self._response(picture, cut, is_flagged=bool(flag)) for picture, flag in pictures]

    def _prompt(self, prompt: str) -> Mapping[str, Any]:
        """The prompt as the pipeline takes it: encoded, once for all its batches, where that is known how."""
        names = _EMBEDDINGS.get(type(self._pipeline).__name__, ())
        if not names or "negative_prompt" in self._settings.call:
            return {"prompt": prompt}
        if self._encoded[0] != prompt:
            guidance = self._settings.call.get("guidance_scale", self._call["guidance_scale"].default)
            encoded = self._pipeline.encode_prompt(
                prompt=prompt,
                device=self._pipeline._execution_device,  # noqa: SLF001  # as its own call does
                num_images_per_prompt=1,
                do_classifier_free_guidance=guidance > 1,
            )
            self._encoded = (prompt, dict(zip(names, encoded, strict=True)))
        return self._encoded[1]

    def _cut(self, prompt: str) -> tuple[str, ...]:
        """The note of a prompt that none of the text encoders reads to its end."""
        parts = (getattr(self._pipeline, name, None) for name in ("tokenizer", "tokenizer_2", "tokenizer_3"))
        tokenizers = [part for part in parts if part is not None]
        limit = max((tokenizer.model_max_length for tokenizer in tokenizers), default=None)
        if limit is None or any(len(one(prompt).input_ids) <= one.model_max_length for one in tokenizers):
            return ()
        return (CUT.format(limit),)

    def _step(self, _pipeline: Any, _step: int, _time: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        if self.closing.is_set():
            raise RetryableModelError("the run was stopped")
        return tensors

    def _response(self, picture: Any, notes: tuple[str, ...], *, is_flagged: bool) -> Response:
        source = self._settings.source
        pixels = import_module("numpy").asarray(picture)
        if is_flagged or pixels.std() < LEAST_CONTRAST:
            black = FLAGGED if is_flagged else BLANK
            return Response("", "refusal", cost=0.0, model=source, notes=(*notes, black))
        file = BytesIO()
        picture.save(file, "PNG", compress_level=1)  # the next batch waits for it
        return Response("", cost=0.0, model=source, notes=notes, image=file.getvalue())


def _rescheduled(own: Any, scheduler: Scheduler) -> Any:
    """Another scheduler with the settings of the pipeline's own: what the network was trained for."""
    if scheduler.needs not in own.config:
        told = f"the scheduler of this pipeline, {type(own).__name__}, cannot become {scheduler.name}"
        raise ValueError(f"{told}: it has no {scheduler.needs}")
    return getattr(import_module("diffusers"), scheduler.name).from_config(own.config)


def _placed(pipeline: Any, device: str, settings: Settings) -> Any:
    """The pipeline on its device, compiled where that is wanted."""
    if settings.offload == "model":
        pipeline.enable_model_cpu_offload(device=device)
    elif settings.offload == "sequential":
        pipeline.enable_sequential_cpu_offload(device=device)
    else:
        pipeline.to(device)
    if settings.is_compiled:
        part = "transformer" if getattr(pipeline, "transformer", None) is not None else "unet"
        setattr(pipeline, part, import_module("torch").compile(getattr(pipeline, part)))
    return pipeline
