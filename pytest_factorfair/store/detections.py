"""Stored detections, so that no detector reads a picture twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, bindparam, select

from pytest_factorfair.domain import Detection, Face
from pytest_factorfair.domain.plain import Decoder, plain
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.durable.outage import Outage, read
from pytest_factorfair.store.pictures import Pictures
from pytest_factorfair.store.schema import DETECTIONS, PreparedStatement, upsert_all
from pytest_factorfair.store.writer import Writer

CHUNK = 500  # pictures per statement
DECODER = Decoder()

_FOUND = select(DETECTIONS.c.picture, DETECTIONS.c.body).where(
    DETECTIONS.c.detector == bindparam("detector"),
    DETECTIONS.c.picture.in_(bindparam("pictures", expanding=True)),
)


class Detections:
    """Detections by picture and detector. Failures to store them are ignored: they can be computed again.

    ``writable`` opens the database for writing on first use, because a replay opens it read-only.
    """

    def __init__(
        self,
        database: sqlalchemy.Engine,
        location: str,
        pictures: Pictures,
        outage: Outage,
        *,
        writable: Callable[[], sqlalchemy.Engine],
    ) -> None:
        self._database = database
        self._location = location
        self._pictures = pictures
        self._outage = outage
        self._open = writable
        self._written: sqlalchemy.Engine | None = None
        self._lane: Writer | None = None
        self._refused = False

    def found(self, detector: str, pictures: Iterable[str]) -> dict[str, Detection]:
        """A detector's stored detections of pictures, by file; damaged rows are left out.

        Raises:
            StoreError: the store cannot be read.
        """
        files = list(dict.fromkeys(pictures))

        def rows(connection: Connection) -> list[tuple[str, str]]:
            chunks = (files[start : start + CHUNK] for start in range(0, len(files), CHUNK))
            parameters = ({"detector": detector, "pictures": chunk} for chunk in chunks)
            return [
                (file, body)
                for chunk_parameters in parameters
                for file, body in connection.execute(_FOUND, chunk_parameters)
            ]

        detections = {}
        for file, body in read(self._outage, self._database, self._location, rows):
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                detections[file] = _detection(json.loads(body))
        return detections

    def keep(self, detector: str, detections: Mapping[str, Detection]) -> None:
        """Store a detector's detections, by file, except those of pictures that could not be read."""

        def insert(connection: Connection, batches: list[list[dict[str, str]]]) -> list[None]:
            statement = PreparedStatement(upsert_all(connection.dialect.name, DETECTIONS), connection.dialect)
            statement.execute(connection, [row for rows in batches for row in rows])
            return [None] * len(batches)

        rows = []
        for file, detection in detections.items():
            if not (detection.error or detection.unparsed):
                body: object = [_row(face) for face in detection.faces]
                if detection.sides is not None:
                    body = {"faces": body, "sides": [_row(face) for face in detection.sides]}
                rows.append({"detector": detector, "picture": file, "body": json.dumps(body, default=plain)})
        if self._lane is None and not self._refused:
            try:
                self._written = self._open()
            except StoreError:  # a read-only folder
                self._refused = True
            else:
                self._lane = Writer(self._written, self._location, lambda: self._pictures, self._outage)
        if rows and self._lane is not None:
            self._lane.do(insert, rows)

    def close(self) -> None:
        """Commit all detections; closing twice does nothing."""
        if self._lane is not None:
            self._lane.close()
        if self._written is not None:
            self._written.dispose()


def _row(face: Face) -> tuple[object, ...]:
    """The fields of a face; shares are left out if there are none."""
    row = face.groups, face.confidence, face.box
    return (*row, face.shares) if face.shares else row


def _detection(body: Any) -> Detection:
    """Build a detection from JSON: a list of faces, or an object with the faces and the sides."""
    if not isinstance(body, dict):
        return DECODER.value(Detection, [body])
    faces, sides = (DECODER.reader(tuple[Face, ...])(body[name]) for name in ("faces", "sides"))
    return Detection(faces, sides=sides)
