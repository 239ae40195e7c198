"""The published JSON Schema of ``[tool.factorfair]``, made from the table of options.

``python -m pytest_factorfair.config.schema FILE`` writes it; the published one is
``checklists/schema/settings.schema.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_factorfair.checklist.locate import schema_id
from pytest_factorfair.config.options import MODEL, OPTIONS, Kind, RunOption
from pytest_factorfair.config.sources import WAIVERS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "pattern": r"\S"}

_TYPES: Mapping[Kind, Schema] = {
    "amount": {"type": "number", "exclusiveMinimum": 0},
    "flag": {"type": "boolean"},
    "integer": {"type": "integer"},
    "pairs": {"anyOf": [{"type": "object"}, {"type": "array", "items": TEXT}, TEXT]},
    "sizes": {"anyOf": [{"type": "integer", "minimum": 1}, TEXT]},
    "texts": {"anyOf": [{"type": "array", "items": TEXT}, TEXT]},
}
"""By the kind of an option; the other kinds are texts."""

_WAIVER: Schema = {
    "type": "object",
    "properties": {
        "gate": TEXT,
        "reason": TEXT,
        "until": {"type": "string", "format": "date"},
        "floor": {"type": "number", "minimum": -1, "maximum": 1},
    },
    "required": ["gate", "reason", "until", "floor"],
    "additionalProperties": False,
}


def schema() -> Schema:
    """The schema of the table, which cannot name a model: a plain ``pytest`` must not start a paid run."""
    waivers = {
        "description": "gates that a release need not pass, down to a floor and until a day",
        "type": "array",
        "items": _WAIVER,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id("settings.schema.json"),
        "title": "settings of pytest-factorfair: [tool.factorfair] in pyproject.toml",
        "type": "object",
        "properties": {option.key: _value(option) for option in OPTIONS if option is not MODEL}
        | {WAIVERS: waivers},
        "additionalProperties": False,
    }


def _value(option: RunOption) -> Schema:
    """The schema of an option's value."""
    value = {"enum": list(option.choices)} if option.choices else _TYPES.get(option.kind, TEXT)
    bounds = {"minimum": option.minimum, "maximum": option.maximum}
    return {
        "description": option.about,
        **value,
        **{name: bound for name, bound in bounds.items() if bound is not None},
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
