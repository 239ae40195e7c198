"""What crosses processes, and back: what an item yields, as plain types; to workers, settings and checklists.

execnet takes exactly None, bool, int, float, str, list, tuple and dict, no subclasses and no lone
surrogates; a report that carries anything else ends the whole run. A record, of thousands of values, is one
JSON text: execnet takes ten times as long for as many.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import sys
from collections.abc import Mapping
from typing import Any

from pytest_factorfair.domain import (
    NO_CONFIDENCE,
    OUTCOMES,
    Answer,
    CaseKey,
    Checklist,
    Outcome,
    Record,
    Sampling,
    Share,
    Usage,
    shared,
    utf8,
)
from pytest_factorfair.settings import Settings

Wire = dict[str, Any]
_SAME: Mapping[str, Outcome] = {outcome: outcome for outcome in OUTCOMES}
_USAGE = tuple(field.name for field in dataclasses.fields(Usage))
_ENCODE = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":"), default=dict
).encode


def to_wire(record: Record | None, usage: Usage) -> Wire:
    """Flatten an item's record, where it has one, and what its asking cost."""
    spent = {name: getattr(usage, name) for name in _USAGE}
    return {"record": record and _record_to_wire(record), "usage": spent}


def from_wire(wire: Wire) -> tuple[Record | None, Usage]:
    """The record and usage that ``to_wire`` flattened."""
    return wire["record"] and _record_from_wire(json.loads(wire["record"])), Usage(**wire["usage"])


def _record_to_wire(record: Record) -> str:
    answers = [
        [
            answer.query,
            answer.outcome,
            answer.reason,
            answer.letter,
            answer.groups,
            answer.background,
            answer.key,
            answer.repeat,
            answer.confidence,
        ]
        for answer in record.answers
    ]
    whole = {"case": record.case, "answers": answers, "notes": record.notes, "choices": record.choices}
    return utf8(_ENCODE(whole))


def _record_from_wire(wire: Wire) -> Record:
    return Record(
        case=CaseKey(*wire["case"]),
        answers=tuple(_answer_from_wire(*answer) for answer in wire["answers"]),
        notes=tuple(wire["notes"]),
        choices={
            kind: {value: Share(*share) for value, share in shares.items()}
            for kind, shares in wire["choices"].items()
        },
    )


def _answer_from_wire(  # noqa: PLR0913, PLR0917  # as many as an answer has fields
    query: str,
    outcome: Outcome,
    reason: str,
    letter: str | None,
    groups: dict[str, str],
    background: dict[str, str],
    key: str,
    repeat: int,
    confidence: dict[str, float],
) -> Answer:
    """An answer; a run has tens of thousands of them, of some dozens of groups and backgrounds."""
    alike = shared(tuple(groups.items())), shared(tuple(background.items()))
    said = _SAME[outcome], sys.intern(reason), letter and sys.intern(letter)
    return Answer(query, *said, *alike, key, repeat, confidence or NO_CONFIDENCE)


def settings_to_wire(settings: Settings) -> Wire:
    """Flatten the settings: a worker takes the controller's rather than resolving its own."""
    wire = dataclasses.asdict(settings)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in wire.items()}


def settings_from_wire(wire: Wire) -> Settings:
    """The settings that ``settings_to_wire`` flattened."""
    fields: Wire = {name: tuple(value) if isinstance(value, list) else value for name, value in wire.items()}
    fields["sampling"] = Sampling(**wire["sampling"])
    return Settings(**fields)


def checklists_to_wire(checklists: tuple[Checklist, ...]) -> bytes:
    """The checklists as they were read: no worker reads the files again, which may have changed since."""
    return pickle.dumps(checklists)


def checklists_from_wire(wire: bytes) -> tuple[Checklist, ...]:
    """The checklists that ``checklists_to_wire`` packed, by a process of this very run."""
    checklists: tuple[Checklist, ...] = pickle.loads(wire)  # noqa: S301  # what started this process sent it
    return checklists
