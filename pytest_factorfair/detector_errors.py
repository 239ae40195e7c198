"""A detector's table of errors: a file of how labelled faces were perceived, held against a run's detector.

    {"schema": "factorfair.detector-errors/1",
     "detector": {... as in a report's fingerprint ...},
     "tables": {"gender": {"Male": {"Male": 47, "Female": 2, "none": 1}, "Female": {...}, "none": {...}}}}

Of the faces that people call Male, 47 were perceived so, and in 1 picture no group was perceived; the row
``none`` is of pictures that show no face to people. JSON or YAML.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, JsonValue, ValidationError

from pytest_factorfair.checklist.fields import Layout
from pytest_factorfair.checklist.problems import Problem, refuse, structural
from pytest_factorfair.checklist.source import read
from pytest_factorfair.domain import Attribute
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.scoring import Confusion

if TYPE_CHECKING:
    from pytest_factorfair.domain import Fingerprint
    from pytest_factorfair.run import Run

OPTION = "--factorfair-detector-errors"
SCHEMA = "factorfair.detector-errors/1"
NONE = "none"

Faces = Annotated[int, Field(ge=0, le=1_000_000_000)]


class File(Layout):
    """The layout of the file."""

    schema_: Literal["factorfair.detector-errors/1"] = Field(alias="schema")
    detector: dict[str, JsonValue]
    tables: dict[str, dict[str, dict[str, Faces]]] = Field(min_length=1)


def of(run: Run, now: Fingerprint) -> tuple[Confusion, ...]:
    """The tables of a run, none where no file was given.

    Raises:
        InputError: a run of language models, a file that cannot be read, or one about another detector.
    """
    path = run.settings.detector_errors
    if path is None:
        return ()
    asked = run.checklists[0]
    if asked.modality == "text":
        raise InputError(
            f"{OPTION} {path}: pictures are read by a detector, and the checklist '{asked.name}' is "
            "asked of language models; leave the option out"
        )
    attributes = [one for each in run.checklists for one in each.attributes]
    return tables(path, attributes, detector=now.detector)


def tables(
    path: str, attributes: Iterable[Attribute], *, detector: Mapping[str, object]
) -> tuple[Confusion, ...]:
    """The tables of a file, which must be about this detector's identity and these attributes.

    Raises:
        InputError: one line that names the file, the line and the field.
    """
    root = read(Path(path), Path())
    try:
        file = File.model_validate(root.plain())
    except ValidationError as error:
        refuse(root, structural(error))
        raise
    refuse(root, _another(file.detector, json.loads(json.dumps(dict(detector)))))
    known = {one.name: one for one in attributes}
    refuse(root, _unknown(file.tables, known))
    return tuple(_table(known[name], rows) for name, rows in file.tables.items())


def to_json(detector: Mapping[str, object], found: Sequence[Confusion]) -> str:
    """The file, a row of a table a line."""
    lines = ",\n".join(
        f"  {json.dumps(table.attribute)}: {{\n"
        + ",\n".join(f"   {json.dumps(seen)}: {json.dumps(row)}" for seen, row in _rows(table))
        + "\n  }"
        for table in found
    )
    return (
        f'{{\n "schema": {json.dumps(SCHEMA)},\n "detector": {json.dumps(dict(detector))},\n'
        f' "tables": {{\n{lines}\n }}\n}}\n'
    )


def _rows(table: Confusion) -> Iterator[tuple[str, dict[str, int]]]:
    labels = (*table.groups, NONE)[: len(table.counts)]
    for label, row in zip(labels, table.counts.tolist(), strict=True):
        yield label, dict(zip(labels, row, strict=True))


def _table(attribute: Attribute, rows: Mapping[str, Mapping[str, int]]) -> Confusion:
    labels = (*attribute.groups, NONE)
    counts = [[rows.get(seen, {}).get(perceived, 0) for perceived in labels] for seen in labels]
    return Confusion(attribute.name, attribute.groups, np.array(counts, np.int64))


def _another(file: Mapping[str, Any], run: Mapping[str, Any], steps: tuple[str, ...] = ()) -> list[Problem]:
    """The first field in which the detector of the file is not that of the run."""
    for name in dict.fromkeys((*file, *run)):
        here, there = (json.dumps(one[name]) if name in one else "missing" for one in (file, run))
        if here == there:
            continue
        if isinstance(file.get(name), dict) and isinstance(run.get(name), dict):
            return _another(file[name], run[name], (*steps, name))
        told = f"is {here}, the run's detector has {there}: another detector makes other errors"
        return [Problem(("detector", *steps, name), told)]
    return []


def _unknown(
    file: Mapping[str, Mapping[str, Mapping[str, int]]], known: Mapping[str, Attribute]
) -> Iterator[Problem]:
    for name, rows in file.items():
        if name not in known:
            yield Problem(("tables", name), f"is no attribute of the checklist{nearest(name, known)}")
            continue
        labels = (*known[name].groups, NONE)
        for seen, row in rows.items():
            for steps, label in (
                (("tables", name, seen), seen),
                *((("tables", name, seen, c), c) for c in row),
            ):
                if label not in labels:
                    yield Problem(steps, f"is no group of {name}{nearest(label, labels)}")
        for group in known[name].groups:
            if group not in rows:
                yield Problem(("tables", name), f"lacks the row of {group}")
