"""Pictures made elsewhere: ``images:DIR``.

Without a manifest, ``DIR/<case id>/*.png`` (or jpg, jpeg, webp), by name, are the pictures of a case: the
first answers its first query, and so on. With ``DIR/manifest.jsonl``, one JSON object a line, ``file``
(below DIR) answers ``prompt`` and ``repeat`` (0), as ``factorfair store export --images`` writes it.
A picture that is not there is an error of its query alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, RejectedRequestError
from pytest_factorfair.models import arguments
from pytest_factorfair.models.albums import MANIFEST, Album, Key, by_case, listed
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec

TAIL = 4096  # bytes at the end of a picture that tell it from another of its name and size


def build(spec: ModelSpec) -> Model:
    """The model of a folder, all its names looked at and no picture read.

    Raises:
        InputError: there is no such folder, its manifest is wrong, or a folder in it is that of no case.
    """
    arguments.read(spec, arguments.Arguments)
    folder = Path(spec.target).expanduser()
    if not folder.is_dir():
        raise InputError(f"model '{spec.text}': '{spec.target}' is no folder in {Path.cwd()}")
    manifest = folder / MANIFEST
    album = listed(manifest) if manifest.is_file() else by_case(folder, spec.checklists)
    return Images(spec.text, album)


class Images:
    """A folder of pictures as a model; asking it costs nothing."""

    parallel: int | None = 16
    price = FREE

    def __init__(self, name: str, album: Album) -> None:
        self._name = name
        self._album = album
        self.endpoint = name
        self.identity: Mapping[str, object] = {
            "provider": "images",
            "pictures": _digest(album.pictures),
        }

    async def ask(self, request: Request) -> Response:
        """Read the picture, as it is."""
        path = self._album.pictures.get((request.prompt, request.repeat))
        if path is None:
            raise RejectedRequestError(f"{self._name}: {self._album.lacks(request)}")
        try:
            image = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise RejectedRequestError(f"{self._name}: '{path}' cannot be read: {error.strerror}") from None
        return Response("", cost=0.0, model=self._name, image=image)

    def surplus(self, asked: AbstractSet[Key]) -> str | None:
        """What is told of pictures that answer nothing a run asks; None where there are none."""
        left = sorted(str(path) for key, path in self._album.pictures.items() if key not in asked)
        if not left:
            return None
        return f"{self._name}: {len(left):,} of its pictures are not asked for, such as {left[0]}"

    async def close(self) -> None:
        """Nothing is open."""


def _digest(pictures: Mapping[Key, Path]) -> str:
    """A SHA-256 of which picture answers what, by sizes and ends: to read them whole would take long."""
    told = hashlib.sha256()
    for (prompt, repeat), path in sorted(pictures.items()):
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            told.update(json.dumps([prompt, repeat, path.name, size]).encode())
            told.update(file.read())
    return told.hexdigest()
