"""A vision-language checkpoint of transformers that describes the people in a picture, in allowed words.

Arguments: batch (4), device, device_map, dtype, revision and ``template.KEY=VALUE``, as for text. Decoding is
constrained: each token is the likeliest of those that can continue an allowed reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pytest_factorfair.domain import Query, Request, Response
from pytest_factorfair.errors import FatalModelError, InputError, ModelError, RejectedRequestError
from pytest_factorfair.local import checkpoint
from pytest_factorfair.local.model import DeviceMap, Generator, LocalArguments, LocalModel, one_line
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import Count, PassThrough
from pytest_factorfair.models.openai_people import SEEN, words
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

# torch and transformers are imported by name when used: importing takes seconds, and they may be missing.

MOST_PEOPLE = 10
"""How many people a reply can list."""


class VisionArguments(LocalArguments):
    """The arguments of a vision-language checkpoint."""

    batch: Count = 4
    device_map: DeviceMap | None = None
    template: Annotated[dict[str, object], PassThrough()] = Field(default_factory=dict)


def build(spec: ModelSpec) -> Model:
    """Validate the folder and arguments of a checkpoint; its libraries and weights are loaded later.

    Raises:
        InputError: the folder is not a vision-language checkpoint, or an argument is wrong.
        MissingExtraError: torch, transformers or Pillow is not installed.
    """
    asked = arguments.read(spec, VisionArguments)
    path = checkpoint.weights(spec)
    if path and path.is_file():
        raise InputError(f"model '{spec.text}': a GGUF file lacks the vision encoder; name a folder")
    if path and "vision_config" not in json.loads((path / "config.json").read_bytes()):
        raise InputError(
            f"model '{spec.text}': it does not see pictures: its config.json has no vision_config"
        )
    spec.require("transformers", "torch", "transformers", "accelerate")
    spec.require("images", "PIL")
    identity = {
        "provider": "transformers",
        "weights": checkpoint.digest(path) if path else f"{spec.target}@{asked.revision or 'main'}",
        **asked.model_dump(include={"dtype", "template"}),
        **spec.mode,
    }
    return LocalModel(
        spec.text, lambda: VisionGenerator(spec, path, asked), batch=asked.batch, identity=identity
    )


@dataclass(frozen=True, slots=True)
class VisionInputs:
    """The model's inputs for a prompt with its picture, and the replies that are allowed."""

    inputs: Mapping[str, Any]
    replies: AllowedReplies


class VisionGenerator(Generator[VisionInputs]):
    """A loaded vision-language model; a batch is answered picture by picture."""

    def __init__(self, spec: ModelSpec, path: Path | None, asked: VisionArguments) -> None:
        self._source = str(path or spec.target)
        self._path = path
        self._asked = asked
        super().__init__(spec.text, asked.batch)

    def load(self) -> None:
        asked = self._asked
        files = checkpoint.CheckpointFiles(
            self._source, asked, asked.device_map, is_local=self._path is not None
        )
        self._processor = files.read("AutoProcessor")
        if not getattr(self._processor, "chat_template", None):
            raise FatalModelError(f"{self.name}: the checkpoint has no chat template to show a picture in")
        self._model = files.model("AutoModelForImageTextToText", self.name)
        self._end = next(iter(checkpoint.end_tokens(self._model, self._processor.tokenizer)), 0)

    def prepared(self, request: Request) -> VisionInputs | ModelError:
        from PIL import Image

        from pytest_factorfair.pictures.decode import decode

        query = request.query
        if query is None or not query.picture:
            return RejectedRequestError(f"{self.name}: a request without a picture shows nobody")
        content = [{"type": "image"}, {"type": "text", "text": request.prompt}]
        try:
            text = self._processor.apply_chat_template(
                [{"role": "user", "content": content}],
                tokenize=False,
                add_generation_prompt=True,
                **self._asked.template,
            )
            picture = Image.fromarray(decode(query.picture))
            inputs = self._processor(text=[text], images=[picture], return_tensors="pt")
        except Exception as error:  # noqa: BLE001  (templates are programs, processors may refuse a picture)
            return RejectedRequestError(f"{self.name}: the picture cannot be shown: {one_line(error)}")
        tokenizer = partial(self._processor.tokenizer, add_special_tokens=False)
        replies = AllowedReplies(query, lambda text: list(tokenizer(text)["input_ids"]))
        return VisionInputs(inputs.to(self._model.device, dtype=self._model.dtype), replies)

    def generate(self, batch: list[VisionInputs]) -> Sequence[Response | ModelError]:
        return [self._response(shown) for shown in batch]

    def _response(self, shown: VisionInputs) -> Response:
        width = shown.inputs["input_ids"].shape[1]
        rows = self._model.generate(
            **shown.inputs,
            do_sample=False,
            num_beams=1,
            max_new_tokens=shown.replies.longest + 1,
            eos_token_id=self._end,
            pad_token_id=self._end,
            prefix_allowed_tokens_fn=lambda _, row: shown.replies.next(row[width:].tolist()) or [self._end],
        )
        written = rows[0, width:].tolist()
        return Response(
            shown.replies.text(written),
            tokens_in=width,
            tokens_out=len(written),
            cost=0.0,
            model=self._source,
        )


class AllowedReplies:
    """The allowed replies to a query, as a sequence of steps with alternative texts; used token by token."""

    def __init__(self, query: Query, encode: Any) -> None:
        vocabulary = words(query)
        names = list(vocabulary)
        self._parts: list[dict[str, list[int]]] = []
        for person in range(MOST_PEOPLE):
            opened = f'{{"{names[0]}": "'
            opening = (f'{{"{SEEN}": [{opened}', f'{{"{SEEN}": []}}') if not person else (f", {opened}", "]}")
            steps: list[tuple[str, ...]] = [opening]
            for position, name in enumerate(names):
                steps.append(tuple(f'{word}"' for word in vocabulary[name]))
                steps.append((f', "{names[position + 1]}": "',) if position + 1 < len(names) else ("}",))
            self._parts += [{text: encode(text) for text in step} for step in steps]
        self._parts.append({"]}": encode("]}")})
        self.longest = sum(max(map(len, part.values())) for part in self._parts)

    def next(self, written: list[int]) -> list[int]:
        """The tokens that may come next; none after a complete reply."""
        texts, begun = self._read(written)
        if texts and texts[-1].endswith("]}"):
            return []
        return sorted(
            {part[len(begun)] for part in self._parts[len(texts)].values() if part[: len(begun)] == begun}
        )

    def text(self, written: list[int]) -> str:
        """The reply as text, without an incomplete part at its end."""
        return "".join(self._read(written)[0])

    def _read(self, written: list[int]) -> tuple[list[str], list[int]]:
        """The complete parts of a reply, and the tokens of the incomplete part that follows."""
        texts: list[str] = []
        for part in self._parts:
            completed = next(
                (text for text, tokens in part.items() if written[: len(tokens)] == tokens), None
            )
            if completed is None or (texts and texts[-1].endswith("]}")):
                break
            texts.append(completed)
            written = written[len(part[completed]) :]
        return texts, written
