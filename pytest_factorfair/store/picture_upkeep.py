"""Pictures in the upkeep of stores: copied by a merge or an export, deleted by a prune."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.failure import explained
from pytest_factorfair.store.pictures import Picture, Pictures
from pytest_factorfair.store.schema import RESPONSES
from pytest_factorfair.store.store import Store

_SQLITE = b"SQLite format 3\0"

Row = dict[str, Any]
Lines = Mapping[str, Mapping[str, object]]


def lines(store: Store) -> Lines:
    """The manifest's lines by the key of the response."""
    return {str(line.get("key")): line for line in store.pictures.manifest()}


def lacking(target: Store, rows: list[Row]) -> list[Row]:
    """The rows the target has no usable response for.

    Raises:
        StoreError: it cannot be read.
    """
    there = target.responses(row["key"] for row in rows)
    return [row for row in rows if row["key"] not in there]


def copy(source: Store, folder: Pictures, rows: Iterable[Row], lines: Lines) -> None:
    """Copy the pictures of rows, and their lines of the manifest.

    Raises:
        StoreError: the folder cannot be written.
    """
    try:
        folder.keep(_picture(source, row, lines) for row in rows)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"{folder.folder}: pictures cannot be written: {error}") from error


def delete(store: Store, files: set[str]) -> None:
    """Delete pictures that no response names any more, in this store or in one that shares its folder.

    Raises:
        StoreError: a store cannot be read.
    """
    left = files - _named(store)
    for neighbour in _neighbours(store):
        with neighbour:
            left -= _named(neighbour)
    store.pictures.delete(left)


def _picture(source: Store, row: Row, lines: Lines) -> Picture:
    asked = {"key": row["key"], "model": row["model"], "repeat": row["repeat"]}
    line = lines.get(row["key"]) or {**asked, "prompt": json.loads(row["prompt"])}
    return Picture(row["picture"], source.picture(row["picture"]), {**line, "file": row["picture"]})


def _neighbours(store: Store) -> Iterator[Store]:
    """The stores that are files beside the folder of pictures."""
    for path in sorted(store.pictures.folder.parent.glob("*")):
        if path.is_file() and _begins(path, _SQLITE):
            with suppress(StoreError):  # another's database
                yield Store.open(f"sqlite:///{path}", read_only=True)


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _named(store: Store) -> set[str]:
    try:
        with store.database.connect() as connection:
            return set(connection.execute(select(RESPONSES.c.picture).distinct()).scalars())
    except SQLAlchemyError as error:
        raise explained(store.place, "cannot be read", error) from error
