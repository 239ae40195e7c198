"""A response as a row, and back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, Self

from pytest_factorfair.domain import Response

_FIELDS = tuple(field.name for field in fields(Response) if field.name != "image")
_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class Said(NamedTuple):
    """A prompt and what came back, as JSON texts: nobody has to read them who only hands them on."""

    prompt: str
    body: str


class Origin(NamedTuple):
    """Whose responses they are: what the model is called, and its identity as a JSON text."""

    model: str
    identity: str

    @classmethod
    def of(cls, model: str, identity: Mapping[str, object]) -> Self:
        return cls(plain(model), _ENCODE(dict(identity)))


def to_row(
    key: str, response: Response, origin: Origin, *, prompt: str, repeat: int, seed: int
) -> dict[str, object]:
    """The row of a response, whose picture is kept elsewhere; its key is made of the other arguments.

    Raises:
        TypeError: a field of the response is not what its annotation says.
    """
    return {
        "key": key,
        "model": origin.model,
        "prompt": _ENCODE(prompt),
        "repeat": repeat,
        "seed": seed,
        "identity": origin.identity,
        "body": _ENCODE({name: getattr(response, name) for name in _FIELDS}),
        "picture": response.image_file,
        "reusable": response.reusable,
        "created": _told(int(time.time())),
    }


@lru_cache(maxsize=1)
def _told(moment: int) -> str:
    """A second of Unix time in words; thousands of responses come in one."""
    return datetime.fromtimestamp(moment, UTC).isoformat()


def from_body(body: str) -> Response:
    """The response a row's body holds.

    Raises:
        ValueError, TypeError: the body is damaged.
    """
    values: Mapping[str, object] = json.loads(body)
    notes = values["notes"]
    if not isinstance(notes, list):
        raise TypeError("notes is not a list")
    return Response(**{**values, "notes": tuple(notes)})  # type: ignore[arg-type]  # written by to_row


def plain(text: str) -> str:
    """The text with what no database takes (lone surrogates, NUL) written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
