"""A third protocol, all of it in this file: what one must say, and that nothing else need know of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
import yaml
from pydantic import Field

from pytest_factorfair import protocols
from pytest_factorfair.checklist.fields import Group, Layout, Opening, attribute
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.numbering import Draft, numbered
from pytest_factorfair.checklist.problems import Problem
from pytest_factorfair.checklist.source import Node
from pytest_factorfair.domain import Case, Checklist, Query, Sampling
from pytest_factorfair.errors import ChecklistError, InputError
from pytest_factorfair.protocols import PROTOCOLS
from pytest_factorfair.protocols.protocol import Protocol
from pytest_factorfair.protocols.schema import schemas

SAMPLING = Sampling("balanced", samples=3, objective=1, seed=0)

HELLO = """\
schema: factorfair.checklist/1
name: hello
title: Who is greeted
protocol: greetings
modality: text
sizes: {tall: {word: tall}, short: {word: short}}
greetings:
  morning: {text: Good morning}
  evening: {text: Good evening}
"""


class Line(Layout):
    text: str


class File(Opening):
    """factorfair checklist: greetings."""

    protocol: Literal["greetings"]
    sizes: dict[str, Group] = Field(min_length=2)
    greetings: dict[str, Line]


@dataclass(frozen=True, slots=True)
class Greetings(Checklist):
    lines: dict[str, str]


@dataclass(frozen=True, slots=True)
class Greeting(Case):
    line: str


def rules(file: File) -> Iterator[Problem]:
    for id_, line in file.greetings.items():
        if not line.text.startswith("Good"):
            yield Problem(("greetings", id_, "text"), "a greeting is good")


def build(file: File, truth: str) -> Greetings:
    return Greetings(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=(attribute("size", file.sizes),),
        digest=str(sorted(file.greetings)),
        lines={id_: each.text for id_, each in file.greetings.items()},
    )


def cases(checklist: Greetings, sampling: Sampling) -> tuple[Greeting, ...]:
    return tuple(
        Greeting(id_, checklist.name, "greeting", ("size",), sampling.samples, text)
        for id_, text in checklist.lines.items()
    )


def queries(checklist: Greetings, case: Greeting, sampling: Sampling) -> tuple[Query, ...]:
    del checklist
    drafts: list[Draft] = [(f"{case.line}!", (), {})] * case.samples
    return numbered(drafts, case=case, seed=sampling.seed)


def findings(root: Node, file: File) -> Iterator[Problem]:
    del root
    return (Problem(("greetings", id_), "is late") for id_ in file.greetings if id_ == "evening")


FILES = Files(
    layout=File.model_validate,
    rules=(rules,),
    truths=lambda _: ("true",),
    build=build,
    lint=findings,
    schema=lambda reference: File.model_json_schema(ref_template=reference),
)
GREETINGS = Protocol(
    name="greetings",
    checklist=Greetings,
    files=lambda: FILES,
    cases=cases,
    queries=queries,
    notices=lambda checklist, _: (f"{checklist.name} is short",),
)


@pytest.fixture(autouse=True)
def third(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(PROTOCOLS, GREETINGS.name, GREETINGS)
    (tmp_path / "hello.yaml").write_text(HELLO, encoding="utf-8")


def test_from_file_to_queries(tmp_path: Path) -> None:
    hello = protocols.load("hello.yaml", truth="true", base=tmp_path)
    assert hello.attribute("size").words == {"tall": "tall", "short": "short"}
    found = protocols.cases(hello, SAMPLING)
    assert [(case.id, case.samples, case.marks) for case in found] == [
        ("morning", 3, ("greeting", "size")),
        ("evening", 3, ("greeting", "size")),
    ]
    asked = protocols.queries(hello, found[1], SAMPLING)
    assert [(query.prompt, query.repeat) for query in asked] == [("Good evening!", n) for n in range(3)]
    assert protocols.notices(hello, SAMPLING) == ("hello is short",)


def test_overlays_and_style(tmp_path: Path) -> None:
    overlay = "extends: hello.yaml\nname: late\ngreetings:\n  night: {text: Good night}\n  morning: null\n"
    (tmp_path / "late.yaml").write_text(overlay, encoding="utf-8")
    late = protocols.load("late.yaml", truth="true", base=tmp_path)
    assert [case.id for case in protocols.cases(late, SAMPLING)] == ["evening", "night"]
    assert protocols.lint("hello.yaml", base=tmp_path) == ("hello.yaml:9: greetings.evening: is late",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Good morning", "Bad morning", "hello.yaml:8: greetings.morning.text: a greeting is good"),
        ("{text: Good m", "{txet: Good m", "hello.yaml:8: greetings.morning.txet: unknown key; did you mean 'text'?"),
        ("protocol: greetings", "protocol: greeting", "hello.yaml:4: protocol: unknown protocol 'greeting'; did you mean 'greetings'?"),
    ],
)  # fmt: skip
def test_wrong(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "hello.yaml").write_text(HELLO.replace(old, new), encoding="utf-8")
    with pytest.raises(ChecklistError) as caught:
        protocols.load("hello.yaml", truth="true", base=tmp_path)
    assert str(caught.value) == message


def test_unknown_truth(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'hello' has no truth set 'false'; it has: true"):
        protocols.load("hello.yaml", truth="false", base=tmp_path)


def test_its_files_have_a_schema() -> None:
    schema: Any = jsonschema.Draft202012Validator(schemas()["checklist.schema.json"])
    right, overlay = yaml.safe_load(HELLO), {"extends": "hello.yaml", "name": "late"}
    assert schema.is_valid(right)
    assert not schema.is_valid({**right, "greetings": {"night": {"txet": "Good night"}}})
    assert schema.is_valid({**overlay, "greetings": {"morning": None, "night": {"text": "Good night"}}})
    assert not schema.is_valid({**overlay, "greetings": {"night": {"txet": "Good night"}}})
    assert json.dumps(schema.schema).count("greetings.Checklist") == 2
