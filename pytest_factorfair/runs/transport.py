"""Encode the values that travel between the processes of a run.

Settings and checklists go to a worker, the result of an item comes back. xdist's execnet accepts only plain
types, so a value travels as one JSON text: a dataclass is the list of its fields, and the annotations of the
class say how to read it back. The answers of a record travel as a text of their own codec.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_factorfair.benchmarks import benchmark_named
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import Answer, Checklist, Record, Usage
from pytest_factorfair.domain.answer import from_json, to_json

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerInput:
    """The input of a worker, which resolves no settings and reads no files, because those may have changed.

    ``session`` is the controller's name in the account of the run.
    """

    settings: Settings
    checklists: tuple[Checklist, ...]
    session: str


@dataclasses.dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of one item: its record, if there is one, and the usage that is not on the run's account.

    ``ended`` is whether it met the error that ended the run.
    """

    record: Record | None
    usage: Usage
    ended: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerOutput:
    """The output of a worker that ends: its usage, even if the store does not know it.

    ``owner`` is its name in the accounts, ``rescued`` how many responses it rescued, and ``trouble`` why.
    ``pending`` is why answers are missing that are in batches.
    """

    owner: str
    usage: Usage
    rescued: int
    trouble: str
    pending: str = ""


def pack(value: object) -> str:
    """Encode a value made of dataclasses, tuples, mappings with text keys and plain types.

    The text is ASCII: execnet does not accept lone surrogates, which a model may write.
    """
    return json.dumps(value, default=_fields, check_circular=False, separators=(",", ":"))


def unpack(kind: type[T], text: str) -> T:
    """Decode a value of this class that ``pack`` encoded."""
    hint: Any = kind
    value: T = _reader(hint)(json.loads(text))
    return value


def _fields(value: Any) -> list[Any] | dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    plain = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, Record):
        plain[ANSWERS] = to_json(value.answers)
    return [value.protocol, plain] if isinstance(value, Checklist) else plain


ANSWERS = [field.name for field in dataclasses.fields(Record)].index("answers")

Reader = Callable[[Any], Any]


def _checklist(plain: tuple[str, Any]) -> Checklist:
    benchmark, fields = plain
    checklist_type: Any = benchmark_named(benchmark).checklist
    named = zip(get_type_hints(checklist_type).items(), fields, strict=True)
    built: Checklist = checklist_type(
        **{name: _reader(hint)(plain_field) for (name, hint), plain_field in named}
    )
    return built


READERS: Mapping[Hashable, Reader] = {
    Checklist: _checklist,
    Sequence[Answer]: lambda text: tuple(map(from_json, json.loads(text))),
}


@cache
def _reader(kind: Hashable) -> Reader:
    """The function that builds a value of a type from plain JSON; the entries of a tuple have one type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in READERS:
        return READERS[kind]
    if origin in (Union, UnionType):
        (reader,) = (_reader(argument) for argument in arguments if argument is not type(None))
        return lambda plain: None if plain is None else reader(plain)
    if origin is Mapping:
        read_entry = _reader(arguments[1])
        return lambda plain: {name: read_entry(plain_value) for name, plain_value in plain.items()}
    if origin in (tuple, Sequence):
        read_entry = _reader(arguments[0])
        return lambda plain: tuple(map(read_entry, plain))
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, tuple)):
        fields = [_reader(hint) for hint in get_type_hints(kind).values()]
        return lambda plain: kind(
            *[field(plain_field) for field, plain_field in zip(fields, plain, strict=True)]
        )
    return lambda plain: plain
