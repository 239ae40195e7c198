"""A checklist file of historical scenes: layout, rules, lint, and the value it builds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_factorfair.benchmarks.dofair import checklist as values
from pytest_factorfair.benchmarks.dofair.checklist import Dofair
from pytest_factorfair.checklist import lists
from pytest_factorfair.checklist.fields import (
    ONE_OR_MORE,
    ChecklistHeader,
    Distinct,
    Group,
    Id,
    Layout,
    Line,
    Text,
    attribute,
    hashed,
)
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem, unknown
from pytest_factorfair.checklist.queries import placeholders
from pytest_factorfair.checklist.selection import Selection, Selectors
from pytest_factorfair.checklist.source import Node, Step

FEW_SCENES = 10
"""The number of scenes below which errors are unreliable."""

SCENES = "scenes"

Groups = Annotated[list[Id], Distinct, ONE_OR_MORE]


class Scene(Layout):
    """The people of a historical event."""

    id: Id
    attribute: Id = Field(description="The attribute of the groups below.")
    region: Id = Field(description="A section of the checklist, with scores of its own.")
    people: Line = Field(description="Who is pictured, as the prompt says it.")
    event: Line = Field(description="The event, as the prompt says it.")
    dominant: Groups = Field(default=[], description="The groups of most of them; left out if unknown.")
    involved: Groups = Field(min_length=1, description="All groups among them.")


class Attribute(Layout):
    """A way to divide people into groups, which a detector can perceive."""

    groups: dict[Id, Group] = Field(min_length=2)


class Checklist(ChecklistHeader):
    """factorfair checklist: pictures of people of historical events."""

    protocol: Literal["dofair"]
    modality: Literal["image"]
    prompts: dict[Id, Text] = Field(
        description="The template of prompts about each attribute, with {people} and {event}."
    )
    attributes: dict[Id, Attribute] = Field(min_length=1)
    scenes: list[Scene] = Field(min_length=1)


def templates(file: Checklist) -> Iterator[Problem]:
    """Attributes without a template, templates of no attribute, and wrong placeholders."""
    for name in file.prompts:
        yield from unknown(name, file.attributes, "attribute", ("prompts", name))
    for name in file.attributes:
        if name not in file.prompts:
            yield Problem(("prompts",), f"no prompt for attribute '{name}'")
        elif placeholders(file.prompts[name]) != {"people", "event"}:
            yield Problem(("prompts", name), "must contain {people} and {event}, and no other placeholder")


def names(file: Checklist) -> Iterator[Problem]:
    """Repeated ids, undeclared attributes and groups, and dominant groups that are not involved."""
    indices: dict[str, int] = {}
    for index, scene in enumerate(file.scenes):
        if indices.setdefault(scene.id, index) != index:
            text = f"'{scene.id}' is also the id of scene {indices[scene.id] + 1}"
            yield Problem((SCENES, index, "id"), text)
        yield from unknown(scene.attribute, file.attributes, "attribute", (SCENES, index, "attribute"))
        if scene.attribute not in file.attributes:
            continue
        declared = file.attributes[scene.attribute].groups
        for number, group in enumerate(scene.involved):
            yield from unknown(group, declared, "group", (SCENES, index, "involved", number))
        for number, group in enumerate(scene.dominant):
            if group not in scene.involved:
                text = f"'{group}' dominates but is not among the involved: {', '.join(scene.involved)}"
                yield Problem((SCENES, index, "dominant", number), text)


def texts(file: Checklist) -> Iterator[tuple[Step, ...]]:
    """The ways to the texts of prompts."""
    yield from (("prompts", name) for name in file.prompts)
    yield from ((SCENES, index, key) for index in range(len(file.scenes)) for key in ("people", "event"))


def findings(root: Node, file: Checklist) -> Iterator[Problem]:  # noqa: ARG001 - one signature
    """Findings of the linter in a valid checklist."""
    for name in file.attributes:
        count = sum(scene.attribute == name for scene in file.scenes)
        if count < FEW_SCENES:
            text = f"{count} scenes are about '{name}'; with so few, intervals are approximate"
            yield Problem((SCENES,), text)


def build(file: Checklist, truth: str) -> Dofair:
    """The checklist, the same under every truth set."""
    return Dofair(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=tuple(attribute(name, declared.groups) for name, declared in file.attributes.items()),
        digest=hashed(file.model_dump(mode="json", by_alias=True)),
        scenes=tuple(
            values.Scene(
                id=scene.id,
                attribute=scene.attribute,
                region=scene.region,
                people=scene.people,
                event=scene.event,
                dominant=tuple(scene.dominant),
                involved=tuple(scene.involved),
            )
            for scene in file.scenes
        ),
        prompts=dict(file.prompts),
    )


def schema(reference: str) -> dict[str, Any]:
    """The layout's JSON Schema."""
    return lists.schema(Checklist.model_json_schema(ref_template=reference), SCENES)


SELECTORS: Selectors = {
    "scenes": lists.by_key("The scenes to ask, by id.", SCENES, "id"),
    "attributes": lists.by_key("The attributes whose scenes are asked.", SCENES, "attribute"),
    "regions": lists.by_key("The regions whose scenes are asked.", SCENES, "region"),
}


def tiny(file: Checklist) -> Selection:
    """The first scenes of each attribute and region."""
    scenes = ((scene.id, (scene.attribute, scene.region)) for scene in file.scenes)
    return {SCENES: lists.first_of_strata(scenes)}


FILES: Files[Checklist, Dofair] = Files(
    layout=Checklist,
    rules=(templates, names),
    build=build,
    lint=findings,
    schema=schema,
    selectors=SELECTORS,
    tiny=tiny,
    texts=texts,
)
