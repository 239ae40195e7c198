"""The schema of [tool.factorfair] accepts what a run accepts, and published schemas have their address."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.schema import schema
from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.errors import InputError

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "checklists" / "schema"


def test_the_file_on_disk_is_up_to_date() -> None:
    """If not: python -m pytest_factorfair.config.schema checklists/schema/settings.schema.json."""
    assert json.loads((PUBLISHED / "settings.schema.json").read_text(encoding="utf-8")) == schema()


def test_published_schemas_have_an_id() -> None:
    files = sorted(PUBLISHED.glob("*.json"))
    assert len(files) == 4
    for file in files:
        published = json.loads(file.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(published)
        assert published["$id"].startswith("https://github.com/")
        assert published["$id"].endswith(f"/raw/main/checklists/schema/{file.name}")


def accepted(table: dict[str, Any], folder: Path) -> tuple[bool, bool]:
    """Whether the schema accepts a table, and whether a run does."""
    values = {key: json.dumps(value).replace('": ', '" = ') for key, value in table.items()}  # TOML's tables
    text = "[tool.factorfair]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    typed = {"model": OptionValue(["sim:ideal"], "--factorfair-model", folder)}
    try:
        resolve(typed, {}, root=folder, here=folder)
    except InputError:
        return jsonschema.Draft202012Validator(schema()).is_valid(table), False
    return jsonschema.Draft202012Validator(schema()).is_valid(table), True


@pytest.mark.parametrize(
    ("table", "right"),
    [
        ({"preset": "smoke", "max_cost": 2.5, "max_calls": 10, "warm": True, "looks": 2}, True),
        ({"gate": ["default"], "checklist": "a.yaml;b.yaml", "samples": 24}, True),
        ({"samples": "24,objective=4", "model_arg": {"temperature": 0.5}, "reuse": "30d"}, True),
        ({"model_arg": ["temperature=0"], "interval": "scenarios", "undecided": "warn"}, True),
        ({"preset": "smok"}, False),
        ({"prest": "smoke"}, False),
        ({"model": ["sim:ideal"]}, False),
        ({"looks": 5}, False),
        ({"max_connections": 0}, False),
        ({"max_cost": 0}, False),
        ({"gate": [" "]}, False),
        ({"warm": 3}, False),
        ({"report": 3}, False),
    ],
)
def test_it_accepts_what_a_run_accepts(tmp_path: Path, table: dict[str, Any], *, right: bool) -> None:
    assert accepted(table, tmp_path) == (right, right)


def test_it_accepts_the_settings_of_init() -> None:
    text = (ROOT / "pytest_factorfair" / "starting_files" / "pyproject.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text.replace("# waivers = ", "waivers = "))["tool"]["factorfair"]
    plain = json.loads(json.dumps(table, default=str))
    assert plain["waivers"][0]["until"].count("-") == 2
    jsonschema.Draft202012Validator(schema()).validate(plain)
    assert len(schema()["properties"]) == len(OPTIONS)  # without the model, with waivers
