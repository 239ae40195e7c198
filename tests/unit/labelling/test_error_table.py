"""Error tables: writing, reading, and validation against a run's detector and checklist."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import InputError
from pytest_factorfair.labelling.error_table import tables, to_json
from pytest_factorfair.statistics.confusion import Confusion

GENDER = Attribute("gender", ("Male", "Female"), {}, {})
RACE = Attribute("race", ("White", "Black", "Asian", "Hispanic"), {}, {})
IDENTITY: Mapping[str, object] = {
    "detector": "fairface",
    "races": "census",
    "faces": {"finder": "yunet", "score": 0.6},
}
GOOD: dict[str, Any] = {
    "schema": "factorfair.detector-errors/1",
    "detector": dict(IDENTITY),
    "tables": {"gender": {"Male": {"Male": 47, "Female": 2, "none": 1}, "Female": {"Male": 5, "Female": 45}}},
}


def _file(tmp_path: Path, content: object) -> str:
    path = tmp_path / "errors.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def _changed(*steps: str, to: object) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(json.dumps(GOOD))
    inner = whole
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = to
    return whole


def test_a_table_is_read(tmp_path: Path) -> None:
    (table,) = tables(_file(tmp_path, GOOD), [GENDER, RACE], detector=IDENTITY)
    assert (table.attribute, table.groups) == ("gender", ("Male", "Female"))
    assert table.counts.tolist() == [[47, 2, 1], [5, 45, 0], [0, 0, 0]]
    assert not table.missing


def test_yaml_and_tuples_in_the_identity(tmp_path: Path) -> None:
    path = tmp_path / "errors.yaml"
    path.write_text(
        "schema: factorfair.detector-errors/1\ndetector: {size: [224, 224]}\n"
        "tables:\n  gender:\n    Male: {Male: 9, Female: 1}\n    Female: {Female: 10}\n"
    )
    (table,) = tables(str(path), [GENDER], detector={"size": (224, 224)})
    assert table.counts.tolist() == [[9, 1, 0], [0, 10, 0], [0, 0, 0]]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    written = [
        Confusion(
            attribute.name, attribute.groups, random.integers(0, 99, (attribute.k + 1, attribute.k + 1))
        )
        for attribute in (GENDER, RACE)
    ]
    again = tables(_file(tmp_path, to_json(IDENTITY, written)), [RACE, GENDER], detector=IDENTITY)
    assert [(table.attribute, table.counts.tolist()) for table in again] == [
        (table.attribute, table.counts.tolist()) for table in written
    ]


BAD: dict[str, tuple[object, str]] = {
    "mapping": (_changed("detector", "races", to="sum"), 'detector.races: is "sum", but for the run\'s detector it is "census": another detector makes other errors'),
    "inner field": (_changed("detector", "faces", "score", to=0.9), "detector.faces.score: is 0.9, but for the run's detector it is 0.6: "),
    "field too many": (_changed("detector", "votes", to="faces"), 'detector.votes: is "faces", but for the run\'s detector it is not given'),
    "other kind": (_changed("detector", to={}), "detector.detector: is not given, but for the run's detector it is \"fairface\""),
    "attribute": (_changed("tables", "gendre", to={}), "tables.gendre: is not an attribute of the checklist; did you mean 'gender'?"),
    "row": (_changed("tables", "gender", "Femal", to={}), "tables.gender.Femal: is not a group of gender; did you mean 'Female'?"),
    "column": (_changed("tables", "gender", "Male", "mail", to=3), "tables.gender.Male.mail: is not a group of gender; did you mean"),
    "no row": (_changed("tables", "gender", to={"Male": {"Male": 1}}), "tables.gender: row 'Female' is missing"),
    "negative": (_changed("tables", "gender", "Male", "Male", to=-1), "tables.gender.Male.Male: must be at least 0"),
    "share": (_changed("tables", "gender", "Male", "Male", to=0.5), "tables.gender.Male.Male: must be a whole number, not 0.5"),
    "yes": (_changed("tables", "gender", "Male", "Male", to=True), "tables.gender.Male.Male: must be a whole number, not true"),
    "key": (_changed("tabels", to={}), "tabels: unknown key; did you mean 'tables'?"),
    "schema": (_changed("schema", to="factorfair.report/5"), "schema: must be 'factorfair.detector-errors/1', not 'factorfair.report/5'"),
    "empty": (_changed("tables", to={}), "tables: needs at least 1, has 0"),
    "no file": ("", "must be a mapping"),
    "cut short": (json.dumps(GOOD)[:-9], "is not valid YAML"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_one_line_names_file_and_field(tmp_path: Path, case: str) -> None:
    content, words = BAD[case]
    path = _file(tmp_path, content)
    with pytest.raises(InputError) as error:
        tables(path, [GENDER, RACE], detector=IDENTITY)
    assert str(error.value).startswith(f"{path}:1: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: there is no such file"):
        tables(str(tmp_path / "none.json"), [GENDER], detector=IDENTITY)
