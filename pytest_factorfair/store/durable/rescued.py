"""Store the responses that earlier runs rescued."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy.engine import Engine
from sqlalchemy.exc import SQLAlchemyError

from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.pictures import Picture, Pictures
from pytest_factorfair.store.rows import checked
from pytest_factorfair.store.schema import RESPONSES, PreparedStatement, upsert

_CHUNK = 100  # responses at a time, because their pictures may be large


def take_up(files: Iterable[Path], database: Engine, pictures: Pictures, *, location: str) -> int:
    """Store the responses in files of ``Rescue``, remove the files, and return how many responses there were.

    Raises:
        StoreError: the store cannot be written, or a line of a file is damaged.
    """
    count = 0
    for path in files:
        with suppress(FileNotFoundError):  # another run was first
            lines = path.read_bytes().splitlines()
            for start in range(0, len(lines), _CHUNK):
                chunk = lines[start : start + _CHUNK]
                rows, images = _rescued(path, chunk, first_line=start + 1, location=location)
                try:
                    pictures.keep(images)
                    with database.begin() as connection:
                        dialect = connection.dialect
                        for replace, rows_alike in rows.items():
                            statement = upsert(dialect.name, replace=replace)
                            if rows_alike:
                                PreparedStatement(statement, dialect).execute(connection, rows_alike)
                except StoreError:
                    raise
                except (SQLAlchemyError, OSError) as error:
                    raise explained(location, "cannot be written", error) from error
            with suppress(OSError):
                path.resolve().unlink(missing_ok=True)  # the target of a link
            path.unlink(missing_ok=True)
            count += len(lines)
    return count


def _rescued(
    path: Path, lines: Iterable[bytes], *, first_line: int, location: str
) -> tuple[dict[bool, list[dict[str, Any]]], list[Picture]]:
    """The rows in lines of a file, by whether they replace stored responses, and their pictures.

    Raises:
        StoreError: a line is damaged.
    """
    images: list[Picture] = []
    rows: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for number, line in enumerate(lines, first_line):
        try:
            values = json.loads(line)
            row = checked({column.name: values[column.name] for column in RESPONSES.c}, location=location)
            if values["image"] is not None:
                image = base64.b64decode(values["image"], validate=True)
                manifest = {name: row[name] for name in ("key", "model", "repeat", "seed")}
                manifest |= {name: json.loads(row[name]) for name in ("prompt", "identity")}
                images.append(Picture(row["picture"], image, manifest))
            rows[values["replace"]].append(row)
        except (ValueError, TypeError, LookupError, StoreError):
            raise StoreError(
                f"{path}, line {number}: not a response that a run rescued; delete the line, and it is asked "
                "for again"
            ) from None
    return rows, images
