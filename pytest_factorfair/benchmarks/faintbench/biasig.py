"""A checklist from the published prompts of BiasIG, FAIntbench's successor, which are not shipped.

BiasIG asks about the same people with four races, and pictures each in 20 scenes: 47,040 prompts, which are
2,352 cases of 20 pictures here. The checklist extends ``faintbench``, whose names, figures and weights are
BiasIG's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from pytest_factorfair.benchmarks.asking import ImportedChecklist, Importer, ImportRequest
from pytest_factorfair.benchmarks.faintbench.cases import cases, prompts
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase
from pytest_factorfair.benchmarks.faintbench.layout import SECTIONS
from pytest_factorfair.benchmarks.faintbench.rules import FILES
from pytest_factorfair.checklist import loading
from pytest_factorfair.domain import Attribute, Sampling, plural
from pytest_factorfair.errors import ChecklistError, InputError

PUBLISHED = "3d8fe79aa1102dd591166121a9cdaa9cd1972dcc54d01cffd6dee5cce50f2457"
"""SHA-256 of the published prompts: of the lines of all files, in the order of their paths.

github.com/Astarojth/BiasIG, data/prompt/ at commit 96cd6b5.
"""

PROMPTS = 47_040

RACES: Mapping[str, tuple[str, float]] = MappingProxyType(
    {
        "white": ("White", 0.3),
        "east_asian": ("East Asian", 0.27),
        "black": ("Black", 0.18),
        "south_asian": ("South Asian", 0.25),
    }
)
"""The word of each race, and its share: the same of all people in data/truth/."""

WEIGHT = 0.2
"""The weight of each race in the manifestation factor, in benchmark/evaluate/eta.py."""

NAMED: Mapping[str, str] = MappingProxyType(
    {"boxer": "Boxer", "veterinarian": "Veterinarian", "ugly": "unattractive"}
)
"""People whom BiasIG's prompts call by another name than ``faintbench``."""

_LINE = re.compile(r'--prompt "([^"]*)"')


def read(request: ImportRequest) -> ImportedChecklist:
    """The overlay of ``faintbench`` with the races and scenes of the prompts below a folder.

    Raises:
        InputError: there are none, they differ from the published ones, or they are about other people.
    """
    path = request.within("data/prompt")
    published = _prompts(path, any_version=request.any_version)
    base = loading.load("faintbench", {"faintbench": lambda: FILES}, truth="audited", base=Path())
    if not isinstance(base, Faintbench):
        raise InputError("import: the shipped checklist 'faintbench' is damaged; install the package again")
    checklist = _with_our_races(base)
    sampling = Sampling("balanced", samples=1, objective=1, seed=0, prompts="all")
    asked: dict[PromptCase, list[str]] = {}
    lacking, respelled = [], 0
    for case in cases(checklist, sampling):
        identity = prompts(checklist, case)[0].partition(",")[0]
        lines = published.pop(_plain(identity), None)
        if lines is None:
            lacking.append(identity)
        else:
            asked[case] = [scene.strip() for _, _, scene in (line.partition(",") for line in lines)]
            respelled += sum(line.partition(",")[0] != identity for line in lines)
    if not asked:
        raise InputError(f"{path}: its prompts are not BiasIG's: none is about '{lacking[0]}'")
    # The base's races that BiasIG lacks are removed.
    races: dict[str, Any] = {group: None for group in base.attribute("race").groups if group not in RACES}
    for group, (word, share) in RACES.items():
        races[group] = {"word": word, "share": share, "weight": WEIGHT}
    content = {
        "schema": "factorfair.checklist/1",
        "extends": "faintbench",
        "name": request.name,
        "title": "BiasIG",
        "attributes": {"race": {"groups": races}},
        **_subjects(asked),
    }
    total, subjects = sum(map(len, asked.values())), len({case.subject for case in asked})
    scenes = max(map(len, asked.values()))
    notes = [
        f"{plural(total, 'prompt')}: {plural(len(asked), 'case')} about {plural(subjects, 'subject')}",
        (
            f"up to {plural(scenes, 'scene')} a case: ask for as many pictures, "
            f"--factorfair-samples=images={scenes}"
        ),
    ]
    for count, description in (
        (respelled, "spelled as in the checklist (capitals, hyphens, spaces)"),
        (len(lacking), f"of the checklist have no scenes here, such as '{lacking[0] if lacking else ''}'"),
        (
            len(published),
            f"of the files are about nobody in the checklist, such as '{next(iter(published), '')}'",
        ),
    ):
        if count:
            notes.append(f"{plural(count, 'prompt')} {description}")
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1_000)
    return ImportedChecklist({f"{request.stem}.yaml": text}, tuple(notes))


def _prompts(path: Path, *, any_version: bool) -> dict[str, list[str]]:
    """The prompts by the text before their first comma, in the order of the files."""
    files = sorted(path.rglob("*.txt")) if path.is_dir() else []
    by_identity: dict[str, list[str]] = {}
    digest = hashlib.sha256()
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: cannot be read as text: {error}") from None
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            match = _LINE.fullmatch(line.strip())
            if match is None or "," not in match[1]:
                problem = 'expected --prompt "who, how", as in the folder data/prompt of BiasIG'
                raise ChecklistError(file, number, "", problem)
            digest.update(f"{match[1]}\n".encode())
            by_identity.setdefault(_plain(match[1].partition(",")[0]), []).append(match[1])
    if not by_identity:
        raise InputError(f"{path}: expected the folder data/prompt of BiasIG, with *.txt files of prompts")
    if digest.hexdigest() != PUBLISHED and not any_version:
        count = sum(map(len, by_identity.values()))
        raise InputError(
            f"{path}: differs from the published version ({plural(count, 'prompt')}, published {PROMPTS:,}); "
            "--any-version imports it anyway"
        )
    return by_identity


def _plain(identity: str) -> str:
    """An identity in a uniform spelling, as that of the published files varies."""
    return " ".join(identity.replace("-", " ").split()).casefold()


def _with_our_races(base: Faintbench) -> Faintbench:
    """The checklist that results from the overlay, for its prompts."""
    words = {race: word for race, (word, _) in RACES.items()}
    race = Attribute("race", tuple(RACES), words, dict.fromkeys(RACES, ()))
    return replace(
        base,
        attributes=tuple(race if attribute.name == "race" else attribute for attribute in base.attributes),
        subjects=tuple(
            replace(subject, name=name, sides=(replace(subject.sides[0], noun=noun),))
            if (name := NAMED.get(subject.id))
            and (noun := name if subject.kind == "occupation" else subject.sides[0].noun)
            else subject
            for subject in base.subjects
        ),
    )


def _subjects(asked: Mapping[PromptCase, list[str]]) -> dict[str, dict[str, Any]]:
    """The realism of each subject by section, and that of requested groups where it differs."""
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS.values()}
    for case, scenes in asked.items():
        subject = sections[SECTIONS[case.kind]].setdefault(case.subject, {})
        if case.subject in NAMED:
            subject["noun" if case.kind == "occupation" else "adjective"] = NAMED[case.subject]
        if "realism" not in subject:
            subject["realism"] = scenes  # of the implicit prompt, which comes first
        elif scenes != subject["realism"]:
            subject.setdefault("requested", {})["-".join((*case.attributes, *case.requested))] = scenes
    return {section: subjects for section, subjects in sections.items() if subjects}


IMPORTERS: dict[str, Importer] = {"biasig": read}
