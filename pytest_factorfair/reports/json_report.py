"""report.json: everything needed to score, compare and judge again, without the store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from pytest_factorfair.domain import Answer, CaseKey, Record, Summary

SCHEMA = "factorfair.report/1"


def to_json(summary: Summary) -> str:
    """The report as text: one row of a list a line, so that two reports can be compared by eye.

    Two runs that asked the same agree in all but ``usage`` and the fingerprint's versions and times.
    """
    parts = (f"{_compact(name)}: {_value(value)}" for name, value in to_dict(summary).items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def to_dict(summary: Summary) -> dict[str, Any]:
    """The report as plain types, in the order of the published schema."""
    return {
        "schema": SCHEMA,
        "fingerprint": dataclasses.asdict(summary.fingerprint),
        "incomplete": summary.incomplete,
        "notes": list(summary.notes),
        "gates": [_gate(dataclasses.asdict(verdict)) for verdict in summary.gates],
        "changes": [dataclasses.asdict(change) for change in summary.changes],
        "former": [dataclasses.asdict(score) for score in summary.former],
        "headline": [dataclasses.asdict(row) for row in summary.headline],
        "scores": [dataclasses.asdict(score) for score in summary.scores],
        "reasons": [dataclasses.asdict(share) for share in summary.reasons],
        "topics": [dataclasses.asdict(topic) for topic in summary.topics],
        "corrections": [dataclasses.asdict(correction) for correction in summary.corrections],
        "prompts": [dataclasses.asdict(row) for row in summary.prompts],
        "contact_sheets": [dataclasses.asdict(sheet) for sheet in summary.contact_sheets],
        "cases": [_case(record, keys=bool(summary.fingerprint.detector)) for record in summary.cases],
        "usage": dataclasses.asdict(summary.usage) | {"seconds": round(summary.seconds, 3)},
    }


def _gate(verdict: dict[str, Any]) -> dict[str, Any]:
    return {"expression": verdict.pop("gate"), "verdict": verdict.pop("judgement")} | verdict


def _case(record: Record, *, keys: bool) -> dict[str, Any]:
    """``keys`` is whether answers say under which key the store has their picture."""
    return {
        "model": record.case.model,
        "checklist": record.case.checklist,
        "case": record.case.case,
        "notes": list(record.notes),
        "answers": [_answer(answer) | ({"key": answer.key} if keys else {}) for answer in record.answers],
    }


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


def _answer(answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {"query": answer.query, "outcome": answer.outcome}
    if answer.letter is not None:
        row["letter"] = answer.letter
    if answer.groups:
        row["groups"] = dict(answer.groups)
    if answer.confidence:
        row["confidence"] = {name: round(share, 3) for name, share in answer.confidence.items()}
    if answer.reason:
        row["reason"] = answer.reason
    if answer.background:
        row["background"] = dict(answer.background)
    if answer.repeat:
        row["repeat"] = answer.repeat
    return row


def _value(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(f" {_compact(row)}" for row in value) + "\n]"
    if isinstance(value, Mapping):
        return (
            "{\n" + ",\n".join(f" {_compact(name)}: {_compact(row)}" for name, row in value.items()) + "\n}"
        )
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(", ", ": "))
