"""A text-to-image pipeline of Hugging Face diffusers: ``diffusers:PATH``, or an id of the hub.

Arguments: steps and guidance (the pipeline's own), size (WIDTHxHEIGHT, the pipeline's own), scheduler (own;
euler-a, lcm and edm-euler sample otherwise), preset (all of these by the name of a model), batch (4),
device (auto: a GPU if there is one, under pytest-xdist the visible ones in turn), dtype (auto: bfloat16
on a GPU, else float32), offload (none; model and sequential need less GPU memory), compile=true,
revision (of a hub id), download=true (fetch a hub id that is not on this machine yet), and
``call.KEY=VALUE`` for the pipeline's call.

Code in a pipeline and pickled weights are never run, and its safety checker stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.models import accelerator, arguments, checkpoint, extras
from pytest_factorfair.models.batching import Batches
from pytest_factorfair.models.diffusion_presets import OWN, PRESETS, SCHEDULERS
from pytest_factorfair.models.image_generation import ImageGenerator, Settings
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

KINDS = {
    "steps": arguments.COUNT,
    "guidance": arguments.TEMPERATURE,
    "size": arguments.matching(r"[1-9]\d*x[1-9]\d*", says="WIDTHxHEIGHT"),
    "scheduler": arguments.matching("|".join((OWN, *SCHEDULERS)), says=", ".join((OWN, *SCHEDULERS))),
    "preset": arguments.TEXT,
    "batch": arguments.COUNT,
    "device": accelerator.DEVICE,
    "dtype": accelerator.DTYPE,
    "offload": arguments.matching("none|model|sequential", says="none, model or sequential"),
    "compile": arguments.FLAG,
    "revision": arguments.TEXT,
    "download": arguments.FLAG,
}
DEFAULTS = {
    "scheduler": OWN,
    "batch": 4,
    "device": "auto",
    "dtype": "auto",
    "offload": "none",
    "compile": False,
    "download": False,
}
CALL = "call."
# Set by the run, or by an argument of ours.
TAKEN = frozenset(
    {"prompt", "prompt_embeds", "negative_prompt_embeds", "generator", "num_images_per_prompt", "height"}
    | {"width", "num_inference_steps", "guidance_scale", "output_type", "return_dict", "latents"}
    | {"callback_on_step_end"}
)


def build(spec: ModelSpec) -> Model:
    """The model of a pipeline, its folder and arguments checked, nothing imported or loaded.

    Raises:
        InputError: the folder is no pipeline, or an argument cannot be right.
        MissingExtraError: diffusers, torch or transformers is not installed.
    """
    values = _values(spec)
    call = arguments.under(values, CALL)
    arguments.refuse(spec, CALL, call, ours={}, taken=TAKEN)
    folder = checkpoint.pipeline(spec)
    revision = arguments.text(values, "revision")
    if folder and (revision or values["download"]):
        given = "revision" if revision else "download"
        raise InputError(
            f"model '{spec.text}': argument '{given}' is for pipelines of the hub, not for a folder"
        )
    extras.need(spec, "diffusers", "diffusers", "torch", "transformers", "accelerate", "PIL")
    if not (folder or values["download"]):
        checkpoint.check_on_this_machine(spec, revision)
    settings = Settings(
        source=str(folder or spec.target),
        revision=revision,
        scheduler=SCHEDULERS.get(str(values["scheduler"])),
        local_files_only=not values["download"],
        device=str(values["device"]),
        dtype=str(values["dtype"]),
        offload=str(values["offload"]),
        is_compiled=values["compile"] is True,
        batch=int(arguments.number(values, "batch")),
        call=_named(values) | call,
    )
    weights = checkpoint.pipeline_digest(folder) if folder else f"{spec.target}@{revision or 'main'}"
    return DiffusersModel(spec.text, settings, weights=weights)


class DiffusersModel:
    """A pipeline on this machine; pictures of one prompt are drawn together."""

    price = FREE

    def __init__(self, name: str, settings: Settings, *, weights: str) -> None:
        self._batches = Batches(
            lambda: ImageGenerator(name, settings),
            batch=settings.batch,
            alike=lambda request: request.prompt,
        )
        self.endpoint = name
        self.parallel: int | None = 2 * settings.batch
        self.identity: Mapping[str, object] = {
            "provider": "diffusers",
            "weights": weights,
            "dtype": settings.dtype,
            "device": settings.device.partition(":")[0],
            "call": dict(settings.call),
            **({"scheduler": settings.scheduler.name} if settings.scheduler else {}),
            "versions": {name: _release(name) for name in ("diffusers", "torch", "transformers")},
        }

    async def ask(self, request: Request) -> Response:
        """Wait for the batch that the picture will be part of."""
        return await self._batches.ask(request)

    async def close(self) -> None:
        await self._batches.close()


def _values(spec: ModelSpec) -> dict[str, object]:
    """The arguments given, over those of the preset, over the defaults."""
    given = arguments.read(spec, KINDS, passed_on=(CALL,))
    preset = arguments.text(given, "preset")
    if preset is None:
        return DEFAULTS | given
    if preset not in PRESETS:
        raise InputError(
            f"model '{spec.text}': argument 'preset': there is no preset '{preset}'{nearest(preset, PRESETS)}"
        )
    return DEFAULTS | dict(PRESETS[preset]) | given


def _named(values: Mapping[str, object]) -> dict[str, object]:
    """The arguments of ours as the pipeline's call has them."""
    named = {"steps": "num_inference_steps", "guidance": "guidance_scale"}
    width, _, height = str(values.get("size", "")).partition("x")
    size = {"width": int(width), "height": int(height)} if height else {}
    return {theirs: values[ours] for ours, theirs in named.items() if ours in values} | size


def _release(package: str) -> str:
    """The first two numbers of a version: later ones mend, and draw the same."""
    return ".".join(version(package).split(".")[:2])
