"""The published JSON Schemas, made from the layouts.

``python -m pytest_factorfair.benchmarks.schema [FOLDER]`` writes them, by default beside the shipped
checklists. An editor that uses them (see the first line of the shipped files) completes and checks keys.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_factorfair.benchmarks import AnyBenchmark, benchmarks
from pytest_factorfair.checklist import selection
from pytest_factorfair.checklist.locate import folder, schema_id

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"
_PARTIAL = "Partial"
_EXTENDS = {
    "title": "Extends",
    "description": "A shipped checklist's name, or the path of a file; this file says only what it changes.",
    "type": "string",
}


def schemas() -> dict[str, Schema]:
    """The schema of each kind of file, by the name of the file it is published in."""
    parts = {
        f"{name}.schema.json": _with_schema_key(_closed(schema()))
        for benchmark in benchmarks().values()
        for name, schema in benchmark.files().parts.items()
    }
    published = {"checklist.schema.json": _checklist(), **parts}
    return {
        file: {"$schema": _DIALECT, "$id": schema_id(file), **schema} for file, schema in published.items()
    }


def write(directory: Path) -> None:
    """Write all schemas into the folder ``directory``, which is created if needed."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (directory / name).write_text(
            json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def _checklist() -> Schema:
    """The schema of checklists, which name their benchmark, and of overlays, which have their base's."""
    names = list(benchmarks())
    return {
        "title": "factorfair checklist",
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"anyOf": [_reference(name, "Overlay") for name in names]},
        "else": {
            "required": ["protocol"],
            "properties": {"protocol": {"enum": names}},
            "allOf": [
                {
                    "if": {"properties": {"protocol": {"const": name}}},
                    "then": _reference(name, "Checklist"),
                }
                for name in names
            ],
        },
        "$defs": {
            key: definition
            for benchmark in benchmarks().values()
            for key, definition in _definitions(benchmark).items()
        },
    }


def _definitions(benchmark: AnyBenchmark) -> dict[str, Schema]:
    """The definitions of a benchmark's checklists, of overlays, which may leave out keys, and their parts."""
    whole = _closed(benchmark.files().json_schema(f"{_REFERENCE}{benchmark.name}.{{model}}"))
    parts = whole.pop("$defs", {})
    if selectors := benchmark.files().selectors:
        whole["properties"][selection.KEY] = selection.schema(selectors)
    overlay = _partial(whole)
    overlay["properties"] = {"extends": _EXTENDS} | overlay["properties"]
    overlay["required"] = ["extends", "name"]
    partials = {name + _PARTIAL: _partial(definition) for name, definition in parts.items()}
    definitions = {"Checklist": _with_schema_key(whole), "Overlay": overlay, **parts, **partials}
    return {f"{benchmark.name}.{name}": definition for name, definition in definitions.items()}


def _reference(benchmark: str, name: str) -> Schema:
    return {"$ref": f"{_REFERENCE}{benchmark}.{name}"}


def _with_schema_key(schema: Schema) -> Schema:
    return schema | {"required": ["schema", *schema["required"]]}


def _closed(schema: Any) -> Any:
    """The schema with keys outside ``patternProperties`` refused, as the layouts refuse them."""
    if isinstance(schema, list):
        return [_closed(element) for element in schema]
    if not isinstance(schema, Mapping):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    return closed | {"additionalProperties": False} if "patternProperties" in closed else closed


def _partial(schema: Schema) -> Schema:
    """The schema of an overlay: any part of a mapping, null to remove, edits of a list."""
    if "$ref" in schema:
        return schema | {"$ref": schema["$ref"] + _PARTIAL}
    if "anyOf" in schema:
        return schema | {"anyOf": [_partial(alternative) for alternative in schema["anyOf"]]}
    if schema.get("type") == "array":
        return {"anyOf": [schema, _edits(schema["items"])]}
    partial = {
        key: value for key, value in schema.items() if key not in ("required", "minProperties", "default")
    }
    for key in ("properties", "patternProperties"):
        if key in partial:
            partial[key] = {name: _removable(subschema) for name, subschema in partial[key].items()}
    if isinstance(partial.get("additionalProperties"), Mapping):
        partial["additionalProperties"] = _removable(partial["additionalProperties"])
    return partial


def _removable(schema: Schema) -> Schema:
    titles: Schema = {key: schema[key] for key in ("title", "description") if key in schema}
    return {**titles, "anyOf": [_partial(schema), {"type": "null"}]}


def _edits(item: Schema) -> Schema:
    return {
        "description": "Edits of the base's list.",
        "type": "object",
        "properties": {
            "remove": {
                "description": "Positions in the base's list, counted from 1.",
                "type": "array",
                "items": {"type": "integer", "minimum": 1},
            },
            "add": {"description": "What to append.", "type": "array", "items": item},
        },
        "additionalProperties": False,
        "minProperties": 1,
    }


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else folder() / "schema")
