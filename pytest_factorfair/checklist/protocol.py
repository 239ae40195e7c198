"""What a protocol is to this room: how its files are read, and how they become cases and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pytest_factorfair.domain import Case, Checklist, Query, Sampling

if TYPE_CHECKING:
    from pytest_factorfair.checklist.fields import Opening
    from pytest_factorfair.checklist.problems import Problem
    from pytest_factorfair.checklist.source import Node

File = TypeVar("File", bound="Opening")
Value = TypeVar("Value", bound=Checklist)
Entry = TypeVar("Entry", bound=Case)


@dataclass(frozen=True, slots=True)
class Files(Generic[File, Value]):
    """How a protocol's files are read.

    ``layout`` turns the plain content of a file into its layout, or raises pydantic's
    ValidationError; each of the ``rules`` finds what cannot be right in a file that those before it
    let through; ``truths`` names the truth sets that cover the whole file, and ``build`` makes the
    checklist under one of them. ``lint`` says what is bad style, ``schema`` is the layout's JSON
    Schema, made with a template of references such as ``#/$defs/{model}``.
    """

    layout: Callable[[Any], File]
    rules: tuple[Callable[[File], Iterable[Problem]], ...]
    truths: Callable[[File], tuple[str, ...]]
    build: Callable[[File, str], Value]
    lint: Callable[[Node, File], Iterable[Problem]]
    schema: Callable[[str], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Protocol(Generic[File, Value, Entry]):
    """One way to ask: its files, the value they build, and the cases that the value expands to.

    ``checklist`` is the class of its values. ``files`` imports what reads them: a process that receives the
    value does not need it. ``cases`` and
    ``queries`` are the same on every machine. ``notices`` says where a size had to be changed.
    """

    name: str
    checklist: type[Value]
    files: Callable[[], Files[File, Value]]
    cases: Callable[[Value, Sampling], tuple[Entry, ...]]
    queries: Callable[[Value, Entry, Sampling], tuple[Query, ...]]
    notices: Callable[[Value, Sampling], tuple[str, ...]]
