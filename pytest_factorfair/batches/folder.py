"""Batches as files in a folder, for engines that answer files: ``vllm run-batch``, Ray Data, Spark.

A batch is a file ``NAME.jsonl``, with OpenAI's lines. Its replies are read from all files
``NAME.output*.jsonl``, in OpenAI's lines or as ``{"custom_id": ..., "text": ...}``, with optional finish,
tokens_in and tokens_out.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_factorfair.batches.openai import Dialect, line_reply, request_line
from pytest_factorfair.batches.protocol import BatchLine, BatchReply, BatchState, BatchStatus
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.tables import Words, WrittenReply
from pytest_factorfair.models.arguments import check_line, json_lines
from pytest_factorfair.models.openai_errors import ServiceError
from pytest_factorfair.process import draft, make_folder
from pytest_factorfair.redaction import fit

CANCELLED = ".cancelled"
"""The suffix of the questions of a cancelled batch."""

_OPENAI = Dialect()
_FORM = '{"custom_id": ..., "text": ...}'


class FolderReply(WrittenReply):
    """A reply in the short form: the fields of a line."""

    custom_id: Words


class FolderBatches:
    """The batches in a folder.

    The id of a batch is its name and a digest of its lines, with which edited questions are detected.
    """

    offline = True
    account = ""
    discount = None
    max_lines = _OPENAI.max_lines
    max_bytes = _OPENAI.max_bytes

    def __init__(self, model: str, folder: Path) -> None:
        self._model = model
        self._folder = folder
        self.name = str(folder)

    def encoded(self, line: BatchLine) -> bytes:
        return request_line(line, _OPENAI)

    async def check(self) -> None:
        pass

    async def upload(self, name: str, lines: Sequence[BatchLine]) -> str | None:
        path = self._questions(name)
        content = b"".join(map(self.encoded, lines))
        try:
            make_folder(self._folder, ignored=False)
            with draft(path) as unfinished:
                unfinished.write_bytes(content)
                unfinished.replace(path)
        except OSError as error:
            raise InputError(f"--factorfair-batch: '{path}' cannot be written: {error.strerror}") from None
        return path.name

    async def create(
        self,
        name: str,
        file_id: str | None,
        lines: Sequence[BatchLine],  # noqa: ARG002  # they are in the file
    ) -> BatchStatus:
        content = await asyncio.to_thread(_content, self._questions(name))
        return BatchStatus(
            f"{name}-{_digest(content)}", BatchState.RUNNING, content.count(b"\n"), file_id=file_id, name=name
        )

    async def find(
        self,
        name: str,
        file_id: str | None,
        since: float,  # noqa: ARG002  # the name is certain
        lines: int,  # noqa: ARG002  # as above
        keys: Collection[str],  # noqa: ARG002  # as above
    ) -> Sequence[BatchStatus] | None:
        return [await self.create(name, file_id, ())] if self._questions(name).exists() else []

    async def statuses(self, ids: Sequence[str]) -> Sequence[BatchStatus]:
        statuses = [await asyncio.to_thread(self._status, batch_id) for batch_id in ids]
        return [status for status in statuses if status is not None]

    async def results(self, status: BatchStatus) -> AsyncIterator[BatchReply]:
        for _, reply in await asyncio.to_thread(lambda: list(self._replies(status.outputs))):
            yield reply

    async def cancel(self, batch_id: str) -> None:
        """Rename the questions, so that nobody answers them; the replies so far are collected."""
        questions = self._questions(_name(batch_id))
        if questions.exists():
            questions.replace(questions.with_suffix(CANCELLED))

    async def close(self) -> None:
        pass

    def _questions(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _status(self, batch_id: str) -> BatchStatus | None:
        """The state of a batch; None if its questions are gone.

        Raises:
            InputError: a file cannot be read, the questions were edited, or a line is no reply to them.
        """
        name = _name(batch_id)
        path = self._questions(name)
        cancelled = path.with_suffix(CANCELLED)
        if cancelled.exists():
            path = cancelled
        if not path.exists():
            return None
        content = _content(path)
        if batch_id != f"{name}-{_digest(content)}":
            raise InputError(
                f"{path}: it was edited after it was written, so its replies are of no use: "
                "restore it, or give it up with 'factorfair batch forget'"
            )
        questions = {json.loads(line)["custom_id"] for line in content.splitlines()}
        outputs = tuple(sorted(file.name for file in self._folder.glob(f"{path.stem}.output*.jsonl")))
        answered: dict[str, str] = {}
        failed = 0
        for where, reply in self._replies(outputs):
            if reply.key not in questions:
                raise InputError(f"{where}: custom_id '{fit(reply.key)}' is not in {path.name}")
            if reply.key in answered:
                raise InputError(
                    f"{where}: custom_id '{reply.key}' is in {answered[reply.key]}, too: keep one reply"
                )
            answered[reply.key] = where
            failed += isinstance(reply.reply, ServiceError)
        state = BatchState.ENDED if len(answered) == len(questions) else BatchState.RUNNING
        if path == cancelled:
            state = BatchState.CANCELLED
        done = len(answered) - failed
        return BatchStatus(
            batch_id, state, len(questions), done, failed, file_id=path.name, name=name, outputs=outputs
        )

    def _replies(self, outputs: Iterable[str]) -> Iterator[tuple[str, BatchReply]]:
        """The replies in files, each with its ``file:line``."""
        for output in outputs:
            path = self._folder / output
            try:
                text = _complete(_content(path)).decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise InputError(f"{path}: byte {error.start} is not UTF-8") from None
            for where, entry in json_lines(text, path, _FORM):
                yield where, self._reply(entry, where)

    def _reply(self, entry: dict[str, Any], where: str) -> BatchReply:
        key = entry.get("custom_id")
        if "text" in entry or not isinstance(key, str) or not {"response", "error"} & entry.keys():
            check_line(FolderReply, entry, where)
            return BatchReply(entry["custom_id"], _completion(FolderReply(**entry)))
        return BatchReply(key, line_reply(entry, self._model))


def _completion(reply: FolderReply) -> Mapping[str, object]:
    """The chat completion of a reply in the short form."""
    finish = {"filtered": "content_filter"}.get(reply.finish, reply.finish)
    stated = reply.model_fields_set
    return {
        "choices": [{"message": {"content": reply.text}, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": reply.tokens_in if "tokens_in" in stated else None,
            "completion_tokens": reply.tokens_out if "tokens_out" in stated else None,
        },
    }


def _name(batch_id: str) -> str:
    return batch_id.partition("-")[0]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from None


def _complete(content: bytes) -> bytes:
    """The content without a last line that is cut off: its writer may not be finished."""
    before, newline, last = content.rpartition(b"\n")
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return before + newline
    return content
