"""Recorded answers in a file as a model: ``replay:FILE``, one JSON object per line.

A line has ``prompt``, ``text`` and optionally ``repeat`` (default 0), ``finish`` ("stop"), ``tokens_in`` and
``tokens_out``; other keys are ignored, and line ends in prompts do not matter. If no line has the prompt and
repeat of a request, only this request is an error.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, get_args

from pydantic import ConfigDict, Field

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.domain.exchange import Finish
from pytest_factorfair.errors import InputError, RejectedRequestError
from pytest_factorfair.models import arguments
from pytest_factorfair.models.arguments import AcceptedValues, Arguments, check_line, json_lines
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

Words = Annotated[str, AcceptedValues("a text")]
_Number = Annotated[int, Field(ge=0), AcceptedValues("a whole number of at least 0")]


class WrittenReply(Arguments):
    """A reply: fields of a line, whose other keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    text: Words
    tokens_in: _Number = 0
    tokens_out: _Number = 0
    finish: Annotated[Finish, AcceptedValues(f"one of {', '.join(get_args(Finish))}")] = "stop"


class RecordedAnswer(WrittenReply):
    """A recorded answer: the fields of a line."""

    prompt: Words
    repeat: _Number = 0


Key = tuple[str, int]


def build(spec: ModelSpec) -> Model:
    """Build the model of a file; all lines are read and validated at once.

    Raises:
        InputError: the file cannot be read, or a line is wrong; the message then begins with ``file:line:``.
    """
    arguments.read(spec, Arguments)
    path = Path(spec.target)
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"model '{spec.text}': '{path}' cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from None
    answers = _answers(lines, path)
    return Replay(spec.target, answers, digest=hashlib.sha256(content).hexdigest())


class Replay:
    """Recorded answers as a model; asking it costs nothing."""

    parallel: int | None = None
    price = FREE
    endpoint = "replay"

    def __init__(self, name: str, answers: Mapping[Key, Response], *, digest: str) -> None:
        self._name = name
        self._answers = answers
        self.identity: Mapping[str, object] = {"provider": "replay", "sha256": digest}

    async def ask(self, request: Request) -> Response:
        response = self._answers.get((_unix(request.prompt), request.repeat))
        if response is None:
            raise RejectedRequestError(f"replay: prompt and repeat {request.repeat} are not in {self._name}")
        return response

    async def close(self) -> None:
        pass


def _unix(prompt: str) -> str:
    """The prompt with Unix line ends, which editors and spreadsheets change."""
    return prompt.replace("\r\n", "\n").replace("\r", "\n")


def _answers(lines: str, path: Path) -> dict[Key, Response]:
    """Parse and validate the lines: the responses by prompt and repeat."""
    answers: dict[Key, Response] = {}
    for where, entry in json_lines(lines, path, '{"prompt": ..., "text": ...}'):
        check_line(RecordedAnswer, entry, where)
        key = _unix(entry["prompt"]), entry.get("repeat", 0)
        if key in answers:
            raise InputError(f"{where}: an earlier line has this prompt and repeat {key[1]} too")
        details = {name: entry[name] for name in ("finish", "tokens_in", "tokens_out") if name in entry}
        text = entry["text"].encode("utf-8", "replace").decode()
        answers[key] = Response(text, cost=0.0, **details)
    if not answers:
        raise InputError(
            f"{path}: it contains no answers; write one JSON object with prompt and text per line"
        )
    return answers
