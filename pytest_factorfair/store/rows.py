"""Convert responses to rows and back, and compute keys: hashes of exactly what can change a response."""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pytest_factorfair.domain import Query, Response
from pytest_factorfair.errors import InputError, StoreError

if TYPE_CHECKING:
    from pytest_factorfair.store.pictures import Picture

# ensure_ascii, because UTF-8 cannot encode lone surrogates.
CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


class Write(NamedTuple):
    """A response to store, with its row and its picture."""

    response: Response
    row: dict[str, object]
    picture: Picture | None = None
    replace: bool = False


def keys(identity: Mapping[str, object], queries: Iterable[Query]) -> tuple[str, ...]:
    """The keys of calls to one model, in the order of the queries: 64 hexadecimal digits each.

    Raises:
        InputError: the identity does not consist of JSON values.
    """
    try:
        digest = _sha256(CANONICAL.encode(dict(identity)))
    except (TypeError, ValueError) as error:
        raise InputError(f"the model's identity must be made of JSON values: {error}") from error
    hashes = []
    for query in queries:  # canonical JSON, assembled by hand for speed: a run has tens of thousands of calls
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
    "tokens_reasoning": _NUMBER,
    "sources": (tuple, list),
    "noise": (int, float),
    "configuration": str,
}
"""The fields of a response that are in the body of a row: all except the bytes of its picture."""
_OPTIONAL: Mapping[str, object] = {
    "dropped": (),
    "tokens_reasoning": None,
    "sources": (),
    "noise": 0.0,
    "configuration": "",
}
"""Fields that a body may lack, with their values then: rows from earlier versions do."""
_COLUMNS = {"model": str, "repeat": int, "seed": int, "picture": str, "picture_size": int, "created": str}
_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_DECODE = json.JSONDecoder().raw_decode


class CallTexts(NamedTuple):
    """A prompt and its response as JSON texts, which can be passed on without decoding them."""

    prompt: str
    body: str


class Origin(NamedTuple):
    """The model that gave a response: its name, and its identity as a JSON text."""

    model: str
    identity: str

    @classmethod
    def of(cls, model: str, identity: Mapping[str, object]) -> Self:
        return cls(plain(model), _ENCODE(dict(identity)))


def check(response: Response) -> None:
    """Check that a response can be stored, and its tokens and cost counted.

    Raises:
        TypeError: a field does not have its annotated type.
    """
    _check({name: getattr(response, name) for name in _FIELDS}, _FIELDS)


def to_row(
    key: str, response: Response, origin: Origin, *, prompt: str, repeat: int, seed: int
) -> dict[str, object]:
    """The row of a response that passes ``check``; ``key`` must be the key of the call."""
    return {
        "key": key,
        "model": origin.model,
        "prompt": _ENCODE(prompt),
        "repeat": repeat,
        "seed": seed,
        "identity": origin.identity,
        "body": _ENCODE(
            {name: value for name in _FIELDS if (value := getattr(response, name)) or name not in _OPTIONAL}
        ),
        "picture": response.image_file,
        "picture_size": 0,
        "reusable": response.reusable,
        "created": _timestamp(int(time.time())),
    }


@lru_cache(maxsize=1)
def _timestamp(second: int) -> str:
    """A second of Unix time as ISO text; cached, as thousands of responses may arrive in a second."""
    return datetime.fromtimestamp(second, UTC).isoformat()


def from_body(body: str, *, key: str, location: str) -> Response:
    """Decode the response in the body of a row.

    Raises:
        StoreError: the row is damaged; the message names the command that deletes it.
    """
    try:
        values = {**_OPTIONAL, **_decoded(body, dict)}
        _check(values, _FIELDS)
        lists = {name: tuple(values[name]) for name in ("notes", "dropped", "sources")}
        return Response(**{**values, **lists})
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(key, location) from error


def call_texts(prompt: str, body: str, *, key: str, location: str) -> CallTexts:
    """The prompt and the response of a row as JSON texts, after checking them.

    Raises:
        StoreError: the row is damaged, as in ``from_body``.
    """
    try:
        _decoded(prompt, str)
        _decoded(body, dict)
    except (ValueError, TypeError) as error:
        raise _damaged(key, location) from error
    return CallTexts(prompt, body)


def checked(row: Mapping[Any, Any], *, location: str) -> dict[str, Any]:
    """A complete row, after checking it.

    Raises:
        StoreError: the row is damaged, as in ``from_body``.
    """
    key: str = row["key"]
    from_body(row["body"], key=key, location=location)
    try:
        _decoded(row["identity"], dict)
        _decoded(row["prompt"], str)
        _check(row, _COLUMNS)
    except (ValueError, TypeError) as error:
        raise _damaged(key, location) from error
    return dict(row)


def _check(values: Mapping[Any, object], types: Mapping[str, type | tuple[type, ...]]) -> None:
    for name, kind in types.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} of a response cannot be of type {type(values[name]).__name__}")


def _decoded(text: object, kind: type) -> Any:
    if not isinstance(text, str) or not text.isascii():  # we write JSON as ASCII
        raise TypeError("the text is not one that was written here")
    value, end = _DECODE(text)
    if end != len(text) or not isinstance(value, kind):
        raise TypeError(f"expected the JSON of a {kind.__name__}")
    return value


def _damaged(key: str, location: str) -> StoreError:
    command = shlex.join(["factorfair", "store", "prune", location, "--key", key])
    remedy = f"delete it, and it is asked again: {command}"
    return StoreError(f"{location}: the row of key {key} is damaged; {remedy}")


def plain(text: str) -> str:
    """Escape the characters of a text that databases do not accept (lone surrogates, NUL)."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
