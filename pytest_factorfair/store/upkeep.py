"""Looking into a store, and tidying it: what ``factorfair store`` does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import ColumnElement, case, delete, func, select, true
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.store import picture_upkeep
from pytest_factorfair.store.failure import explained
from pytest_factorfair.store.pictures import Pictures
from pytest_factorfair.store.rows import checked, from_body, plain
from pytest_factorfair.store.schema import RESPONSES, upsert
from pytest_factorfair.store.store import Store

CHUNK = 500
_USABLE = func.sum(case((RESPONSES.c.reusable, 1), else_=0))


@dataclass(frozen=True, slots=True)
class Holding:
    """What a store has of one model: responses, those of them a run may use, and from when they are."""

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
    """Copy what the source has and the target lacks; a usable response never gives way. Returns how many.

    Pictures come along; a response whose picture the source has lost is left behind.

    Raises:
        StoreError: one cannot be read, or the other not be written.
    """
    before = sum(one.responses for one in listed(target))
    lines = picture_upkeep.lines(source)
    for some in _chunks(rows(source)):
        drawn = picture_upkeep.lacking(target, [row for row in some if source.pictures.has(row["picture"])])
        picture_upkeep.copy(source, target.pictures, drawn, lines)
        for copied, replace in (([row for row in some if not row["picture"]], False), (drawn, True)):
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
    count, lines = 0, picture_upkeep.lines(store)
    for some in _chunks(rows(store)):
        drawn = [row for row in some if store.pictures.has(row["picture"]) and model in (None, row["model"])]
        picture_upkeep.copy(store, Pictures(folder), drawn, lines)
        count += len(drawn)
    return count


def prune(
    store: Store, *, model: str | None, before: str | None, unusable: bool, keys: Sequence[str] = ()
) -> int:
    """Delete the responses that meet every condition given: model, date, unusable, keys.

    Their pictures go with them, unless another response needs them.

    Raises:
        StoreError: it cannot be written.
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
    picture_upkeep.delete(store, {file for file in files if isinstance(file, str) and file})
    return count


def rows(store: Store) -> Iterator[dict[str, Any]]:
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


def _chunks(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
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
