"""Which picture of a folder answers which request: by the folder of its case, or by a manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_factorfair.checklist import cases, queries
from pytest_factorfair.domain import Case, Checklist, Query, Request, Sampling, plural
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.redaction import fit

MANIFEST = "manifest.jsonl"
KINDS = (".png", ".jpg", ".jpeg", ".webp")

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Album:
    """Pictures by prompt and repeat; ``places`` is where those of a prompt are looked for."""

    pictures: Mapping[Key, Path]
    places: Mapping[str, Path]

    def lacks(self, request: Request) -> str:
        """What is missing, in words."""
        place = self.places.get(request.prompt)
        if place is None:
            return "no picture is named for this prompt"
        number = sum(prompt == request.prompt for prompt, _ in self.pictures)
        have = f"{plural(number, 'picture')} for this prompt"
        return f"'{place}' has {have}, and not number {request.repeat + 1}"


def by_case(folder: Path, checklists: tuple[Checklist, ...]) -> Album:
    """The pictures in folders named after the cases of the checklists.

    Raises:
        InputError: a folder is that of no case, or holds what is no picture; none is that of a case.
    """
    known = _cases(checklists)
    held = {place.name: _pictures(place) for place in _folders(folder, known)}
    pictures: dict[Key, Path] = {}
    places: dict[str, Path] = {}
    for id_, (checklist, case) in known.items():
        paths = held.get(id_, [])
        for number, query in enumerate(_queries(checklist, case, number=max(1, len(paths)))):
            places.setdefault(query.prompt, folder / id_)
            if number < len(paths):
                pictures.setdefault((query.prompt, query.repeat), paths[number])
    return Album(pictures, places)


def listed(manifest: Path) -> Album:
    """The pictures a manifest names; of two for the same prompt and repeat the later one.

    Raises:
        InputError: a line is wrong, its file is not there, or they are of more than one model.
    """
    entries = list(_lines(manifest))
    models = Counter(str(entry["model"]) for entry in entries if "model" in entry)
    if len(models) > 1:
        named = ", ".join(f"'{name}'" for name in sorted(models))
        raise InputError(f"{manifest}: pictures of several models: {named}; keep those of one")
    pictures = {
        (entry["prompt"], entry.get("repeat", 0)): manifest.parent / entry["file"] for entry in entries
    }
    if not pictures:
        raise InputError(f"{manifest}: no pictures in it; write one JSON object with file and prompt a line")
    return Album(pictures, {prompt: manifest for prompt, _ in pictures})


def _cases(checklists: tuple[Checklist, ...]) -> dict[str, tuple[Checklist, Case]]:
    found: dict[str, tuple[Checklist, Case]] = {}
    for checklist in checklists:
        for case in cases(checklist, _sampling(1)):
            if case.id in found:
                raise InputError(
                    f"two checklists have a case '{case.id}': folders of pictures are for one at a time"
                )
            found[case.id] = (checklist, case)
    return found


def _folders(folder: Path, known: Mapping[str, object]) -> list[Path]:
    """The folders of cases.

    Raises:
        InputError: one is that of no case, or there is none.
    """
    places = [
        place for place in sorted(folder.iterdir()) if place.is_dir() and not place.name.startswith(".")
    ]
    for place in places:
        if place.name not in known:
            near = nearest(place.name, known)
            hint = near if near.startswith("; did") else ""
            raise InputError(f"'{place}' is the folder of no case{hint}")
    if not places:
        example = next(iter(known), "CASE")
        raise InputError(f"'{folder}' holds no folders of cases, such as '{example}', and no {MANIFEST}")
    return places


def _pictures(place: Path) -> list[Path]:
    paths = [path for path in sorted(place.iterdir()) if not path.name.startswith(".")]
    for path in paths:
        if path.suffix.lower() not in KINDS or not path.is_file():
            raise InputError(f"'{path}' is no picture: {', '.join(KINDS)} are read")
    return paths


def _queries(checklist: Checklist, case: Case, *, number: int) -> tuple[Query, ...]:
    return queries(checklist, replace(case, samples=number), _sampling(number))


def _sampling(images: int) -> Sampling:
    return Sampling("balanced", samples=images, objective=images, seed=0, images=images).of("image")


def _lines(manifest: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = manifest.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{manifest}: cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _entry(line, f"{manifest}:{number}", manifest.parent)


def _entry(line: str, where: str, folder: Path) -> dict[str, Any]:
    """The object of a line, if it has what it needs and its file is there."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict):
        raise InputError(f'{where}: not a JSON object; write {{"file": ..., "prompt": ...}}')
    for name in ("file", "prompt"):
        if not isinstance(entry.get(name), str):
            raise InputError(f"{where}: '{name}' must be a text")
    if type(entry.get("repeat", 0)) is not int or entry.get("repeat", 0) < 0:
        raise InputError(f"{where}: 'repeat' must be a whole number of at least 0")
    path = folder / entry["file"]
    try:
        inside, there = path.resolve().is_relative_to(folder.resolve()), path.is_file()
    except (OSError, ValueError):  # too long a name, or letters that no name has
        inside, there = True, False
    if not inside:
        raise InputError(f"{where}: '{entry['file']}' lies outside the folder")
    if not there:
        raise InputError(f"{where}: there is no file '{fit(entry['file'])}'")
    return entry
