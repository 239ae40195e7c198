"""A detector's error table: a file on how it perceived labelled faces, valid for this detector only.

    {"schema": "factorfair.detector-errors/1",
     "detector": {... as in a report's fingerprint ...},
     "tables": {"gender": {"Male": {"Male": 47, "Female": 2, "none": 1}, "Female": {...}, "none": {...}}}}

Of 50 faces that people label Male, the detector perceived 47 as male and 2 as female, and found no group in
one. The row ``none`` is for pictures in which people see no face. The format is JSON or YAML.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, JsonValue, ValidationError

from pytest_factorfair.checklist.fields import Layout
from pytest_factorfair.checklist.problems import Problem, refuse, structural
from pytest_factorfair.checklist.source import read
from pytest_factorfair.domain import Attribute, Checklist, differences
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.statistics.confusion import Confusion

SCHEMA = "factorfair.detector-errors/1"
NONE = "none"

Faces = Annotated[int, Field(ge=0, le=1_000_000_000)]


class ErrorTableFile(Layout):
    """The layout of an error table's file."""

    schema_: Literal["factorfair.detector-errors/1"] = Field(alias="schema")
    detector: dict[str, JsonValue]
    tables: dict[str, dict[str, dict[str, Faces]]] = Field(min_length=1)


def of_run(
    path: str, checklists: Sequence[Checklist], *, detector: Mapping[str, object], where: str
) -> tuple[Confusion, ...]:
    """Read a file of error tables for a run; messages call the option that names the file ``where``.

    Raises:
        InputError: the run asks language models, or as in ``tables``.
    """
    if checklists[0].modality == "text":
        raise InputError(
            f"{where} {path}: checklist '{checklists[0].name}' asks language models, "
            "which need no detector; leave the option out"
        )
    attributes = [attribute for checklist in checklists for attribute in checklist.attributes]
    return tables(path, attributes, detector=detector)


def tables(
    path: str, attributes: Iterable[Attribute], *, detector: Mapping[str, object]
) -> tuple[Confusion, ...]:
    """Read the error tables of a file, which must belong to this detector's identity and these attributes.

    Raises:
        InputError: the file is invalid or belongs to another detector; names file, line and field.
    """
    root = read(Path(path), Path())
    try:
        file = ErrorTableFile.model_validate(root.plain())
    except ValidationError as error:
        refuse(root, structural(error))
        raise
    refuse(
        root,
        [
            Problem(
                ("detector", *path),
                f"is {file_value}, but for the run's detector it is {run_value}: "
                "another detector makes other errors",
            )
            for path, file_value, run_value in islice(differences(file.detector, detector), 1)
        ],
    )
    by_name = {attribute.name: attribute for attribute in attributes}
    refuse(root, _unknown(file.tables, by_name))
    confusions = []
    for name, rows in file.tables.items():
        labels = (*by_name[name].groups, NONE)
        counts = [[rows.get(label, {}).get(perceived, 0) for perceived in labels] for label in labels]
        confusions.append(Confusion(name, by_name[name].groups, np.array(counts, np.int64)))
    return tuple(confusions)


def _unknown(
    file: Mapping[str, Mapping[str, Mapping[str, int]]], by_name: Mapping[str, Attribute]
) -> Iterator[Problem]:
    for name, rows in file.items():
        if name not in by_name:
            yield Problem(("tables", name), f"is not an attribute of the checklist{nearest(name, by_name)}")
            continue
        labels = (*by_name[name].groups, NONE)
        for label, row in rows.items():
            positions = [("tables", name, label), *(("tables", name, label, column) for column in row)]
            for steps in positions:
                if steps[-1] not in labels:
                    yield Problem(steps, f"is not a group of {name}{nearest(steps[-1], labels)}")
        for group in by_name[name].groups:
            if group not in rows:
                yield Problem(("tables", name), f"row '{group}' is missing")


def to_json(detector: Mapping[str, object], tables: Sequence[Confusion]) -> str:
    """Format tables as the content of a file, with one line per row of a table."""
    blocks = []
    for table in tables:
        labels = (*table.groups, NONE)[: len(table.counts)]
        rows = (
            f"   {json.dumps(label)}: {json.dumps(dict(zip(labels, row, strict=True)))}"
            for label, row in zip(labels, table.counts.tolist(), strict=True)
        )
        blocks.append(f"  {json.dumps(table.attribute)}: {{\n" + ",\n".join(rows) + "\n  }")
    lines = ",\n".join(blocks)
    return (
        f'{{\n "schema": {json.dumps(SCHEMA)},\n "detector": {json.dumps(dict(detector))},\n'
        f' "tables": {{\n{lines}\n }}\n}}\n'
    )
