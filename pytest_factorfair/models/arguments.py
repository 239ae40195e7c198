"""KEY=VALUE model arguments: which keys a provider knows, what their values may be, one line when wrong.

A value is read as JSON where it parses (``0.7``, ``true``, ``["a"]``, ``{"a": 1}``), else as the string
it is; a key of a ``raw`` kind keeps the string as typed. Keys with a prefix of the provider
(``body.top_k=20``) are passed on to the service or library unread; any other unknown key is an error,
and so is a key that would hold a secret.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.models.spec import ModelSpec

SECRETS = ("api_key", "apikey", "token", "authorization", "password", "secret")


@dataclass(frozen=True, slots=True)
class Kind:
    """What the values of a key may be; ``says`` completes "must be ..."."""

    says: str
    accepts: Callable[[object], bool]
    raw: bool = False


def _within(value: object, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _count(value: object) -> bool:
    return isinstance(value, int) and _within(value, 1, math.inf)


TEMPERATURE = Kind("a number from 0 to 100", lambda value: _within(value, 0, 100))
SHARE = Kind("a number above 0 and at most 1", lambda value: value != 0 and _within(value, 0, 1))
SECONDS = Kind(
    "a number of seconds, above 0 and at most 86400", lambda value: value != 0 and _within(value, 0, 86400)
)
COUNT = Kind("a whole number of at least 1", _count)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
TEXT = Kind("a text", lambda value: bool(str(value).strip()), raw=True)


def matching(pattern: str, *, says: str) -> Kind:
    """A kind of texts that a regular expression matches."""
    return Kind(says, lambda value: re.fullmatch(pattern, str(value)) is not None, raw=True)


def read(spec: ModelSpec, kinds: Mapping[str, Kind], *, passed_on: tuple[str, ...] = ()) -> dict[str, object]:
    """The values of the spec's arguments by key; ``passed_on`` are the prefixes of keys read by others.

    Raises:
        InputError: a key the provider does not know, a value that cannot be right, or a secret.
    """
    return {key: _value(spec, key, kinds=kinds, passed_on=passed_on) for key in spec.arguments}


def refuse(
    spec: ModelSpec,
    prefix: str,
    extra: Mapping[str, object],
    *,
    ours: Mapping[str, Kind],
    taken: frozenset[str],
) -> None:
    """Look whether what is passed on is the run's to set, or an argument of ours.

    Raises:
        InputError: it is; says what to write in its place.
    """
    for key in sorted(extra.keys() & (taken | ours.keys())):
        right = f"write {key}=... without '{prefix}'" if key in ours else "the run sets it"
        raise InputError(f"model '{spec.text}': argument '{prefix}{key}' cannot be given: {right}")


def under(values: Mapping[str, object], prefix: str) -> dict[str, object]:
    """The values whose key begins with the prefix, by the rest of the key."""
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def text(values: Mapping[str, object], key: str) -> str | None:
    """The value of a ``TEXT`` key; None if it is not given."""
    return str(values[key]) if key in values else None


def number(values: Mapping[str, object], key: str) -> float:
    """The value of a key of numbers, which must be given or have a default."""
    return float(str(values[key]))


def _value(spec: ModelSpec, key: str, *, kinds: Mapping[str, Kind], passed_on: tuple[str, ...]) -> object:
    typed = spec.arguments[key]
    where = f"model '{spec.text}': argument '{key}'"
    if key.rpartition(".")[2].lower() in SECRETS:
        raise InputError(
            f"{where}: a secret given here would end in the shell's history and in reports; "
            "put it in an environment variable"
        )
    others = any(key.startswith(prefix) and key != prefix for prefix in passed_on)
    if key not in kinds and not others:
        raise InputError(f"{where} is unknown{nearest(key, kinds)}{_hint(key, passed_on)}")
    value = _parsed(typed) if others or not kinds[key].raw else typed
    if not _sendable(value):
        raise InputError(f"{where} must be text in UTF-8, not {typed!a}")
    if not others and not kinds[key].accepts(value):
        raise InputError(f"{where} must be {kinds[key].says}, not '{typed}'")
    return value


def _sendable(value: object) -> bool:
    """Whether it holds no half of a surrogate pair, as Python makes of a stray byte."""
    return utf8(text := json.dumps(value, ensure_ascii=False)) == text


def _hint(key: str, passed_on: tuple[str, ...]) -> str:
    return f" ({passed_on[0]}{key}=... is passed on as it is)" if passed_on else ""


def _parsed(typed: str) -> object:
    try:
        value = json.loads(typed, parse_constant=lambda _: typed)
    except (ValueError, RecursionError):
        return typed
    return value
