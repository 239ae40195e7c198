"""Replies in JSON lines, JSON arrays or CSV files: ``prompt`` and ``text``, or columns that the user names.

Optional columns are ``repeat``, ``model``, ``finish``, ``tokens_in``, ``tokens_out``, ``error`` and settings
such as ``temperature``; others are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, get_args

from pydantic import ConfigDict, Field

from pytest_factorfair.domain.exchange import Finish
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import item_in
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.logs.messages import asked_in, plain, settings_in
from pytest_factorfair.logs.reading import Entry, Source, cells, digests
from pytest_factorfair.models.arguments import AcceptedValues, Arguments, Number, check_line
from pytest_factorfair.models.logprobs import tokens_in
from pytest_factorfair.redaction import fit

Words = Annotated[str, AcceptedValues("a text")]
_Number = Annotated[int, Field(ge=0), AcceptedValues("a whole number of at least 0")]

COUNTS = ("repeat", "tokens_in", "tokens_out")


class WrittenReply(Arguments):
    """A reply: fields of a line, whose other keys are ignored."""

    model_config = ConfigDict(extra="ignore")

    text: Words
    tokens_in: _Number = 0
    tokens_out: _Number = 0
    finish: Annotated[Finish, AcceptedValues(f"one of {', '.join(get_args(Finish))}")] = "stop"


class RecordedAnswer(WrittenReply):
    """A recorded answer: the fields of a row; its prompt is a text or messages."""

    repeat: _Number = 0
    model: Words = ""
    error: Words = ""
    logit_noise: Annotated[Number, Field(ge=0), AcceptedValues("a number of at least 0")] = 0.0


def open_table(source: Source, columns: Mapping[str, str]) -> Log:
    """Open a table; ``columns`` are the names of its columns, or dotted paths to them, by what they hold.

    Raises:
        InputError: it lacks a column, or has it twice.
    """
    names = {"prompt": "prompt", "text": "text", **columns}
    header = [*map(str.strip, next(cells(source.path)).values)] if source.shape == "table" else []
    for name in (*names.values(), *RecordedAnswer.model_fields):
        if header.count(name) > 1:
            raise InputError(f"{source.path}: it has {header.count(name)} columns '{fit(name)}': keep one")
    for holds, name in names.items():
        if source.first and _value(source.first, name) is None:
            needed = " and ".join(f"{needed}=NAME" for needed in ("prompt", "text") if needed not in columns)
            have = ", ".join(map(fit, source.first))
            raise InputError(
                f"{source.path}: it has no column or key '{fit(name)}' for the {_HOLDS[holds]}, but {have}"
                + (
                    f"; name them with --factorfair-model-arg, or --model-arg of import: {needed}"
                    if needed
                    else ""
                )
            )
    return Log("replies in named columns", digests(source.path), partial(_replies, source, names))


_HOLDS: Mapping[str, str] = {"prompt": "prompts", "text": "replies", "repeat": "repeats"}


def _value(fields: Mapping[str, Any], name: str) -> Any:
    """The value of a column, or at a dotted path such as ``choices.0.text``; None if it lacks it."""
    if name in fields:
        return fields[name]
    value: Any = fields
    for part in name.split("."):
        if isinstance(value, list) and part.isdecimal():
            value = dict(enumerate(value)).get(int(part))
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _replies(source: Source, names: Mapping[str, str]) -> Iterator[LoggedReply]:
    written = source.shape == "table"
    for entry in source.entries():
        row = dict(entry.fields)
        for holds, name in names.items():
            if name in row or _value(row, name) is not None:
                row[holds] = _value(entry.fields, name)
        if written:  # all values are texts, empty ones are none
            row = {name: value for name, value in row.items() if value or name in ("prompt", "text")}
            row |= {name: int(row[name]) for name in COUNTS if str(row.get(name)).isdecimal()}
        yield _reply(entry, row)


def _reply(entry: Entry, row: dict[str, Any]) -> LoggedReply:
    """The reply in a row.

    Raises:
        InputError: it has none, or a value is wrong.
    """
    where = entry.where
    stated = {name: value for name, value in row.items() if name in RecordedAnswer.model_fields}
    stated = {name: value for name, value in stated.items() if value is not None or name == "text"}
    if stated.get("error"):
        stated["text"] = ""
    check_line(RecordedAnswer, stated, where)
    prompt = row.get("prompt")
    if prompt is None:
        raise InputError(f"{where}: 'prompt' is missing")
    if not isinstance(prompt, str | list):
        raise InputError(f"{where}: 'prompt' must be a text or messages, not {fit(repr(prompt))}")
    asked = asked_in(prompt, where)
    return LoggedReply(
        asked.prompt,
        plain(stated["text"], where),
        where,
        repeat=stated.get("repeat"),
        finish=stated.get("finish", "stop"),
        tokens_in=stated.get("tokens_in"),
        tokens_out=stated.get("tokens_out"),
        model=stated.get("model", ""),
        settings={**settings_in(row), **asked.settings},
        error=fit(stated["error"]) if "error" in stated else "",
        tokens=tokens_in(row.get("logprobs")),
        noise=stated.get("logit_noise", 0.0),
        item=item_in(entry.fields, entry.fields.get("id", entry.fields.get("example_id", ""))),
    ).begun(asked.begun)
