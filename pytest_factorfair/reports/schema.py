"""The published JSON Schema of report.json, made from the values it is written from.

``python -m pytest_factorfair.reports.schema FILE`` writes it; the published one is
``checklists/schema/report.schema.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pytest_factorfair.benchmarks import benchmarks
from pytest_factorfair.checklist.locate import schema_id
from pytest_factorfair.domain import (
    DIRECTIONS,
    OUTCOMES,
    CaseKey,
    Fingerprint,
    PlanTerms,
    ReleaseVerdict,
    Usage,
    Verdict,
)
from pytest_factorfair.reports.json_report import ANSWERS_IN, COMPRESSED, LISTS, OMITTED, ROWS, SCHEMA

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
BY_ATTRIBUTE: Schema = {
    "type": "object",
    "description": "The group of each attribute.",
    "additionalProperties": {"type": "string"},
}


ANSWER: Schema = {
    "query": {"type": "string", "description": "The same in two reports exactly when the question is."},
    "outcome": {"enum": list(OUTCOMES), "description": "Without one it is 'answered'."},
    "letter": TEXT,
    "groups": BY_ATTRIBUTE
    | {"description": "The group of each attribute; without them those of the letter."},
    "confidence": {
        "type": "object",
        "description": "How sure the detector is of the group of each attribute, from 0 to 1.",
        "additionalProperties": {"type": "number"},
    },
    "reason": TEXT,
    "background": {"type": "integer", "description": "Whom the context names: a number of 'people', from 0."},
    "repeat": {"type": "integer", "description": "How often the case had asked the same prompt before."},
    "offered": {
        "type": "integer",
        "description": "What the letters stood for, in their order: a number of 'people', from 0.",
    },
    "probabilities": {
        "type": "array",
        "description": "Of the letters, where they were asked for; what lacks of 1 is everything else.",
        "items": {"type": "number"},
    },
    "noise": {
        "type": "number",
        "description": "The standard error of each letter's logit, from the service's other requests.",
    },
    "shares": {
        "type": "object",
        "description": "A detector's probability of each group, by attribute, if it gives them.",
        "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "age": {"type": "integer", "description": "Of all people to choose from, if they share it."},
    "key": {"type": "string", "description": "Of a picture: the key of its response in the store."},
}
"""The members of an answer; it omits those that are empty."""


def schema() -> Schema:
    """The schema of a whole report."""
    text_or_null: Schema = {"type": ["string", "null"]}
    names = {"gate": "expression", "judgement": "verdict"}
    gate = {names.get(name, name): part for name, part in _row(Verdict)["properties"].items()}
    case: Schema = {
        **dict.fromkeys(CaseKey._fields, TEXT),
        "part": TEXT,
        "statistic": text_or_null,
        "direction": {"enum": [*DIRECTIONS, None]},
        "context": text_or_null,
        "notes": TEXTS,
    }
    counts: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    held: Schema = {
        "answers": _rows(_closed(ANSWER) | {"required": ["query"]}),
        "outcomes": counts | {"description": "How many answers have each; they are in another file."},
    }
    optional: Schema = {
        "dropped": TEXTS | {"description": "Parameters that the model did not accept and was asked without."},
        "shapes": counts | {"description": "How many unparsed replies have each shape."},
        "answered_by": counts | {"description": "How many replies name each model as their author."},
        "configurations": counts | {"description": "How many replies name each ``system_fingerprint``."},
        "own_detector": {"const": True, "description": "Its pictures were read by a test's own detector."},
    }
    three = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
    by_value = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": three}}
    choices = by_value | {
        "description": "By name and age of a person: how often chosen, how often expected, and its variance."
    }
    elsewhere = {"const": COMPRESSED, "description": "The file beside it that has the answers of its cases."}
    kinds = ROWS | {rows.name: rows.row for benchmark in benchmarks().values() for rows in benchmark.rows}
    own_rows = _rows({"type": "object", "required": ["model"]}) | {
        "description": "Rows that a user's benchmark adds, under a name that it chooses."
    }
    parts: Schema = {
        "schema": {"const": SCHEMA},
        "fingerprint": _row(Fingerprint),
        "plan": {
            "anyOf": [_row(PlanTerms), {"type": "null"}],
            "description": "What decides the verdicts besides the fingerprint.",
        },
        "incomplete": {"type": ["string", "null"], "description": "Why nothing was judged; null if it was."},
        "release": {
            "anyOf": [_row(ReleaseVerdict), {"type": "null"}],
            "description": "The verdict on the release; null if no gate is declared.",
        },
        "notes": TEXTS,
        "gates": _rows(_closed(gate)),
        "unjudged": TEXTS | {"description": "Parts and contexts that no gate judged."},
        **{name: _rows(_row(kinds[name])) for name in LISTS},
        "cases": _rows(
            _closed(case | held | optional | {"choices": choices})
            | {"required": list(case), "oneOf": [{"required": [member]} for member in held]}
        ),
        "people": _rows(
            {
                "type": "object",
                "description": "The group of each attribute of a person, or a list of several people's.",
                "additionalProperties": {"anyOf": [TEXT, TEXTS]},
            }
        ),
        "usage": _closed(_row(Usage)["properties"] | {"seconds": {"type": "number"}}),
    }  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id("report.schema.json"),
        "title": "factorfair report",
        **_closed(parts | {ANSWERS_IN: elsewhere})
        | {
            "required": [name for name in parts if name not in OMITTED],
            "additionalProperties": own_rows,
        },
    }


def _row(kind: type) -> Schema:
    """The object of a value, those it refers to written out; a named tuple is an array."""
    json_schema = TypeAdapter(kind).json_schema()
    parts = {
        name: _closed(part["properties"]) if "properties" in part else part
        for name, part in json_schema.get("$defs", {}).items()
    }
    return _closed(_inlined(json_schema["properties"], parts)) | {"title": kind.__name__}


def _inlined(part: Any, parts: Mapping[str, Schema]) -> Any:
    """A part of a schema with what its references name in their place."""
    if isinstance(part, dict):
        name = part.get("$ref", "").rpartition("/")[2]
        return (
            _inlined(parts[name], parts)
            if name
            else {key: _inlined(member, parts) for key, member in part.items()}
        )
    return [_inlined(element, parts) for element in part] if isinstance(part, list) else part


def _closed(properties: Schema) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _rows(row: Schema) -> Schema:
    return {"type": "array", "items": row}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
