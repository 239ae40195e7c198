"""Encode the values that travel between the processes of a run.

Settings and checklists go to a worker, the result of an item comes back. xdist's execnet accepts only plain
types, so a value travels as one JSON text (``domain/plain.py``). The answers of a record are a text within
it, as in reports.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, TypeVar, get_type_hints

from pytest_factorfair.benchmarks import benchmark_named
from pytest_factorfair.config.settings import Settings
from pytest_factorfair.domain import Answer, Checklist, Record, Usage
from pytest_factorfair.domain.answer import from_json, to_json
from pytest_factorfair.domain.plain import Decoder, plain

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerInput:
    """All that a worker is started with: it resolves no settings and reads no files, which may have changed.

    ``session`` is the controller's name in the account of the run.
    """

    settings: Settings
    checklists: tuple[Checklist, ...]
    session: str


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
    return json.dumps(value, default=_plain, check_circular=False, separators=(",", ":"))


def unpack(kind: type[T], text: str) -> T:
    """Decode a value of this class that ``pack`` encoded."""
    return DECODER.value(kind, json.loads(text))


def _plain(value: Any) -> list[Any] | dict[str, Any]:
    fields: Any = plain(value)
    if isinstance(value, Record):
        fields[ANSWERS] = to_json(value.answers)
    return [value.protocol, fields] if isinstance(value, Checklist) else fields


ANSWERS = [field.name for field in dataclasses.fields(Record)].index("answers")


def _checklist(named_fields: tuple[str, Any]) -> Checklist:
    benchmark, checklist_fields = named_fields
    checklist_type: Any = benchmark_named(benchmark).checklist
    named = zip(get_type_hints(checklist_type).items(), checklist_fields, strict=True)
    built: Checklist = checklist_type(**{name: DECODER.reader(hint)(field) for (name, hint), field in named})
    return built


DECODER = Decoder(
    {Checklist: _checklist, Sequence[Answer]: lambda text: tuple(map(from_json, json.loads(text)))}
)
