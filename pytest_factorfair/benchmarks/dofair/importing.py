"""A checklist from the published tables of DoFaiR, which are not shipped.

The tables list historical events with the groups that took part; the templates of prompts are constants of a
script, which is read and not run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import yaml

from pytest_factorfair.benchmarks.asking import ImportedChecklist, Importer, ImportRequest
from pytest_factorfair.benchmarks.published_files import Copies, Copy, Releases, Row, slug
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import ChecklistError, InputError

TABLES: Releases = {
    "output/events_year_culture_gender_roles_factchecked_processed_dedup_26perculture_balanced_imggen.csv": (
        "42903c6c2c16cd66a353f8e28f0790c99ace40f1"
    ),
    "output/events_year_culture_race_roles_factchecked_processed_dedup_100perculture_imggen.csv": (
        "9eee53085a61f38eb879d0d1575a5d1e9004d804"
    ),
    "constants.py": "fa3db310f29d45efa8841af512d8c31ef2f24c1b",
}
"""github.com/elainew728/factuality-tax-t2i at commit fc4c0f7."""

GENDERS = {"male": "male", "female": "female"}

RACES = {
    "White": "white",
    "Black": "black",
    "Indian": "indian",
    "East Asian": "east_asian",
    "Southeast Asian": "southeast_asian",
    "Middle Eastern": "middle_eastern",
    "Latino": "latino_hispanic",
}
"""Groups by their names in the table; their ids are the classes of detectors."""

GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType({"gender": GENDERS, "race": RACES})

PROMPT = "IMAGE_GENERATION_PROMPT"
SUFFIXES = {"diverse": "{}_DIVERSITY_PROMPT", "diverse2": "{}_DIVERSITY_PROMPT_2"}
"""The constants with the texts that ask for diversity, by the suffix of the checklist's name."""


def read(request: ImportRequest) -> ImportedChecklist:
    """The checklist of both tables in a folder, and two that extend it by a text that asks for diversity.

    Raises:
        InputError: there are none, they differ from the published ones, or a row cannot be read.
    """
    scenes: list[dict[str, Any]] = []
    constants: Copy | None = None
    name, stem = request.name, request.stem
    copies = Copies(request, TABLES, needed=["constants.py"])
    for copy in copies:
        if copy.name == "constants.py":
            constants = copy
        else:
            scenes += _scenes(copy)
    if constants is None or not scenes:
        missing = "constants.py, which has the prompts" if scenes else "the tables in output/"
        raise InputError(f"{request.path}: lacks {missing}; give the folder of the authors' repository")
    attributes = {attribute: GROUPS[attribute] for attribute in dict.fromkeys(_column(scenes, "attribute"))}
    prompts = _prompts(constants, tuple(attributes))
    head = {
        "schema": "factorfair.checklist/1",
        "name": name,
        "title": "DoFaiR (Wan et al. 2024)",
        "protocol": "dofair",
        "modality": "image",
        "prompts": prompts[""],
        "attributes": {
            attribute: {"groups": {group: {"word": group.replace("_", " ")} for group in groups.values()}}
            for attribute, groups in attributes.items()
        },
        "scenes": f"{stem}.jsonl",
    }
    files = {
        f"{stem}.yaml": _yaml(head),
        f"{stem}.jsonl": "".join(f"{json.dumps(scene, ensure_ascii=False)}\n" for scene in scenes),
    }
    for number, suffix in enumerate(SUFFIXES, start=1):
        title = f"{head['title']}, diversity prompt {number}"
        diverse = {"extends": f"{stem}.yaml", "name": f"{name}_{suffix}", "title": title}
        files[f"{stem}_{suffix}.yaml"] = _yaml({**diverse, "prompts": prompts[suffix]})
    return ImportedChecklist(files, (*copies.notes, *_notes(scenes)))


def _column(scenes: list[dict[str, Any]], key: str) -> list[Any]:
    return [scene[key] for scene in scenes]


def _scenes(copy: Copy) -> list[dict[str, Any]]:
    """The scenes of a table, which names its attribute in its columns."""
    attribute = "gender" if "_gender_" in copy.name else "race"
    lists = f"dominant_{attribute}_list", f"existence_{attribute}_list"
    return [_scene(row, attribute, *lists) for row in copy.rows(("culture", "event_name", "group", *lists))]


def _scene(row: Row, attribute: str, dominating: str, existing: str) -> dict[str, Any]:
    """One scene. If all of several races took part, it says nothing about who dominated."""
    dominant, involved = (_groups(row, key, GROUPS[attribute]) for key in (dominating, existing))
    people, event = row.text("group"), row.text("event_name")
    if attribute == "race" and len(involved) == len(RACES):
        dominant = []
    scene = {
        "id": slug(f"{attribute} {people} {event}"),
        "attribute": attribute,
        "region": row.id("culture"),
        "people": people,
        "event": event,
        "dominant": dominant,
        "involved": involved,
    }
    return {key: value for key, value in scene.items() if value}


def _groups(row: Row, key: str, ids: Mapping[str, str]) -> list[str]:
    """The ids of the groups in a row's list.

    Raises:
        ChecklistError: a group is unknown.
    """
    names = row.texts(key)
    for name in names:
        if name not in ids:
            raise row.error(f"unknown {key} '{name}'; expected {', '.join(ids)}")
    return [ids[name] for name in names]


def _prompts(copy: Copy, attributes: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The templates of prompts by attribute, for the plain checklist and for each suffix.

    The authors put a suffix in place of the full stop, and the people in place of its braces.

    Raises:
        ChecklistError: a constant is missing or has another form.
    """
    try:
        assignments = [node for node in ast.parse(copy.text()).body if isinstance(node, ast.Assign)]
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ChecklistError(copy.file, None, "", "is not valid Python") from None
    texts = {
        target.id: node.value.value
        for node in assignments
        for target in node.targets
        if isinstance(target, ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }

    def text(constant: str, *placeholders: str, least: int = 0) -> str:
        filled = texts.get(constant, "")
        if not (filled and least <= filled.count("{}") <= len(placeholders)):
            problem = f"lacks {constant}, or its braces; this is another version of the file"
            raise ChecklistError(copy.file, None, "", problem)
        for placeholder in placeholders:
            filled = filled.replace("{}", placeholder, 1)
        return filled

    plain = text(PROMPT, "{people}", "{event}", least=2)
    prompts = {"": dict.fromkeys(attributes, plain)}
    for suffix, constant in SUFFIXES.items():
        prompts[suffix] = {
            attribute: plain.removesuffix(".") + text(constant.format(attribute.upper()), "{people}")
            for attribute in attributes
        }
    return prompts


def _notes(scenes: list[dict[str, Any]]) -> list[str]:
    attributes = _column(scenes, "attribute")
    counted = [f"{attributes.count(name)} about {name}" for name in dict.fromkeys(attributes)]
    regions = len(set(_column(scenes, "region")))
    notes = [f"{plural(len(scenes), 'prompt')} of {plural(regions, 'region')}: {', '.join(counted)}"]
    unranked = sum(len(scene.get("dominant", ())) in (0, len(GROUPS[scene["attribute"]])) for scene in scenes)
    if unranked:
        notes.append(f"{plural(unranked, 'prompt')} in which no group dominates others: no dominant accuracy")
    return [*notes, "no licence file; a language model labelled the truth from retrieved documents"]


def _yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000)


IMPORTERS: Mapping[str, Importer] = MappingProxyType({"dofair": read})
