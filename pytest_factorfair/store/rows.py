"""A response as a row, and back; and its key, a hash of everything that can change it and of nothing else."""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import NoneType
from typing import Any, NamedTuple, Self

from pytest_factorfair.domain import Query, Response
from pytest_factorfair.errors import InputError, StoreError

# ensure_ascii also carries what UTF-8 cannot: lone surrogates.
CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def keys(identity: Mapping[str, object], queries: Iterable[Query]) -> tuple[str, ...]:
    """The keys of calls to one model, 64 hexadecimal digits each, in their order.

    Raises:
        InputError: the identity is not made of JSON values.
    """
    try:
        digest = _sha256(CANONICAL.encode(dict(identity)))
    except (TypeError, ValueError) as error:
        raise InputError(f"the model's identity must be made of JSON values: {error}") from error
    hashes = []
    for query in queries:  # canonical JSON, written out: a run has tens of thousands of calls
        shown = f'"picture":"{hashlib.sha256(query.picture).hexdigest()}",' if query.picture else ""
        prompt = CANONICAL.encode(query.prompt)
        call = (
            f'"identity":"{digest}",{shown}"prompt":{prompt},"repeat":{query.repeat:d},"seed":{query.seed:d}'
        )
        hashes.append(_sha256(f"{{{call}}}"))
    return tuple(hashes)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("ascii")).hexdigest()


_NUMBER = (int, float, NoneType)
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "text": str,
    "finish": str,
    "tokens_in": _NUMBER,
    "tokens_out": _NUMBER,
    "cost": _NUMBER,
    "model": str,
    "notes": (tuple, list),
    "dropped": (tuple, list),
    "image_file": str,
}
"""The fields of a response in the body of a row: all but the bytes of its picture."""
_COLUMNS = {"model": str, "repeat": int, "seed": int, "picture": str, "picture_size": int, "created": str}
_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_DECODE = json.JSONDecoder().raw_decode


class Said(NamedTuple):
    """A prompt and its response, as JSON texts that can be passed on without decoding."""

    prompt: str
    body: str


class Origin(NamedTuple):
    """The model of a response: its name, and its identity as a JSON text."""

    model: str
    identity: str

    @classmethod
    def of(cls, model: str, identity: Mapping[str, object]) -> Self:
        return cls(plain(model), _ENCODE(dict(identity)))


def check(response: Response) -> None:
    """Make sure that a response can be stored, and its tokens and cost counted.

    Raises:
        TypeError: a field does not have its annotated type.
    """
    _check({name: getattr(response, name) for name in _FIELDS}, _FIELDS)


def to_row(
    key: str, response: Response, origin: Origin, *, prompt: str, repeat: int, seed: int
) -> dict[str, object]:
    """The row of a response that passes ``check``, without its picture; its key is of the other arguments."""
    return {
        "key": key,
        "model": origin.model,
        "prompt": _ENCODE(prompt),
        "repeat": repeat,
        "seed": seed,
        "identity": origin.identity,
        "body": _ENCODE({name: getattr(response, name) for name in _FIELDS}),
        "picture": response.image_file,
        "picture_size": 0,
        "reusable": response.reusable,
        "created": _timestamp(int(time.time())),
    }


@lru_cache(maxsize=1)
def _timestamp(second: int) -> str:
    """A second of Unix time as ISO text; thousands of responses arrive in one."""
    return datetime.fromtimestamp(second, UTC).isoformat()


def from_body(body: str, *, key: str, place: str) -> Response:
    """The response in the body of a row.

    Raises:
        StoreError: the row is damaged; the message names the command that deletes it.
    """
    try:
        values = {"dropped": [], **_decoded(body, dict)}  # rows of former versions lack it
        _check(values, _FIELDS)
        lists = {name: tuple(values[name]) for name in ("notes", "dropped")}
        return Response(**{**values, **lists})
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(key, place) from error


def said(prompt: str, body: str, *, key: str, place: str) -> Said:
    """The texts of a row.

    Raises:
        StoreError: the row is damaged, as above.
    """
    try:
        _decoded(prompt, str)
        _decoded(body, dict)
    except (ValueError, TypeError) as error:
        raise _damaged(key, place) from error
    return Said(prompt, body)


def checked(row: Mapping[Any, Any], *, place: str) -> dict[str, Any]:
    """A whole row.

    Raises:
        StoreError: the row is damaged, as above.
    """
    key: str = row["key"]
    from_body(row["body"], key=key, place=place)
    try:
        _decoded(row["identity"], dict)
        _decoded(row["prompt"], str)
        _check(row, _COLUMNS)
    except (ValueError, TypeError) as error:
        raise _damaged(key, place) from error
    return dict(row)


def _check(values: Mapping[Any, object], types: Mapping[str, type | tuple[type, ...]]) -> None:
    for name, kind in types.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} of a response cannot be of type {type(values[name]).__name__}")


def _decoded(text: object, kind: type) -> Any:
    if not isinstance(text, str) or not text.isascii():  # JSON is written as ASCII
        raise TypeError("the text is not one that was written here")
    value, end = _DECODE(text)
    if end != len(text) or not isinstance(value, kind):
        raise TypeError(f"expected the JSON of a {kind.__name__}")
    return value


def _damaged(key: str, place: str) -> StoreError:
    command = shlex.join(["factorfair", "store", "prune", place, "--key", key])
    remedy = f"delete it, and it is asked again: {command}"
    return StoreError(f"{place}: the row of key {key} is damaged; {remedy}")


def plain(text: str) -> str:
    """The text with characters that no database takes (lone surrogates, NUL) as escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
