"""Inspect, prune and merge stores, for ``factorfair store`` and ``factorfair merge``.

A merge or an export also copies the rows' pictures, and a prune deletes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, tee
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, Table, case, delete, func, select, true, tuple_
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.errors import LostPictureError, StoreError
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.pictures import Folder, Pictures
from pytest_factorfair.store.rows import checked, from_body, plain
from pytest_factorfair.store.schema import DETECTIONS, RESPONSES, PreparedStatement, upsert, upsert_all
from pytest_factorfair.store.store import Store

CHUNK = 500
_USABLE = func.sum(case((RESPONSES.c.reusable, 1), else_=0))
_SQLITE = b"SQLite format 3\0"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelResponses:
    """A summary of a model's responses in a store: their number, how many are usable, and their dates."""

    model: str
    responses: int
    usable: int
    earliest: str
    latest: str


def listed(store: Store) -> list[ModelResponses]:
    """Summarise the contents of a store by model.

    Raises:
        StoreError: the store cannot be read.
    """
    columns = (RESPONSES.c.model, func.count(), _USABLE)
    span = (func.min(RESPONSES.c.created), func.max(RESPONSES.c.created))
    query = select(*columns, *span).group_by(RESPONSES.c.model).order_by(RESPONSES.c.model)
    with _connection(store, "cannot be read") as connection:
        return [ModelResponses(*row) for row in connection.execute(query)]


def merge(target: Store, source: Store) -> int:
    """Copy the responses that the target lacks, and return their number; usable responses are not replaced.

    Pictures and detections are copied, too; a response whose picture is lost is not. Rows are copied in
    chunks, to save memory. A merge that was interrupted can be repeated to continue it.

    Raises:
        StoreError: the source cannot be read, or the target cannot be written.
    """
    dialect, copied = target.database.dialect, 0
    write = PreparedStatement(upsert(dialect.name, replace=True), dialect)
    for chunk in _chunks(rows(source)):
        unneeded = _unneeded(target, chunk)
        lacking = _whole(source, [row for row in chunk if row["key"] not in unneeded])
        _copy_pictures(source, target.pictures, lacking, link=True)
        if lacking:
            with _connection(target, "cannot be written") as connection:
                write.execute(connection, lacking)
        copied += len(lacking)
    detected = PreparedStatement(upsert_all(dialect.name, DETECTIONS), dialect)
    for readings in _chunks(_all(source, DETECTIONS)):
        with _connection(target, "cannot be written") as connection:
            detected.execute(connection, readings)
    return copied


def verify(store: Store, *, delete: bool) -> Iterator[str]:
    """Read every picture, and yield a line for each that is missing or damaged.

    With ``delete``, damaged pictures are deleted, so that the next run asks for them again.

    Raises:
        StoreError: the store or a picture cannot be read, or a page of the store is damaged.
    """
    store.verify()
    for_reading, named = tee(file for _, _, file in pictures(store))
    for file, image in zip(named, store.pictures.reading(for_reading), strict=True):
        try:
            image.result()
        except LostPictureError as error:
            if delete:
                store.pictures.delete([file])
            yield str(error)


def exported(store: Store, model: str | None) -> Iterator[dict[str, object]]:
    """The usable responses, of one model or all, as lines for ``replay:FILE``.

    Raises:
        StoreError: the store cannot be read.
    """
    for row in rows(store):
        if row["reusable"] and model in (None, row["model"]):
            response = from_body(row["body"], key=row["key"], location=store.location)
            counts = {"tokens_in": response.tokens_in, "tokens_out": response.tokens_out}
            finish = {} if response.finish == "stop" else {"finish": response.finish}
            yield {
                "prompt": json.loads(row["prompt"]),
                "text": response.text,
                "repeat": row["repeat"],
                **({"file": response.image_file} if response.image_file else {}),
                **{name: count for name, count in counts.items() if count is not None},
                **finish,
                **({"logit_noise": response.noise} if response.noise else {}),
            }


def pictures(store: Store) -> Iterator[tuple[str, str, str]]:
    """Yield model, key and file of every usable picture, in the order of keys.

    Raises:
        StoreError: the store cannot be read.
    """
    for row in rows(store):
        if row["picture"] and row["reusable"]:
            yield row["model"], row["key"], row["picture"]


def export_pictures(store: Store, model: str | None, folder: Path) -> int:
    """Copy the pictures, of one model or all, to a folder for ``images:``; return their number.

    Raises:
        StoreError: the store cannot be read, or the folder cannot be written.
    """
    count = 0
    for chunk in _chunks(rows(store)):
        drawn = _whole(store, [row for row in chunk if row["picture"] and model in (None, row["model"])])
        _copy_pictures(store, Folder(folder), drawn, link=False)
        count += len(drawn)
    return count


def prune(
    store: Store,
    *,
    model: str | None,
    before: str | None,
    unusable: bool,
    keys: Sequence[str] = (),
    pictures: bool = True,
) -> int:
    """Delete the responses that meet all given conditions (model, date, unusable, keys); return their number.

    With ``pictures``, their pictures are deleted, too, unless they are needed by another response in this
    store or in a store next to the folder of pictures. Other stores that use a shared storage are unknown.

    Raises:
        StoreError: the store cannot be written, or a store that may need the pictures cannot be read.
    """
    condition: ColumnElement[bool] = true()
    if model is not None:
        condition &= RESPONSES.c.model == plain(model)
    if before is not None:
        condition &= RESPONSES.c.created < before
    if unusable:
        condition &= RESPONSES.c.reusable.is_not(True)
    if keys:
        condition &= RESPONSES.c.key.in_(keys)
    with _connection(store, "cannot be written") as connection:
        files = set(connection.execute(select(RESPONSES.c.picture).where(condition)).scalars())
        count = connection.execute(delete(RESPONSES).where(condition)).rowcount
    unneeded = {file for file in files if isinstance(file, str) and file} - _named(store)
    if not pictures:
        return count
    neighbours = () if store.pictures.shared else Path(store.pictures.location).parent.glob("*")
    for path in sorted(neighbours):
        if not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
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
    """Yield all responses in the order of keys, read in chunks because a store may be larger than memory.

    Raises:
        StoreError: the store cannot be read, or a row is damaged.
    """
    for row in _all(store, RESPONSES):
        yield checked(row, location=store.location)


def _all(store: Store, table: Table) -> Iterator[Row]:
    """Yield the rows of a table in the order of its primary key."""
    key = list(table.primary_key)
    query = select(table).order_by(*key).limit(CHUNK)
    last: tuple[Any, ...] | None = None
    while True:
        following = query if last is None else query.where(tuple_(*key) > tuple_(*last))
        with _connection(store, "cannot be read") as connection:
            page = [dict(row) for row in connection.execute(following).mappings()]
        if not page:
            return
        yield from page
        last = tuple(page[-1][column.name] for column in key)


def _whole(store: Store, rows: Sequence[Row]) -> list[Row]:
    """Select the rows without a lost picture."""
    lost = store.pictures.lost((row["picture"], row["picture_size"]) for row in rows)
    return [row for row in rows if (row["picture"], row["picture_size"]) not in lost]


def _unneeded(target: Store, rows: Sequence[Row]) -> set[str]:
    """The keys of rows that need not be copied, as the target's are usable or no less usable."""
    usable = {row["key"]: row["reusable"] for row in rows}
    query = select(RESPONSES.c.key, RESPONSES.c.reusable, RESPONSES.c.picture, RESPONSES.c.picture_size)
    with _connection(target, "cannot be read") as connection:
        stored_rows = connection.execute(query.where(RESPONSES.c.key.in_(usable))).all()
    sufficient = [row for row in stored_rows if row.reusable or not usable[row.key]]
    lost = target.pictures.lost((row.picture, row.picture_size) for row in sufficient)
    return {row.key for row in sufficient if (row.picture, row.picture_size) not in lost}


def _copy_pictures(source: Store, target: Pictures, rows: Iterable[Row], *, link: bool) -> None:
    """Copy the pictures of rows, with their lines of the manifest."""
    lines = [
        {
            "file": row["picture"],
            "time": row["created"],
            **{name: row[name] for name in ("key", "model", "repeat", "seed")},
            **{name: json.loads(row[name]) for name in ("prompt", "identity")},
        }
        for row in rows
        if row["picture"]
    ]
    if source.pictures.location == target.location:
        return
    try:
        target.adopt(source.pictures, lines, link=link)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"{target.location}: pictures cannot be written: {error}") from error


def _named(store: Store) -> set[str]:
    with _connection(store, "cannot be read") as connection:
        return set(connection.execute(select(RESPONSES.c.picture).distinct()).scalars())


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    remaining_rows = iter(rows)
    while chunk := list(islice(remaining_rows, CHUNK)):
        yield chunk


@contextmanager
def _connection(store: Store, failure: str) -> Iterator[sqlalchemy.Connection]:
    try:
        with store.database.begin() as connection:
            yield connection
    except SQLAlchemyError as error:
        raise explained(store.location, failure, error) from error
