"""Batches of prompts through a causal language model, by torch and transformers, in the calling thread."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from typing import Any

from pytest_factorfair.domain import Request, Response, plural
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError
from pytest_factorfair.models import accelerator
from pytest_factorfair.models.accelerator import Halving, line, seed_of
from pytest_factorfair.models.drawing import Draw

# torch and transformers are imported by name, when used: they take seconds, and are not always installed.


@dataclass(frozen=True, slots=True)
class Settings:
    """How a checkpoint is loaded and asked; ``template`` and ``generate`` are passed on to transformers."""

    source: str
    revision: str | None
    is_local: bool
    device: str
    dtype: str
    batch: int
    temperature: float
    top_p: float
    max_tokens: int
    system: str | None
    template: Mapping[str, Any]
    generate: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as tokens."""

    tokens: list[int]
    seed: int


class Generator:
    """A loaded checkpoint. ``batch`` shrinks to what fits into memory, ``closing`` ends what is under way.

    Raises:
        FatalModelError: the checkpoint cannot be loaded.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.closing = Event()
        self._name = name
        self._settings = settings
        self._outcomes = Halving(name, settings.batch, self._generated)
        try:
            self._load()
        except Exception as error:  # a checkpoint can be wrong in any way
            raise FatalModelError(f"{name}: cannot be loaded: {line(error)}") from error

    @property
    def batch(self) -> int:
        return self._outcomes.batch

    def __call__(self, requests: Sequence[Request]) -> list[Response | ModelError]:
        """The outcome of each request, in their order."""
        prompts = [self._prompt(request) for request in requests]
        outcomes = iter(self._outcomes([prompt for prompt in prompts if isinstance(prompt, Prompt)]))
        return [next(outcomes) if isinstance(prompt, Prompt) else prompt for prompt in prompts]

    def _load(self) -> None:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        transformers = import_module("transformers")
        import_module("transformers.utils.logging").disable_progress_bar()
        settings = self._settings
        common: dict[str, Any] = {"trust_remote_code": False, "local_files_only": settings.is_local}
        if settings.revision:
            common["revision"] = settings.revision
        self._device = accelerator.chosen(settings.device)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(settings.source, **common)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            settings.source, dtype=settings.dtype, use_safetensors=True, **common
        )
        self._model = model.to(self._device).eval()
        self._limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._ends = _ends(model.generation_config.eos_token_id, self._tokenizer.eos_token_id)
        _forget_sampling(model.generation_config)

    def _prompt(self, request: Request) -> Prompt | ModelError:
        try:
            tokens = self._tokens(request.prompt)
        except Exception as error:  # noqa: BLE001  (templates are programs, tokenizers may refuse a text)
            return RejectedRequestError(f"{self._name}: the prompt cannot be encoded: {line(error)}")
        if not tokens:
            return RejectedRequestError(f"{self._name}: the prompt has no tokens")
        if self._limit is not None and len(tokens) >= self._limit:
            return RejectedRequestError(
                f"{self._name}: {plural(len(tokens), 'token')} are more than its {self._limit} hold"
            )
        return Prompt(tokens, seed=seed_of(request))

    def _tokens(self, prompt: str) -> list[int]:
        system = self._settings.system
        if not self._tokenizer.chat_template:
            text = f"{system}\n\n{prompt}" if system else prompt
            return list(self._tokenizer(text)["input_ids"])
        messages = [{"role": "system", "content": system}] if system else []
        text = self._tokenizer.apply_chat_template(
            [*messages, {"role": "user", "content": prompt}],
            tokenize=False,
            add_generation_prompt=True,
            **self._settings.template,
        )
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _generated(self, prompts: list[Prompt]) -> list[Response]:
        torch = import_module("torch")
        width = max(len(prompt.tokens) for prompt in prompts)
        most = self._settings.max_tokens
        pad = next(iter(self._ends), 0)
        padded = [[pad] * (width - len(prompt.tokens)) + prompt.tokens for prompt in prompts]
        mask = [[0] * (width - len(prompt.tokens)) + [1] * len(prompt.tokens) for prompt in prompts]
        draw = Draw(
            [prompt.seed for prompt in prompts],
            temperature=self._settings.temperature,
            top_p=self._settings.top_p,
            device=self._device,
            closing=self.closing,
        )
        processors = import_module("transformers").LogitsProcessorList([draw])
        rows = self._model.generate(
            input_ids=torch.tensor(padded, device=self._device),
            attention_mask=torch.tensor(mask, device=self._device),
            max_new_tokens=most if self._limit is None else min(most, self._limit - width),
            do_sample=False,
            eos_token_id=self._ends or None,
            pad_token_id=pad,
            logits_processor=processors,
            **self._settings.generate,
        )
        written = rows[:, width:].tolist()
        return [self._response(row, prompt) for row, prompt in zip(written, prompts, strict=True)]

    def _response(self, row: list[int], prompt: Prompt) -> Response:
        end = next((place for place, token in enumerate(row) if token in self._ends), None)
        text = self._tokenizer.decode(row[:end], skip_special_tokens=True)
        return Response(
            text.encode("utf-8", "replace").decode(),
            "length" if end is None else "stop",
            tokens_in=len(prompt.tokens),
            tokens_out=len(row) if end is None else end + 1,
            cost=0.0,
            model=self._settings.source,
        )


def _ends(*said: int | list[int] | None) -> list[int]:
    """Every token that ends a text, as the model and the tokenizer say."""
    listed = [token for tokens in said for token in (tokens if isinstance(tokens, list) else [tokens])]
    return list(dict.fromkeys(token for token in listed if token is not None))


def _forget_sampling(config: Any) -> None:
    """Temperature and top_p are the run's; what a checkpoint recommends for sampling does not apply."""
    for name in ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"):
        setattr(config, name, None)
    config.do_sample = False
