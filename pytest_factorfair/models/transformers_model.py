"""A checkpoint of Hugging Face transformers: ``transformers:PATH``, or an id of the hub.

Arguments: temperature (0), top_p (1), max_tokens (1024), system, batch (16), device (auto: a GPU if
there is one, under pytest-xdist the visible ones in turn), dtype (auto), revision (of a hub id),
``template.KEY=VALUE`` for the chat template and ``generate.KEY=VALUE`` for ``generate``.

Code in a checkpoint and pickled weights are never run. In half precision, an answer at temperature 0 can
depend on the other prompts in its batch; ``batch`` is not part of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from typing import Annotated, Any

from pydantic import Field

from pytest_factorfair.domain import Request, Response, plural
from pytest_factorfair.errors import InputError, ModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models import arguments, checkpoint
from pytest_factorfair.models.arguments import Count, PassedOn, Share, Temperature, Text
from pytest_factorfair.models.local_model import (
    Generator,
    LocalArguments,
    LocalModel,
    chosen_device,
    one_line,
    seed_of,
)
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

# torch and transformers are imported by name when used: importing takes seconds, and they may be missing.

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
# Set by the run, or by one of our own arguments.
_TAKEN = frozenset(
    {"do_sample", "input_ids", "attention_mask", "max_length", "max_new_tokens", "num_beams"}
    | {"num_return_sequences", "logits_processor", "eos_token_id", "pad_token_id", "temperature", "top_p"}
    | {"streamer"}
)


class TextArguments(LocalArguments):
    """The arguments of a checkpoint."""

    temperature: Temperature = 0
    top_p: Share = 1
    max_tokens: Count = 1024
    system: Text | None = None
    batch: Count = 16
    generate: Annotated[dict[str, object], PassedOn(_TAKEN)] = Field(default_factory=dict)
    template: Annotated[dict[str, object], PassedOn()] = Field(default_factory=dict)


def build(spec: ModelSpec) -> Model:
    """The model of a checkpoint, its folder and arguments validated, nothing imported or loaded.

    Raises:
        InputError: the folder is not a checkpoint, or an argument is wrong.
        MissingExtraError: torch or transformers is not installed.
    """
    asked = arguments.read(spec, TextArguments)
    folder = checkpoint.folder(spec)
    if folder and asked.revision:
        raise InputError(
            f"model '{spec.text}': argument 'revision' is for models of the hub, not for a folder"
        )
    spec.require("transformers", "torch", "transformers")
    identity = {
        "provider": "transformers",
        "weights": checkpoint.digest(folder) if folder else f"{spec.target}@{asked.revision or 'main'}",
        # As floats: 0 and 0.0 are different identities.
        "temperature": float(asked.temperature),
        "top_p": float(asked.top_p),
        **asked.model_dump(include={"dtype", "max_tokens", "system", "template", "generate"}),
    }
    source = str(folder or spec.target)
    return LocalModel(
        spec.text,
        lambda: TextGenerator(spec.text, source, asked, is_local=folder is not None),
        batch=asked.batch,
        identity=identity,
    )


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as tokens."""

    tokens: list[int]
    seed: int


class TextGenerator(Generator[Prompt]):
    """A causal language model."""

    def __init__(self, name: str, source: str, asked: TextArguments, *, is_local: bool) -> None:
        self._source = source
        self._asked = asked
        self._is_local = is_local
        super().__init__(name, asked.batch)

    def load(self) -> None:
        transformers = import_module("transformers")
        import_module("transformers.utils.logging").disable_progress_bar()
        common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": self._is_local}
        if self._asked.revision:
            common["revision"] = self._asked.revision
        self._device = chosen_device(self._asked.device)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(self._source, **common)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            self._source, dtype=self._asked.dtype, use_safetensors=True, **common
        )
        self._model = model.to(self._device).eval()
        self._limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        config = model.generation_config
        ends = [config.eos_token_id, self._tokenizer.eos_token_id]  # the model and the tokenizer may differ
        listed = [token for end in ends for token in (end if isinstance(end, list) else [end])]
        self._ends = list(dict.fromkeys(token for token in listed if token is not None))
        # The run sets the sampling, not the checkpoint's recommendation.
        for name in _SAMPLING:
            setattr(config, name, None)
        config.do_sample = False

    def prepared(self, request: Request) -> Prompt | ModelError:
        try:
            tokens = self._tokens(request.prompt)
        except Exception as error:  # noqa: BLE001  (templates are programs, tokenizers may refuse a text)
            return RejectedRequestError(f"{self.name}: the prompt cannot be encoded: {one_line(error)}")
        if not tokens:
            return RejectedRequestError(f"{self.name}: the prompt has no tokens")
        if self._limit is not None and len(tokens) >= self._limit:
            return RejectedRequestError(
                f"{self.name}: {plural(len(tokens), 'token')} are more than its {self._limit} hold"
            )
        return Prompt(tokens, seed=seed_of(request))

    def _tokens(self, prompt: str) -> list[int]:
        system = self._asked.system
        if not self._tokenizer.chat_template:
            text = f"{system}\n\n{prompt}" if system else prompt
            return list(self._tokenizer(text)["input_ids"])
        messages = [{"role": "system", "content": system}] if system else []
        text = self._tokenizer.apply_chat_template(
            [*messages, {"role": "user", "content": prompt}],
            tokenize=False,
            add_generation_prompt=True,
            **self._asked.template,
        )
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def generate(self, batch: list[Prompt]) -> list[Response]:
        torch = import_module("torch")
        width = max(len(prompt.tokens) for prompt in batch)
        most = self._asked.max_tokens
        pad = next(iter(self._ends), 0)
        padded = [[pad] * (width - len(prompt.tokens)) + prompt.tokens for prompt in batch]
        mask = [[0] * (width - len(prompt.tokens)) + [1] * len(prompt.tokens) for prompt in batch]
        sampler = Sampler(
            [prompt.seed for prompt in batch],
            temperature=self._asked.temperature,
            top_p=self._asked.top_p,
            device=self._device,
            closing=self.closing,
        )
        rows = self._model.generate(
            input_ids=torch.tensor(padded, device=self._device),
            attention_mask=torch.tensor(mask, device=self._device),
            max_new_tokens=most if self._limit is None else min(most, self._limit - width),
            do_sample=False,
            eos_token_id=self._ends or None,
            pad_token_id=pad,
            logits_processor=import_module("transformers").LogitsProcessorList([sampler]),
            **self._asked.generate,
        )
        written = rows[:, width:].tolist()
        return [self._response(row, prompt) for row, prompt in zip(written, batch, strict=True)]

    def _response(self, row: list[int], prompt: Prompt) -> Response:
        end = next((place for place, token in enumerate(row) if token in self._ends), None)
        text = self._tokenizer.decode(row[:end], skip_special_tokens=True)
        return Response(
            text.encode("utf-8", "replace").decode(),
            "length" if end is None else "stop",
            tokens_in=len(prompt.tokens),
            tokens_out=len(row) if end is None else end + 1,
            cost=0.0,
            model=self._source,
        )


class Sampler:
    """Changes the logits of each row so that the largest belongs to the next token.

    At temperature 0 that is the most likely token. Otherwise Gumbel noise from each row's own seed is added
    to the scaled logits, and their maximum is a draw from the softmax. A batch therefore samples exactly as
    its requests would alone; a single generator for the batch would not. ``closing`` ends the batch.
    """

    def __init__(
        self, seeds: Sequence[int], *, temperature: float, top_p: float, device: str, closing: Event
    ) -> None:
        self._torch = import_module("torch")
        self._temperature = temperature
        self._closing = closing
        self._seeds = [self._torch.Generator(device).manual_seed(seed) for seed in seeds]
        warpers = import_module("transformers.generation.logits_process")
        self._cut = warpers.TopPLogitsWarper(top_p) if top_p < 1 else None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self._closing.is_set():
            raise RetryableModelError("the run was stopped")
        if self._temperature == 0:
            return scores
        scaled = scores / self._temperature
        kept = self._cut(input_ids, scaled) if self._cut else scaled
        noise = [self._torch.empty_like(kept[0]).exponential_(generator=seed) for seed in self._seeds]
        return kept - self._torch.stack(noise).log()
