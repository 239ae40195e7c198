"""Existing pictures in a folder as a model: ``images:DIR``.

Without a manifest, the pictures of a case are ``DIR/<case id>/*.png`` (or jpg, jpeg, webp), sorted by name:
the first answers the first query, and so on. A manifest, ``DIR/manifest.jsonl``, has one JSON object per
line: the picture ``file`` (below DIR) answers ``prompt`` and ``repeat`` (default 0). The command
``factorfair store export --images`` writes one.
A missing picture is an error of its query only.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_factorfair.benchmarks import cases, queries
from pytest_factorfair.domain import Case, Checklist, Request, Response, Sampling, plural
from pytest_factorfair.errors import InputError, RejectedRequestError, nearest
from pytest_factorfair.models import arguments
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit

MANIFEST = "manifest.jsonl"
KINDS = (".png", ".jpg", ".jpeg", ".webp")
TAIL = 4096  # bytes at the end of a file that are hashed to distinguish pictures of the same name and size

Key = tuple[str, int]


def build(spec: ModelSpec) -> Model:
    """Build the model of a folder: all file names are validated, no picture is read.

    Raises:
        InputError: the folder is missing, its manifest is wrong, or a subfolder belongs to no case.
    """
    arguments.read(spec, arguments.Arguments)
    folder = Path(spec.target).expanduser()
    if not folder.is_dir():
        raise InputError(f"model '{spec.text}': '{spec.target}' is not a folder in {Path.cwd()}")
    manifest = folder / MANIFEST
    album = listed(manifest) if manifest.is_file() else by_case(folder, spec.checklists)
    return PictureFolder(spec.text, album)


class PictureFolder:
    """A folder of pictures as a model; asking it costs nothing."""

    parallel: int | None = 16
    price = FREE

    def __init__(self, name: str, album: PictureIndex) -> None:
        self._name = name
        self._picture_index = album
        self.endpoint = name
        self.identity: Mapping[str, object] = {
            "provider": "images",
            "pictures": _digest(album.pictures),
        }

    async def ask(self, request: Request) -> Response:
        """Read the picture that answers the request, unchanged."""
        path = self._picture_index.pictures.get((request.prompt, request.repeat))
        if path is None:
            raise RejectedRequestError(f"{self._name}: {self._picture_index.explain_missing(request)}")
        try:
            image = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise RejectedRequestError(f"{self._name}: '{path}' cannot be read: {error.strerror}") from None
        return Response("", cost=0.0, model=self._name, image=image)

    def surplus(self, asked: AbstractSet[Key]) -> str | None:
        """A warning about pictures that answer no query of the run; None if there are none."""
        pictures = self._picture_index.pictures
        unused = sorted(
            map(str, {*pictures.values()} - {path for key, path in pictures.items() if key in asked})
        )
        if not unused:
            return None
        return f"{self._name}: {len(unused):,} of its pictures are not used, such as {unused[0]}"

    async def close(self) -> None:
        """Do nothing: there is no open resource."""


def _digest(pictures: Mapping[Key, Path]) -> str:
    """A SHA-256 of requests and their pictures (name, size and last bytes, as whole files take too long)."""
    digest = hashlib.sha256()
    for (prompt, repeat), path in sorted(pictures.items()):
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            digest.update(json.dumps([prompt, repeat, path.name, size]).encode())
            digest.update(file.read())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class PictureIndex:
    """Pictures by prompt and repeat; ``folders`` are those in which a prompt's pictures are expected."""

    pictures: Mapping[Key, Path]
    folders: Mapping[str, Path]

    def explain_missing(self, request: Request) -> str:
        """Explain why a request has no picture, in the same words for every repeat of its prompt."""
        folder = self.folders.get(request.prompt)
        if folder is None:
            return "no picture is named for this prompt"
        number = sum(prompt == request.prompt for prompt, _ in self.pictures)
        return f"'{folder}' has {plural(number, 'picture')} for this prompt, and more are asked for"


def by_case(folder: Path, checklists: tuple[Checklist, ...]) -> PictureIndex:
    """Find the pictures in folders that are named after the cases of the checklists.

    Raises:
        InputError: a folder belongs to no case or contains files other than pictures, or there is no folder.
    """
    by_id: dict[str, tuple[Checklist, Case]] = {}
    for checklist in checklists:
        for case in cases(checklist, _sampling(1)):
            if case.id in by_id:
                raise InputError(
                    f"two checklists have a case '{case.id}': a folder of pictures is for one checklist"
                )
            by_id[case.id] = (checklist, case)
    paths_by_case = _held(folder, by_id)
    pictures: dict[Key, Path] = {}
    folders: dict[str, Path] = {}
    for id_, (checklist, case) in by_id.items():
        paths = paths_by_case.get(id_, [])
        samples = max(1, len(paths))
        for verbatim in (False, True):
            sampling = replace(_sampling(samples), verbatim=verbatim)
            for number, query in enumerate(queries(checklist, replace(case, samples=samples), sampling)):
                folders.setdefault(query.prompt, folder / id_)
                if number < len(paths):
                    pictures.setdefault((query.prompt, query.repeat), paths[number])
    return PictureIndex(pictures, folders)


def listed(manifest: Path) -> PictureIndex:
    """Read the pictures from a manifest; a later line replaces an earlier one with its prompt and repeat.

    Raises:
        InputError: a line is wrong, its file is missing, or the pictures come from more than one model.
    """
    try:
        lines = manifest.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{manifest}: cannot be read: {error}") from None
    entries = []
    for where, entry in arguments.json_lines(lines, manifest, '{"file": ..., "prompt": ...}'):
        _check(entry, where, manifest.parent)
        entries.append(entry)
    models = Counter(str(entry["model"]) for entry in entries if "model" in entry)
    if len(models) > 1:
        named = ", ".join(f"'{name}'" for name in sorted(models))
        raise InputError(f"{manifest}: pictures of several models: {named}; keep those of one")
    pictures = {
        (entry["prompt"], entry.get("repeat", 0)): manifest.parent / entry["file"] for entry in entries
    }
    if not pictures:
        raise InputError(
            f"{manifest}: it contains no pictures; write one JSON object with file and prompt per line"
        )
    return PictureIndex(pictures, {prompt: manifest for prompt, _ in pictures})


def _held(folder: Path, by_id: Mapping[str, object]) -> dict[str, list[Path]]:
    """The pictures of each case's folder; files and folders that begin with a dot are ignored.

    Folders of other cases are ignored if no case lacks its own.

    Raises:
        InputError: a folder belongs to no case though one lacks its own, or contains files other than
            pictures, or there is no folder.
    """
    paths_by_case: dict[str, list[Path]] = {}
    subfolders = [path for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] != "."]
    missing = by_id.keys() - {subfolder.name for subfolder in subfolders}
    for subfolder in subfolders:
        if subfolder.name not in by_id:
            if not missing:  # the checklist is narrower than the folder
                continue
            suggestion = nearest(subfolder.name, by_id, listing=False)
            raise InputError(f"'{subfolder}' does not belong to a case{suggestion}")
        paths_by_case[subfolder.name] = [
            path for path in sorted(subfolder.iterdir()) if not path.name.startswith(".")
        ]
        for path in paths_by_case[subfolder.name]:
            if path.suffix.lower() not in KINDS or not path.is_file():
                raise InputError(f"'{path}' is not a picture: expected {', '.join(KINDS)}")
    if not paths_by_case:
        example = next(iter(by_id), "CASE")
        raise InputError(f"'{folder}' has no folders of cases, such as '{example}', and no {MANIFEST}")
    return paths_by_case


def _sampling(images: int) -> Sampling:
    return Sampling("balanced", samples=images, objective=images, seed=0, images=images).of("image")


def _check(entry: Mapping[str, Any], where: str, folder: Path) -> None:
    """Raise InputError unless an entry of the manifest has the right fields, and its file exists."""
    for name in ("file", "prompt"):
        if not isinstance(entry.get(name), str):
            raise InputError(f"{where}: '{name}' must be a text")
    if type(entry.get("repeat", 0)) is not int or entry.get("repeat", 0) < 0:
        raise InputError(f"{where}: 'repeat' must be a whole number of at least 0")
    path = folder / entry["file"]
    try:
        inside, exists = path.resolve().is_relative_to(folder.resolve()), path.is_file()
    except (OSError, ValueError):  # the name is too long or invalid
        inside, exists = True, False
    if not inside:
        raise InputError(f"{where}: '{entry['file']}' lies outside the folder")
    if not exists:
        raise InputError(f"{where}: there is no file '{fit(entry['file'])}'")
