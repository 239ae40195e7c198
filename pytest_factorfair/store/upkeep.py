"""Looking into a store, and tidying it: what ``factorfair store`` does.

Pictures go with their rows: they are copied by a merge or an export, and deleted by a prune.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, case, delete, func, select, true
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.pictures import Picture, Pictures
from pytest_factorfair.store.rows import checked, from_body, plain
from pytest_factorfair.store.schema import RESPONSES, upsert
from pytest_factorfair.store.store import Store

CHUNK = 500
_USABLE = func.sum(case((RESPONSES.c.reusable, 1), else_=0))
_SQLITE = b"SQLite format 3\0"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Holding:
    """What a store has of one model: responses, how many of them a run may use, and their dates."""

    model: str
    responses: int
    usable: int
    first: str
    last: str


def listed(store: Store) -> list[Holding]:
    """What the store holds, model by model.

    Raises:
        StoreError: it cannot be read.
    """
    columns = (RESPONSES.c.model, func.count(), _USABLE)
    span = (func.min(RESPONSES.c.created), func.max(RESPONSES.c.created))
    query = select(*columns, *span).group_by(RESPONSES.c.model).order_by(RESPONSES.c.model)
    with _connection(store, "cannot be read") as connection:
        return [Holding(*row) for row in connection.execute(query)]


def merge(target: Store, source: Store) -> int:
    """Copy what the source has and the target lacks, and return how many; no usable response is replaced.

    Pictures come along; a response whose picture the source has lost is left behind.

    Raises:
        StoreError: one cannot be read, or the other not be written.
    """
    before = sum(one.responses for one in listed(target))
    manifest = _manifest(source)
    for some in _chunks(rows(source)):
        portrayed = [row for row in some if source.pictures.has(row["picture"])]
        there = target.responses(row["key"] for row in portrayed)
        lacking = [row for row in portrayed if row["key"] not in there]
        _copy_pictures(source, target.pictures, lacking, manifest)
        for copied, replace in (([row for row in some if not row["picture"]], False), (lacking, True)):
            if copied:
                with _connection(target, "cannot be written") as connection:
                    connection.execute(upsert(target.database.dialect.name, replace=replace), copied)
    return sum(one.responses for one in listed(target)) - before


def exported(store: Store, model: str | None) -> Iterator[dict[str, object]]:
    """The usable responses, of one model where it is named, as lines a ``replay:FILE`` takes.

    Raises:
        StoreError: it cannot be read.
    """
    for row in rows(store):
        if row["reusable"] and model in (None, row["model"]):
            response = from_body(row["body"], key=row["key"], place=store.place)
            counts = {"tokens_in": response.tokens_in, "tokens_out": response.tokens_out}
            yield {
                "prompt": json.loads(row["prompt"]),
                "text": response.text,
                "repeat": row["repeat"],
                **({"file": response.image_file} if response.image_file else {}),
                **{name: count for name, count in counts.items() if count is not None},
            }


def pictures(store: Store) -> Iterator[tuple[str, str, str]]:
    """Model, key and file of every usable picture, by key.

    Raises:
        StoreError: the store cannot be read.
    """
    for row in rows(store):
        if row["picture"] and row["reusable"]:
            yield row["model"], row["key"], row["picture"]


def export_pictures(store: Store, model: str | None, folder: Path) -> int:
    """Copy the pictures, of one model where it is named, into a folder ``images:`` takes. Returns how many.

    Raises:
        StoreError: the store cannot be read, or the folder not be written.
    """
    count, manifest = 0, _manifest(store)
    for some in _chunks(rows(store)):
        drawn = [row for row in some if store.pictures.has(row["picture"]) and model in (None, row["model"])]
        _copy_pictures(store, Pictures(folder), drawn, manifest)
        count += len(drawn)
    return count


def prune(
    store: Store, *, model: str | None, before: str | None, unusable: bool, keys: Sequence[str] = ()
) -> int:
    """Delete the responses that meet every condition given: model, date, unusable, keys.

    Their pictures go with them, unless a response of this store, or of another store beside the folder of
    pictures, needs them.

    Raises:
        StoreError: it cannot be written, or a store that may need the pictures cannot be read.
    """
    chosen: ColumnElement[bool] = true()
    if model is not None:
        chosen &= RESPONSES.c.model == plain(model)
    if before is not None:
        chosen &= RESPONSES.c.created < before
    if unusable:
        chosen &= RESPONSES.c.reusable.is_not(True)
    if keys:
        chosen &= RESPONSES.c.key.in_(keys)
    with _connection(store, "cannot be written") as connection:
        files = set(connection.execute(select(RESPONSES.c.picture).where(chosen)).scalars())
        count = connection.execute(delete(RESPONSES).where(chosen)).rowcount
    unneeded = {file for file in files if isinstance(file, str) and file} - _named(store)
    for path in sorted(store.pictures.folder.parent.glob("*")):
        if not path.is_file() or not _is_sqlite(path):
            continue
        try:
            neighbour = Store.open(f"sqlite:///{path}", read_only=True)
        except StoreError:  # another program's database
            continue
        with neighbour:
            unneeded -= _named(neighbour)
    store.pictures.delete(unneeded)
    return count


def rows(store: Store) -> Iterator[Row]:
    """All rows, by key, some at a time: a store may be larger than memory.

    Raises:
        StoreError: the store cannot be read, or a row is damaged.
    """
    last = ""
    while True:
        query = select(RESPONSES).where(RESPONSES.c.key > last).order_by(RESPONSES.c.key).limit(CHUNK)
        with _connection(store, "cannot be read") as connection:
            found = [checked(row, place=store.place) for row in connection.execute(query).mappings()]
        if not found:
            return
        yield from found
        last = found[-1]["key"]


def _manifest(store: Store) -> Mapping[str, Mapping[str, object]]:
    """The manifest's lines by the key of the response."""
    return {str(line.get("key")): line for line in store.pictures.manifest()}


def _copy_pictures(
    source: Store, folder: Pictures, rows: Iterable[Row], manifest: Mapping[str, Mapping[str, object]]
) -> None:
    """Copy the pictures of rows, and their lines of the manifest."""
    copied = []
    for row in rows:
        asked = {"key": row["key"], "model": row["model"], "repeat": row["repeat"]}
        line = manifest.get(row["key"]) or {**asked, "prompt": json.loads(row["prompt"])}
        file = row["picture"]
        copied.append(Picture(file, source.picture(file), {**line, "file": file}))
    try:
        folder.keep(copied)
    except OSError as error:
        raise StoreError(f"{folder.folder}: pictures cannot be written: {error}") from error


def _named(store: Store) -> set[str]:
    with _connection(store, "cannot be read") as connection:
        return set(connection.execute(select(RESPONSES.c.picture).distinct()).scalars())


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


@contextmanager
def _connection(store: Store, what: str) -> Iterator[sqlalchemy.Connection]:
    try:
        with store.database.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise explained(store.place, what, error) from error
