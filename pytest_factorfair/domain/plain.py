"""Values as plain JSON, and back by the annotations of their classes: for other processes, and for the store.

A dataclass or a named tuple is the list of its fields. The last fields may be missing if they have defaults.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

Reader = Callable[[Any], Any]
"""Builds a value from plain JSON."""


def plain(value: Any) -> list[Any] | dict[str, Any]:
    """One level of a dataclass or a mapping as JSON: the ``default`` of ``json.dumps``."""
    if isinstance(value, Mapping):
        return dict(value)
    return [getattr(value, field.name) for field in dataclasses.fields(value)]


class Decoder:
    """Builds values of annotated types from plain JSON; ``readers`` are for types that have another form."""

    def __init__(self, readers: Mapping[Hashable, Reader] | None = None) -> None:
        self._readers = dict(readers or {})

    def value(self, kind: type[T], plain: Any) -> T:
        """Build a value of this class.

        Raises:
            TypeError, ValueError, AttributeError: the JSON is not that of such a value.
        """
        hint: Any = kind
        value: T = self.reader(hint)(plain)
        return value

    def reader(self, kind: Hashable) -> Reader:
        """The function that builds a value of a type."""
        if kind not in self._readers:
            self._readers[kind] = self._made(kind)
        return self._readers[kind]

    def _made(self, kind: Hashable) -> Reader:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            (read,) = (self.reader(argument) for argument in arguments if argument is not type(None))
            return lambda plain: None if plain is None else read(plain)
        if origin is Mapping:
            read_entry = self.reader(arguments[1])
            return lambda plain: {name: read_entry(entry) for name, entry in plain.items()}
        if origin is tuple and arguments[-1] is not Ellipsis:
            entries = [self.reader(argument) for argument in arguments]
            return lambda plain: tuple([read(entry) for read, entry in zip(entries, plain, strict=True)])
        if origin in (tuple, Sequence):
            read_entry = self.reader(arguments[0])
            return lambda plain: tuple(map(read_entry, plain))
        if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, tuple)):
            readers = [self.reader(hint) for hint in get_type_hints(kind).values()]
            return lambda plain: kind(
                *[read(entry) for read, entry in zip(readers, plain, strict=len(plain) > len(readers))]
            )
        return lambda plain: plain
