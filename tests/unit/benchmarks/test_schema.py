"""The published JSON Schemas are up to date, and refuse what the loader refuses."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from pytest_factorfair.benchmarks.schema import schemas
from pytest_factorfair.checklist.locate import folder, shipped
from tests import forkserver
from tests.unit.benchmarks.faintbench.files import TEA
from tests.unit.benchmarks.faintbench.test_layout import FIELDS
from tests.unit.checklist.files import CHECKLIST, STATISTICS, changed
from tests.unit.checklist.test_layout import CHECKLIST_FIELDS, STATISTICS_FIELDS

ROOT = Path(__file__).parents[3]
# What JSON Schema cannot see: that two list entries or keys are equal, or where a path leads.
BLIND = ("twice", "no file", "relative to this one", "unknown key; did you mean 'coast'", "finite")


@cache
def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(schemas()[f"{name}.schema.json"])


def valid(name: str, text: str) -> bool:
    return bool(validator(name).is_valid(yaml.safe_load(text)))


@pytest.mark.parametrize("name", sorted(schemas()))
def test_published_schema_equals_the_layouts(name: str) -> None:
    published = (folder() / "schema" / name).read_text(encoding="utf-8")
    assert json.loads(published) == schemas()[name], "run: python -m pytest_factorfair.benchmarks.schema"


@pytest.mark.parametrize("name", sorted(schemas()))
def test_schema_follows_json_schema_2020_12(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas()[name])


def test_command_writes_them_into_a_new_folder(tmp_path: Path) -> None:
    command = [forkserver.python(), "-m", "pytest_factorfair.benchmarks.schema", str(tmp_path / "new")]
    subprocess.run(command, check=True, cwd=ROOT)
    written = {
        file.name: json.loads(file.read_text(encoding="utf-8")) for file in (tmp_path / "new").iterdir()
    }
    assert written == schemas()


def test_shipped_files_are_valid() -> None:
    for name in shipped():
        assert valid("checklist", (folder() / f"{name}.yaml").read_text(encoding="utf-8"))
    assert valid("statistics", (folder() / "statistics/us.yaml").read_text(encoding="utf-8"))


def test_statistics_may_stand_in_the_checklist() -> None:
    inline = "statistics:\n" + "".join(f"  {line}\n" for line in STATISTICS.splitlines())
    assert valid("checklist", CHECKLIST)
    assert valid("checklist", changed(CHECKLIST, ("statistics: facts.yaml\n", inline)))
    assert not valid(
        "checklist", changed(CHECKLIST, ("statistics: facts.yaml\n", inline.replace("place:", "plaec:")))
    )


@pytest.mark.parametrize(("old", "new", "message"), CHECKLIST_FIELDS)
def test_the_schema_refuses_what_the_loader_refuses_in_a_checklist(old: str, new: str, message: str) -> None:
    blind = any(words in message for words in BLIND)
    assert valid("checklist", changed(CHECKLIST, (old, new))) == blind


@pytest.mark.parametrize(("old", "new", "message"), STATISTICS_FIELDS)
def test_the_schema_refuses_what_the_loader_refuses_in_statistics(old: str, new: str, message: str) -> None:
    blind = any(words in message for words in BLIND)
    assert valid("statistics", changed(STATISTICS, (old, new))) == blind


@pytest.mark.parametrize(("old", "new", "message"), FIELDS)
def test_the_schema_refuses_what_the_faintbench_loader_refuses(old: str, new: str, message: str) -> None:
    assert valid("checklist", TEA)
    blind = any(words in message for words in BLIND)
    assert valid("checklist", changed(TEA, (old, new))) == blind


OVERLAYS = [
    ("occupations: {barista: {name: Barista, category: food, weight: 1}}", True),
    ("occupations: {nurse: {weight: 2}, dancer: null}", True),
    ("occupations: {nurse: {wieght: 2}}", False),
    ("relations: {host_guest: {left: Host, right: {noun: Guest, shares: {age: {young: 1}}}}}", True),
    ("", True),
    ("topics: {crime_rate: null}", True),
    ("topics: {crime_rate: {highest: {behavior: x}}}", True),
    (
        "topics: {crime_rate: {lowest: {scenarios: {remove: [1], add: ['{people}?', {text: '{people}?'}]}}}}",
        True,
    ),
    ("topics: {crime_rate: {highest: {scenarios: ['{people}?']}}}", True),
    ("statistics: {statistics: {crime_rate: {race: {fragile: [lowest], notes: null}}}}", False),
    ("statistics: {statistics: {crime_rate: {race: {fragile: [lowest]}, notes: null}}}", True),
    ("statistics: other.yaml", True),
    ("subjective: null", True),
    ("subjective: {names: {add: [Gil]}}", True),
    ("topics: {crime_rate: {highest: {scenarios: {remove: [0]}}}}", False),
    ("topics: {crime_rate: {highest: {scenarios: {drop: [1]}}}}", False),
    ("topics: {crime_rate: {higest: {behavior: x}}}", False),
    ("titel: x", False),
]


@pytest.mark.parametrize(("text", "right"), OVERLAYS)
def test_overlays(text: str, *, right: bool) -> None:
    assert valid("checklist", f"extends: fact_or_fair\nname: own\n{text}\n") == right


def test_overlay_needs_a_name() -> None:
    assert not valid("checklist", "extends: fact_or_fair\n")
