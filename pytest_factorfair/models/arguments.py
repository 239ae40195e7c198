"""Model arguments (``KEY=VALUE``): each provider declares its own as one pydantic model.

Values are parsed as JSON (``0.7``, ``true``, ``["a"]``) and fall back to the string as typed; text arguments
always keep the string. A field annotated with ``PassThrough`` collects ``FIELD.KEY=VALUE``, which goes to the
service or library unchecked. Every other unknown key is an error, and so is a key that would hold a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_factorfair.domain import utf8
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import conceal_keys, concealed, fit

SAMPLING = ("temperature", "top_p", "max_tokens", "generate")
"""Arguments that control text generation; they have no effect on the probabilities of letters."""

SECRETS = ("api_key", "apikey", "token", "authorization", "password", "secret")


@dataclass(frozen=True, slots=True)
class AcceptedValues:
    """The values that a field accepts, in ``words`` that complete the message "must be ...".

    The text of a ``verbatim`` field is not parsed as JSON. "none" leaves out an ``omissible`` one.
    """

    words: str
    verbatim: bool = False
    omissible: bool = False


@dataclass(frozen=True, slots=True)
class PassThrough:
    """Marks a field that collects ``FIELD.KEY=VALUE``; the run sets the keys in ``taken`` itself.

    With ``same_names``, a key that is also an argument of the provider must be given as that argument.
    The values ``from_environment`` are names of environment variables, so keys may be those of secrets.
    """

    taken: frozenset[str] = frozenset()
    same_names: bool = False
    from_environment: bool = False


Number = int | float  # int first: pydantic must not turn 0 into 0.0, which would be another identity
Temperature = Annotated[Number, Field(ge=0, le=100), AcceptedValues("a number from 0 to 100")]
OmissibleTemperature = Annotated[
    Number, Field(ge=0, le=100), AcceptedValues("a number from 0 to 100, or none", omissible=True)
]
Share = Annotated[Number, Field(gt=0, le=1), AcceptedValues("a number above 0 and at most 1")]
Seconds = Annotated[
    Number, Field(gt=0, le=86400), AcceptedValues("a number of seconds, above 0 and at most 86400")
]
Count = Annotated[int, Field(ge=1), AcceptedValues("a whole number of at least 1")]
Flag = Annotated[bool, AcceptedValues("true or false")]
Text = Annotated[str, Field(pattern=r"\S"), AcceptedValues("a text", verbatim=True)]
PictureFormat = Annotated[Literal["png", "webp", "jpeg"], AcceptedValues("png, webp or jpeg", verbatim=True)]


class Arguments(BaseModel):
    """The arguments of a provider; this base class takes none."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def __repr__(self) -> str:
        return concealed(super().__repr__())


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def read(
    spec: ModelSpec,
    table: type[ArgumentsT],
    *,
    preset: Mapping[str, object] | None = None,
    taken: frozenset[str] = frozenset(),
) -> ArgumentsT:
    """Parse and validate the arguments of a spec as the provider's table of arguments.

    Arguments of the spec take precedence over ``preset``, and ``preset`` over the table's defaults.
    ``taken`` are keys that cannot be passed on, in addition to those of the field.

    Raises:
        InputError: an unknown key, a value of the wrong kind, or a secret.
    """
    passed_on = {
        name: marker
        for name, field in table.model_fields.items()
        for marker in field.metadata
        if isinstance(marker, PassThrough)
    }
    fields = table.model_fields.keys() - passed_on
    verbatim = tuple(f"{name}." for name, marker in passed_on.items() if marker.from_environment)
    defaults = {key: value for key, value in spec.defaults.items() if key in fields}
    values: dict[str, object] = {**defaults, **(preset or {})}
    for key, typed in spec.arguments.items():
        where = f"model '{spec.text}': argument '{key}'"
        conceal_keys(typed)
        if key.rpartition(".")[2].lower() in SECRETS and not key.startswith(verbatim):
            raise InputError(
                f"{where}: a secret given here would appear in the shell's history and in reports; "
                "put it in an environment variable"
            )
        collected = any(key.startswith(f"{name}.") and key != f"{name}." for name in passed_on)
        if key not in fields and not collected:
            hint = f" ({next(iter(passed_on))}.{key}=... is passed on unchanged)" if passed_on else ""
            raise InputError(f"{where} is unknown{nearest(key, fields)}{hint}")
        accepted = expected(table, key) if key in fields else AcceptedValues("")
        values[key] = typed if accepted.verbatim or key.startswith(verbatim) else _parsed(typed)
        if accepted.omissible and typed.lower() == "none":
            values[key] = None
            continue
        text = json.dumps(values[key], ensure_ascii=False)
        if utf8(text) != text:  # a lone surrogate, which Python produces for a byte that is not UTF-8
            raise InputError(f"{where} must be text in UTF-8, not {typed!a}")
        if key in fields and values[key] is None:
            raise InputError(f"{where} must be {accepted.words}, not '{typed}'")
    nested: dict[str, Any] = {key: value for key, value in values.items() if key in fields}
    for name, marker in passed_on.items():
        extra = {
            key.removeprefix(f"{name}."): value for key, value in values.items() if key.startswith(f"{name}.")
        }
        named = fields if marker.same_names else frozenset[str]()
        for key in sorted(extra.keys() & (marker.taken | taken | named)):
            right = f"write {key}=... without '{name}.'" if key in named else "the run sets it"
            raise InputError(f"model '{spec.text}': argument '{name}.{key}' cannot be given: {right}")
        nested[name] = extra
    for key in wrong_fields(table, nested):
        raise InputError(
            f"model '{spec.text}': argument '{key}' must be {expected(table, key).words}, "
            f"not '{spec.arguments[key]}'"
        )
    return table.model_validate(nested)


def wrong_fields(table: type[Arguments], values: Mapping[str, object]) -> Iterator[str]:
    """The names of values that the table does not accept, in the order of ``values``."""
    try:
        table.model_validate(values)
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors(include_url=False, include_context=False)}
        yield from (name for name in values if name in wrong)


def check_line(table: type[Arguments], entry: Mapping[str, object], where: str) -> None:
    """Check the fields of a line of a file; messages begin with ``where``.

    Raises:
        InputError: a field has a wrong value or is missing.
    """
    for name in sorted(wrong_fields(table, entry)):
        accepted = expected(table, name).words
        raise InputError(f"{where}: '{name}' must be {accepted}, not {fit(repr(entry[name]))}")
    for name, field in table.model_fields.items():
        if field.is_required() and name not in entry:
            raise InputError(f"{where}: '{name}' is missing")


def expected(table: type[Arguments], name: str) -> AcceptedValues:
    """The values that a field accepts."""
    field = table.model_fields[name]
    optional = [mark for part in get_args(field.annotation) for mark in getattr(part, "__metadata__", ())]
    return next(mark for mark in (*field.metadata, *optional) if isinstance(mark, AcceptedValues))


def json_lines(content: str, path: Path, form: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in a file of JSON lines, each with its ``file:line``; empty lines are skipped.

    Raises:
        InputError: a line is not a JSON object; the message shows ``form`` as an example.
    """
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise InputError(f"{where}: not a JSON object; write {form}")
        yield where, entry


def _parsed(typed: str) -> object:
    try:
        value = json.loads(typed, parse_constant=lambda _: typed)
    except (ValueError, RecursionError):
        return typed
    return value
