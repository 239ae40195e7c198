"""report.json: everything needed to score, compare and judge again, without the store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pytest_factorfair.domain import Answer, CaseKey, Record, Summary

SCHEMA = "factorfair.report/1"

ROWS = (
    "changes", "former", "headline", "scores", "reasons", "topics", "corrections", "prompts",
    "contact_sheets",
)  # fmt: skip
"""What is in a report as it is in the summary."""

_compact = json.JSONEncoder(allow_nan=False, separators=(", ", ": ")).encode


def to_json(summary: Summary) -> str:
    """The report as text."""
    return "".join(pieces(summary))


def pieces(summary: Summary) -> Iterator[str]:
    """The report as text, piece by piece: a run's answers are many, and as plain types many times as large.

    A row of a list is a line, so that two reports can be compared by eye. Two runs that asked the same
    agree in all but ``usage`` and the fingerprint's versions and times.
    """
    before = "{\n"
    for name, value in _parts(summary):
        yield f"{before}{_compact(name)}: "
        yield from _value(value)
        before = ",\n"
    yield "\n}\n"


def _parts(summary: Summary) -> Iterator[tuple[str, object]]:
    """The report as plain types, in the order of the published schema; the rows of a list as texts."""
    yield "schema", SCHEMA
    yield "fingerprint", dataclasses.asdict(summary.fingerprint)
    yield "incomplete", summary.incomplete
    yield "notes", list(summary.notes)
    yield "gates", (_compact(_gate(dataclasses.asdict(verdict))) for verdict in summary.gates)
    yield "unjudged", list(summary.unjudged)
    for name in ROWS:
        yield name, (_compact(dataclasses.asdict(row)) for row in getattr(summary, name))
    keys = bool(summary.fingerprint.detector)
    yield "cases", (_case(record, keys=keys) for record in summary.cases)
    yield "usage", dataclasses.asdict(summary.usage) | {"seconds": round(summary.seconds, 3)}


def _gate(verdict: dict[str, Any]) -> dict[str, Any]:
    return {"expression": verdict.pop("gate"), "verdict": verdict.pop("judgement")} | verdict


def _case(record: Record, *, keys: bool) -> str:
    """``keys`` is whether answers say under which key the store has their picture."""
    case = {
        "model": record.case.model,
        "checklist": record.case.checklist,
        "case": record.case.case,
        "notes": list(record.notes),
    }
    answers = ", ".join(_answer(answer, keys=keys) for answer in record.answers)
    return f'{_compact(case)[:-1]}, "answers": [{answers}]}}'


def record(row: Mapping[str, Any]) -> Record:
    """The record of a case's row."""
    answers = tuple(
        Answer(
            query=one["query"],
            outcome=one["outcome"],
            reason=one.get("reason", ""),
            letter=one.get("letter"),
            groups=one.get("groups", {}),
            background=one.get("background", {}),
            key=one.get("key", ""),
            repeat=one.get("repeat", 0),
            confidence=one.get("confidence", {}),
        )
        for one in row["answers"]
    )
    return Record(CaseKey(row["model"], row["checklist"], row["case"]), answers, tuple(row["notes"]))


def _answer(answer: Answer, *, keys: bool) -> str:
    said = _said(
        answer.outcome,
        answer.letter,
        tuple(answer.groups.items()),
        tuple(answer.confidence.items()),
        answer.reason,
        tuple(answer.background.items()),
    )
    repeat = f', "repeat": {answer.repeat}' if answer.repeat else ""
    key = f', "key": {_compact(answer.key)}' if keys else ""
    return f'{{"query": {_compact(answer.query)}, {said}{repeat}{key}}}'


@lru_cache(maxsize=4096)
def _said(
    outcome: str,
    letter: str | None,
    groups: tuple[tuple[str, str], ...],
    confidence: tuple[tuple[str, float], ...],
    reason: str,
    background: tuple[tuple[str, str], ...],
) -> str:
    """What an answer says: a run's answers are many, and say few things."""
    row: dict[str, Any] = {"outcome": outcome}
    if letter is not None:
        row["letter"] = letter
    if groups:
        row["groups"] = dict(groups)
    if confidence:
        row["confidence"] = {name: round(share, 3) for name, share in confidence}
    if reason:
        row["reason"] = reason
    if background:
        row["background"] = dict(background)
    return _compact(row)[1:-1]


def _value(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        rows = (f"{_compact(name)}: {_compact(row)}" for name, row in value.items())
        yield from _listed(rows, "{", "}")
    elif isinstance(value, list):
        yield from _listed(map(_compact, value), "[", "]")
    elif isinstance(value, Iterator):
        yield from _listed(value, "[", "]")
    else:
        yield _compact(value)


def _listed(rows: Iterator[str], first: str, last: str) -> Iterator[str]:
    before = f"{first}\n "
    for row in rows:
        yield before + row
        before = ",\n "
    yield f"\n{last}" if before == ",\n " else f"{first}{last}"
