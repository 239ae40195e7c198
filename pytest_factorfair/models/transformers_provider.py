"""A checkpoint of Hugging Face transformers: ``transformers:PATH``, or an id of the hub.

Arguments: temperature (0), top_p (1), max_tokens (1024), system, batch (16), device (auto: a GPU if
there is one, under pytest-xdist the visible ones in turn), dtype (auto), revision (of a hub id),
``template.KEY=VALUE`` for the chat template and ``generate.KEY=VALUE`` for ``generate``.

Code in a checkpoint and pickled weights are never run. What a prompt is answered at temperature 0 can
depend, in half precision, on the prompts it shares a batch with: ``batch`` is no part of the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.models import accelerator, arguments, checkpoint
from pytest_factorfair.models.batching import Batches
from pytest_factorfair.models.generation import Generator, Settings
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

KINDS = {
    "temperature": arguments.TEMPERATURE,
    "top_p": arguments.SHARE,
    "max_tokens": arguments.COUNT,
    "system": arguments.TEXT,
    "batch": arguments.COUNT,
    "device": accelerator.DEVICE,
    "dtype": accelerator.DTYPE,
    "revision": arguments.TEXT,
}
DEFAULTS = {"temperature": 0, "top_p": 1, "max_tokens": 1024, "batch": 16, "device": "auto", "dtype": "auto"}
TEMPLATE, GENERATE = "template.", "generate."
# Set by the run, or by an argument of ours.
TAKEN = frozenset(
    {
        "do_sample",
        "input_ids",
        "attention_mask",
        "max_length",
        "max_new_tokens",
        "num_beams",
        "num_return_sequences",
    }
    | {"logits_processor", "eos_token_id", "pad_token_id", "temperature", "top_p", "streamer"}
)


def build(spec: ModelSpec) -> Model:
    """The model of a checkpoint, its folder and arguments checked, nothing imported or loaded.

    Raises:
        InputError: the folder is no checkpoint, or an argument cannot be right.
        MissingExtraError: torch or transformers is not installed.
    """
    values = DEFAULTS | arguments.read(spec, KINDS, passed_on=(GENERATE, TEMPLATE))
    generate = arguments.under(values, GENERATE)
    for key in sorted(TAKEN & generate.keys()):
        raise InputError(f"model '{spec.text}': argument '{GENERATE}{key}' cannot be given: the run sets it")
    folder = checkpoint.folder(spec)
    revision = arguments.text(values, "revision")
    if folder and revision:
        raise InputError(
            f"model '{spec.text}': argument 'revision' is for models of the hub, not for a folder"
        )
    if not (find_spec("torch") and find_spec("transformers")):
        raise MissingExtraError(f"model '{spec.text}'", "transformers")
    settings = Settings(
        source=str(folder or spec.target),
        revision=revision,
        is_local=folder is not None,
        device=str(values["device"]),
        dtype=str(values["dtype"]),
        batch=int(arguments.number(values, "batch")),
        temperature=arguments.number(values, "temperature"),
        top_p=arguments.number(values, "top_p"),
        max_tokens=int(arguments.number(values, "max_tokens")),
        system=arguments.text(values, "system"),
        template=arguments.under(values, TEMPLATE),
        generate=generate,
    )
    weights = checkpoint.digest(folder) if folder else f"{spec.target}@{revision or 'main'}"
    return TransformersModel(spec.text, settings, weights=weights)


class TransformersModel:
    """A checkpoint on this machine: what is asked while it generates becomes the next batch."""

    price = FREE

    def __init__(self, name: str, settings: Settings, *, weights: str) -> None:
        self._batches = Batches(lambda: Generator(name, settings), batch=settings.batch)
        self.endpoint = name
        self.parallel: int | None = 2 * settings.batch
        self.identity: Mapping[str, object] = {
            "provider": "transformers",
            "weights": weights,
            "dtype": settings.dtype,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
            "system": settings.system,
            "template": dict(settings.template),
            "generate": dict(settings.generate),
        }

    async def ask(self, request: Request) -> Response:
        """Wait for the batch that the request will be part of."""
        return await self._batches.ask(request)

    async def close(self) -> None:
        await self._batches.close()
