"""Logs of Inspect, ``.eval`` archives and JSON, through its own package."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import InputError, MissingExtraError
from pytest_factorfair.logs.items import lettered, targets_of
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.messages import conversation, settings_in, text_of, tokens_of
from pytest_factorfair.logs.reading import Source, digests, elements, is_compressed
from pytest_factorfair.models.openai_chat import finish_of
from pytest_factorfair.redaction import fit

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

KEYS = frozenset({"version", "status", "eval"})

AT_ONCE = 16 * 2**20
"""Bytes of the samples that are read at once; each time, the package first reads the table of contents."""

_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d+)\.json", re.DOTALL)
"""A member of an archive with a sample: its id and epoch."""

_OVERHEAD = 2**13
"""Bytes of a small sample besides its content."""

_UNUSED = {"events", "store", "attachments", "timelines", "error_retries"}
"""The fields of samples that are not read: an agent's can be large."""


def open_log(source: Source) -> Log:
    """Open a log.

    Raises:
        InputError: it is damaged, encrypted, or newer than the package.
        MissingExtraError: the package is not installed.
    """
    path = source.path
    archived = source.shape == "archive"
    if is_compressed(path):
        raise InputError(f"{path}: a log of Inspect that is compressed (gzip) again: unpack it first")
    if archived:
        _check_archive(path)
    if find_spec("inspect_ai") is None:
        raise MissingExtraError(f"'{path}' is a log of Inspect; reading it", "inspect")
    from inspect_ai.log import read_eval_log

    try:
        header = read_eval_log(str(path), header_only=True, format="eval" if archived else "json")
    except Exception as error:  # noqa: BLE001 - whatever the package raises about a file that it cannot read
        raise _unreadable(path, error) from None
    version = header.eval.packages.get("inspect_ai", "")
    return Log(
        f"a log of Inspect {version}".rstrip(),
        digests(path),
        partial(_replies, source, header),
    )


def _unreadable(where: object, error: Exception) -> InputError:
    from pydantic import ValidationError

    reason = str(error) or type(error).__name__
    if isinstance(error, ValidationError):
        problem = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
    return InputError(f"{where}: Inspect cannot read this log: {fit(reason.splitlines()[0])}")


def _check_archive(path: Path) -> None:
    """Check that an archive is a whole log of Inspect.

    Raises:
        InputError: it is not.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        raise InputError(f"{path}: the archive is damaged, or a part of it is missing") from None
    if any(member.flag_bits & 1 for member in members):
        raise InputError(f"{path}: the archive is encrypted: decrypt it first")
    if not {"header.json", "_journal/start.json"} & {member.filename for member in members}:
        raise InputError(f"{path}: this archive is not a log of Inspect: unpack it first")
    for member in members:
        if _SAMPLE.fullmatch(member.filename) and not member.file_size:
            raise InputError(f"{path}: {member.filename} is empty: a part of the log is missing")


def _replies(source: Source, header: EvalLog) -> Iterator[LoggedReply]:
    model = header.eval.model
    settings = settings_in(header.plan.config.model_dump(exclude_none=True))
    where = ""
    for sample in _archived(source.path) if source.shape == "archive" else _written(source.path):
        where = f"{source.path}: sample {sample.id}, epoch {sample.epoch}"
        yield from _of_sample(sample, where, model, settings)
    if not where:
        raise InputError(
            f"{source.path}: the log has no samples: it is a header alone, or Inspect ran with log_samples "
            "off"
        )


def _archived(path: Path) -> Iterator[EvalSample]:
    """The samples of an archive.

    Raises:
        InputError: it is damaged.
    """
    from inspect_ai.log import read_eval_log_samples_by_id

    read = partial(read_eval_log_samples_by_id, str(path), format="eval", exclude_fields=_UNUSED)
    ids: list[tuple[str | int, int]] = []
    size = 0
    with zipfile.ZipFile(path) as archive:
        members = {member.filename: member.file_size for member in archive.infolist()}
    try:
        for name, length in members.items():
            if (sample := _SAMPLE.fullmatch(name)) is None:
                continue
            if size + length > AT_ONCE and ids:
                yield from read(ids)
                ids, size = [], 0
            ids.append((sample[1], int(sample[2])))
            size += length + _OVERHEAD
        yield from read(ids)
    except (GeneratorExit, InputError):
        raise
    except Exception as error:  # noqa: BLE001 - as above
        raise _unreadable(path, error) from None


def _written(path: Path) -> Iterator[EvalSample]:
    """The samples of a JSON document, which the package would read as a whole.

    Raises:
        InputError: it is damaged.
    """
    from inspect_ai.log import EvalSample
    from pydantic import ValidationError

    for entry in elements(path, "samples.item", without=_UNUSED):
        try:
            sample = EvalSample.model_validate(entry.fields)
        except ValidationError as error:
            raise _unreadable(entry.where, error) from None
        yield sample


def _of_sample(
    sample: EvalSample, where: str, model: str, settings: Mapping[str, Any]
) -> Iterator[LoggedReply]:
    """The last reply of a sample, after all other messages: one per choice; the first has the tokens of all.

    Raises:
        InputError: a message contains a picture.
    """
    messages = [message.model_dump() for message in sample.messages]
    if messages and messages[-1]["role"] == "assistant":
        messages.pop()
    if not messages and isinstance(sample.input, str):
        messages = [{"role": "user", "content": sample.input}]
    asked = conversation(messages, where)
    output = sample.output
    usage = output.usage
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0) if usage else 0
    error = _error(sample)
    reply = LoggedReply(
        asked.prompt,
        "",
        where,
        tokens_in=usage.input_tokens + cached if usage else None,
        tokens_out=usage.output_tokens if usage else None,
        tokens_reasoning=usage.reasoning_tokens if usage else None,
        model=model,
        answered_by=output.model,
        settings={**settings, **asked.settings},
        error=fit(error) if error else "",
        item=_item(sample),
    )
    if error:
        yield reply
        return
    for number, choice in enumerate(output.choices):
        message = choice.message.model_dump()
        yield replace(
            reply.uncounted if number else reply,
            text=text_of(message["content"], where),
            where=where if len(output.choices) == 1 else f"{where}, choice {number + 1}",
            finish=finish_of(choice.stop_reason),
            tokens=tokens_of(
                message, choice.logprobs and choice.logprobs.model_dump(), reply.tokens_reasoning
            ),
        ).begun(asked.begun)


def _error(sample: EvalSample) -> str | None:
    """Why a sample has no reply, or one that does not count."""
    if sample.invalidation:
        return "invalidated"
    error: str | None = sample.error.message if sample.error else sample.output.error
    if error or sample.output.choices:
        return error
    limit = sample.limit
    return f"stopped at its limit of {limit.type}: {limit.limit:g}" if limit else "no reply"


def _item(sample: EvalSample) -> LoggedItem | None:
    """The item of a sample with choices; its input may hold both context and question."""
    if not sample.choices:
        return None
    options = lettered(sample.choices)
    question = sample.input if isinstance(sample.input, str) else _asked(sample.input)
    return LoggedItem(
        str(sample.id),
        utf8(question),
        "",
        options,
        targets_of(sample.target, options),
        sample.metadata,
    )


def _asked(messages: Sequence[Any]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")
