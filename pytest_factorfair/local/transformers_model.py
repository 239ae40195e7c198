"""A checkpoint of Hugging Face transformers: ``transformers:PATH`` (a folder or a GGUF file), or a hub id.

Arguments: temperature (0), top_p (1), max_tokens (1024), system, batch (16), device (auto: a GPU if
there is one, under pytest-xdist the visible ones in turn), device_map (distribution over all GPUs), dtype
(auto), revision (of a hub id), ``template.KEY=VALUE`` for the chat template and ``generate.KEY=VALUE`` for
``generate``.

In the answer modes probabilities and JSON, the model gets the chat with a begun answer, and one forward pass
gives the probabilities of the letters. Nothing is generated.

Code in a checkpoint and pickled weights are never run. In half precision, an answer at temperature 0 can
depend on the other prompts in its batch; ``batch`` is not part of the identity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Annotated, Any

from pydantic import Field

from pytest_factorfair.domain import BEGUN, Request, Response, letter_of, plural
from pytest_factorfair.errors import (
    FatalModelError,
    InputError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.local import checkpoint
from pytest_factorfair.local.model import (
    DeviceMap,
    Generator,
    LocalArguments,
    LocalModel,
    one_line,
    seed_of,
)
from pytest_factorfair.local.shared_prefixes import ForwardPass, alike
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import SAMPLING, Count, PassThrough, Share, Temperature, Text
from pytest_factorfair.models.protocol import LETTERS, Model
from pytest_factorfair.models.spec import ModelSpec

# torch and transformers are imported by name when used: importing takes seconds, and they may be missing.

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
# Set by the run or by the arguments below, so that users cannot pass them on.
_TAKEN = frozenset(
    {"do_sample", "input_ids", "attention_mask", "max_length", "max_new_tokens", "num_beams"}
    | {"num_return_sequences", "logits_processor", "eos_token_id", "pad_token_id", "temperature", "top_p"}
    | {"streamer"}
)
_UNCLOSED_REASONING = re.compile(
    r"[<\[](\w*(?:think|reason|thought)\w*)[>\]](?!.*[<\[]/\1[>\]])", re.DOTALL | re.IGNORECASE
)

OTHERS = 5
"""How many tokens other than letters are reported with their probabilities."""

NO_TEMPLATE = "the checkpoint has no chat template: the begun answer follows the plain prompt"


class TextArguments(LocalArguments):
    """The arguments of a checkpoint."""

    temperature: Temperature = 0
    top_p: Share = 1
    max_tokens: Count = 1024
    system: Text | None = None
    batch: Count = 16
    device_map: DeviceMap | None = None
    generate: Annotated[dict[str, object], PassThrough(_TAKEN)] = Field(default_factory=dict)
    template: Annotated[dict[str, object], PassThrough()] = Field(default_factory=dict)


def build(spec: ModelSpec) -> Model:
    """Validate the folder and arguments of a checkpoint; its libraries and weights are loaded later.

    Raises:
        InputError: the folder is not a checkpoint, or an argument is wrong.
        MissingExtraError: torch or transformers is not installed.
    """
    if spec.answers == "people":
        from pytest_factorfair.local import transformers_vision

        return transformers_vision.build(spec)
    asked = arguments.read(spec, TextArguments)
    path = checkpoint.weights(spec)
    if path and asked.revision:
        raise InputError(
            f"model '{spec.text}': argument 'revision' is for models of the hub, not for a folder"
        )
    if asked.device_map and asked.device != "auto":
        raise InputError(f"model '{spec.text}': arguments 'device' and 'device_map': give one")
    spec.require("transformers", "torch", "transformers", "accelerate")
    if path and path.suffix == checkpoint.GGUF:
        spec.require("transformers", "gguf")
    names = {"dtype", "system", "template"}
    if spec.answers == "probabilities":
        for key in spec.arguments:
            if key.partition(".")[0] in SAMPLING:
                raise InputError(
                    f"model '{spec.text}': argument '{key}' has no effect on probabilities: leave it out, "
                    "or leave out --factorfair-answers=probabilities"
                )
    else:
        names |= {*SAMPLING}
    identity = {
        "provider": "transformers",
        "weights": checkpoint.digest(path) if path else f"{spec.target}@{asked.revision or 'main'}",
        **asked.model_dump(include=names),
        **spec.mode,
    }
    # As floats, because 0 and 0.0 would give different identities.
    identity |= {name: float(identity[name]) for name in ("temperature", "top_p") if name in identity}
    generator = TextGenerator if spec.answers == "text" else LetterGenerator
    return TextModel(
        spec.text,
        lambda: generator(spec, path, asked),
        batch=asked.batch,
        identity=identity,
        alike=lambda request: bool(request.query and request.query.explained),
    )


class TextModel(LocalModel):
    """A text model from a checkpoint; it accepts many requests at once to batch prompts of similar length."""

    modes = LETTERS
    batches = 4


@dataclass(frozen=True, slots=True)
class TokenizedPrompt:
    """A request as tokens, with its seed and the letters of its query."""

    tokens: list[int]
    seed: int
    letters: tuple[str, ...] = ()


class TextGenerator(Generator[TokenizedPrompt]):
    """A loaded causal language model that generates texts."""

    def __init__(self, spec: ModelSpec, path: Path | None, asked: TextArguments) -> None:
        self._source = str(path or spec.target)
        self._path = path
        self._asked = asked
        self._answers = spec.answers
        super().__init__(spec.text, asked.batch)

    def load(self) -> None:
        asked, path = self._asked, self._path
        files = checkpoint.CheckpointFiles(self._source, asked, asked.device_map, is_local=path is not None)
        if path and path.suffix == checkpoint.GGUF:
            files = checkpoint.CheckpointFiles(
                str(path.parent), asked, asked.device_map, is_local=True, gguf_file=path.name
            )
        self._tokenizer = files.read("AutoTokenizer")
        self._model = files.model("AutoModelForCausalLM", self.name)
        self._device = str(self._model.device)
        self._limit = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._ends = checkpoint.end_tokens(self._model, self._tokenizer)
        self._pad = next(iter(self._ends), 0)
        # Drop the sampling settings that the checkpoint recommends: the run sets them.
        config = self._model.generation_config
        for name in _SAMPLING:
            setattr(config, name, None)
        config.do_sample = False

    def prepared(self, request: Request) -> TokenizedPrompt | ModelError:
        try:
            tokens = self._encoded(self._chat(request.prompt))
        except Exception as error:  # noqa: BLE001  (templates are programs, tokenizers may refuse a text)
            return RejectedRequestError(f"{self.name}: the prompt cannot be encoded: {one_line(error)}")
        return self._fitting(TokenizedPrompt(tokens, seed=seed_of(request)))

    def _fitting(self, prompt: TokenizedPrompt) -> TokenizedPrompt | ModelError:
        if not prompt.tokens:
            return RejectedRequestError(f"{self.name}: the prompt has no tokens")
        if self._limit is not None and len(prompt.tokens) >= self._limit:
            return RejectedRequestError(
                f"{self.name}: {plural(len(prompt.tokens), 'token')} are more than its {self._limit} hold"
            )
        return prompt

    def _chat(self, prompt: str, begun: str = "") -> str:
        """The text that the model continues: the prompt in the chat template, if there is one."""
        system = self._asked.system
        if not self._tokenizer.chat_template:
            return f"{system}\n\n{prompt}" if system else prompt
        turns = [("system", system), ("user", prompt), ("assistant", begun)]
        text: str = self._tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in turns if content],
            tokenize=False,
            **{"continue_final_message" if begun else "add_generation_prompt": True},
            **self._asked.template,
        )
        return text

    def _encoded(self, text: str) -> list[int]:
        """Tokenize; special tokens are added only without a chat template, which contains them as text."""
        bare = not self._tokenizer.chat_template
        return list(self._tokenizer(text, add_special_tokens=bare)["input_ids"])

    def generate(self, batch: list[TokenizedPrompt]) -> Sequence[Response | ModelError]:
        max_tokens = self._asked.max_tokens
        tensor = partial(import_module("torch").tensor, device=self._device)
        width = max(len(prompt.tokens) for prompt in batch)
        missing = [width - len(prompt.tokens) for prompt in batch]  # padded on the left
        tokens = [
            [self._pad] * padding + prompt.tokens for padding, prompt in zip(missing, batch, strict=True)
        ]
        mask = [[0] * padding + [1] * (width - padding) for padding in missing]
        sampler = Sampler(
            [prompt.seed for prompt in batch],
            temperature=self._asked.temperature,
            top_p=self._asked.top_p,
            device=self._device,
            closing=self.closing,
        )
        rows = self._model.generate(
            input_ids=tensor(tokens),
            attention_mask=tensor(mask),
            max_new_tokens=max_tokens if self._limit is None else min(max_tokens, self._limit - width),
            do_sample=False,
            eos_token_id=self._ends or None,
            pad_token_id=self._pad,
            logits_processor=import_module("transformers").LogitsProcessorList([sampler]),
            **self._asked.generate,
        )
        written = rows[:, width:].tolist()
        return [self._response(row, prompt) for row, prompt in zip(written, batch, strict=True)]

    def _response(self, row: list[int], prompt: TokenizedPrompt) -> Response:
        end = next((position for position, token in enumerate(row) if token in self._ends), None)
        # Special tokens mark where reasoning ends; the reader cuts it off.
        text = self._tokenizer.decode(row[:end], skip_special_tokens=False)
        return Response(
            text.encode("utf-8", "replace").decode(),
            "length" if end is None else "stop",
            tokens_in=len(prompt.tokens),
            tokens_out=len(row) if end is None else end + 1,
            cost=0.0,
            model=self._source,
        )


class LetterGenerator(TextGenerator):
    """A loaded causal language model that continues a begun answer, so that the next token is a letter.

    Requests for reasons are answered with a generated text.
    """

    def load(self) -> None:
        super().load()
        self._forward = ForwardPass(self._model, pad=self._pad)
        self._letters: dict[str, list[int]] = {}
        for token, number in self._tokenizer.get_vocab().items():
            # Vocabularies encode spaces and other bytes as special characters, but A to Z as themselves.
            if re.fullmatch(r"[^A-Za-z]*[A-Z][^A-Za-z]*", token):
                self._letters.setdefault(letter_of(self._token(number)), []).append(number)
        self._moved: dict[tuple[str, ...], int] = {}
        self._continued = False  # whether the template accepts a begun answer
        if self._tokenizer.chat_template:
            with suppress(Exception):  # a template may raise anything
                self._continued = self._chat("Which?", BEGUN).endswith(BEGUN)
        opened = _UNCLOSED_REASONING.search(self._begun("Which?").rpartition("Which?")[2])
        if opened:
            raise FatalModelError(
                f"{self.name}: its chat template opens a block of reasoning ({opened[0]}), so its answer "
                "cannot be begun: turn reasoning off with an argument of the template "
                "(--factorfair-model-arg=template.KEY=VALUE), or use --factorfair-answers=text"
            )

    def _begun(self, prompt: str) -> str:
        if self._continued:
            return self._chat(prompt, BEGUN)
        separator = "" if self._tokenizer.chat_template else "\n"
        return f"{self._chat(prompt)}{separator}{BEGUN}"

    def _token(self, number: int) -> str:
        return str(self._tokenizer.decode([number], clean_up_tokenization_spaces=False))

    def prepared(self, request: Request) -> TokenizedPrompt | ModelError:
        query = request.query
        if query and query.explained:
            return super().prepared(request)
        letters = tuple(option.letter for option in query.options) if query else ()
        if not letters:
            return RejectedRequestError(f"{self.name}: a request without options has no letters")
        try:
            text = self._begun(request.prompt)
            if letters not in self._moved:
                self._moved[letters] = self._merged(text, letters)
            tokens = self._encoded(text)
        except FatalModelError as error:
            return error
        except Exception as error:  # noqa: BLE001  (templates are programs, tokenizers may refuse a text)
            return RejectedRequestError(f"{self.name}: the prompt cannot be encoded: {one_line(error)}")
        tokens = tokens[: len(tokens) - self._moved[letters]]
        return self._fitting(TokenizedPrompt(tokens, seed=seed_of(request), letters=letters))

    def _merged(self, text: str, letters: tuple[str, ...]) -> int:
        """How many tokens at the end of the begun answer change if a letter follows.

        Most tokenizers separate the quote and the letter (0), some have one token for both.

        Raises:
            FatalModelError: the tokenizer has no single next token for a letter.
        """
        begun = self._encoded(text)
        whole = [self._encoded(f'{text}{letter}"}}') for letter in letters]
        shared = min(alike(begun, tokens) for tokens in whole)
        for letter, tokens in zip(letters, whole, strict=True):
            if not set(tokens[shared : shared + 1]) & set(self._letters.get(letter, ())):
                raise FatalModelError(
                    f"{self.name}: its tokenizer has no token for the letter {letter} of an answer alone: "
                    "use --factorfair-answers=text"
                )
        return len(begun) - shared

    def generate(self, batch: list[TokenizedPrompt]) -> Sequence[Response | ModelError]:
        if not batch[0].letters:
            return super().generate(batch)
        if self.closing.is_set():
            raise RetryableModelError("the run was stopped")
        rows = self._forward([prompt.tokens for prompt in batch]).float().softmax(-1).cpu()
        return [self._outcome(row, prompt) for row, prompt in zip(rows, batch, strict=True)]

    def _outcome(self, row: Any, prompt: TokenizedPrompt) -> Response | ModelError:
        """The response to one prompt, from its row of probabilities.

        All tokens of the letters are listed, however unlikely, and the likeliest other tokens.
        """
        if not row.isfinite().all():
            return RejectedRequestError(
                f"{self.name}: its probabilities are not finite numbers: try dtype=bfloat16 or dtype=float32"
            )
        letters = {letter: self._letters[letter] for letter in prompt.letters}
        letter_tokens = {number for numbers in letters.values() for number in numbers if number < len(row)}
        if self._answers == "json":
            totals = [
                float(row[[number for number in letters[letter] if number in letter_tokens]].sum())
                for letter in letters
            ]
            text = json.dumps({"answer": prompt.letters[self._drawn(totals, prompt.seed)]})
        else:
            likely = row.topk(min(len(row), len(letter_tokens) + OTHERS)).indices.tolist()
            other_tokens = [number for number in likely if number not in letter_tokens][:OTHERS]
            tokens: dict[str, float] = {}
            for number in (*letter_tokens, *other_tokens):
                token = self._token(number)
                tokens[token] = tokens.get(token, 0.0) + float(row[number])
            ranked = sorted(tokens.items(), key=lambda pair: (-pair[1], pair[0]))
            text = json.dumps({token: float(f"{p:.7g}") for token, p in ranked}, ensure_ascii=False)
        return Response(
            text.encode("utf-8", "replace").decode(),
            tokens_in=len(prompt.tokens),
            tokens_out=0,
            cost=0.0,
            model=self._source,
            notes=() if self._tokenizer.chat_template else (NO_TEMPLATE,),
        )

    def _drawn(self, probabilities: Sequence[float], seed: int) -> int:
        """The index of the letter that a constrained sampler would draw."""
        draw = Sampler(
            [seed],
            temperature=self._asked.temperature,
            top_p=self._asked.top_p,
            device="cpu",
            closing=self.closing,
        )
        scores = import_module("torch").tensor([probabilities]).log()
        return int(draw(None, scores).argmax())


class Sampler:
    """A logits processor with which greedy decoding samples, with a separate seed for each row.

    At temperature 0 the most likely token is chosen. Otherwise Gumbel noise from the row's own seed is added
    to the scaled logits, and their maximum is a draw from the softmax. So a request gets the same answer in
    any batch, which a single generator for the batch would not ensure. ``closing`` ends the batch.
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
        logits = self._cut(input_ids, scaled) if self._cut else scaled
        noise = [self._torch.empty_like(logits[0]).exponential_(generator=seed) for seed in self._seeds]
        return logits - self._torch.stack(noise).log()
