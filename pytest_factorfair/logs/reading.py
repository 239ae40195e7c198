"""Files of other tools, read piece by piece: nothing in them is executed, and no link in them is followed."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader, BytesIO, RawIOBase, TextIOWrapper
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, Literal, NamedTuple, NoReturn

from pytest_factorfair.errors import InputError
from pytest_factorfair.redaction import fit

Shape = Literal["lines", "array", "document", "table", "archive"]

LONGEST = 16 * 2**20
"""Bytes of a line; one that is longer contains more than text."""

HEAD = 2**16
"""Bytes read from the beginning of a file to recognize its shape."""

FIRST_KEYS = 2**18
"""Bytes read from the beginning of a JSON document for the keys that identify its format."""

GZIP = b"\x1f\x8b"
"""What a compressed file begins with."""

_UNREADABLE: Mapping[bytes, str] = {
    GZIP: "is compressed (gzip) twice: unpack it first",
    b"\x28\xb5\x2f\xfd": "is compressed (zstd): unpack it first",
    b"BZh": "is compressed (bzip2): unpack it first",
    b"\xfd7zXZ": "is compressed (xz): unpack it first",
    b"7z\xbc\xaf": "is compressed (7z): unpack it first",
    b"-----BEGIN PGP": "is encrypted: decrypt it first",
    b"age-encryption.org": "is encrypted: decrypt it first",
    b"Salted__": "is encrypted: decrypt it first",
    b"SQLite format 3": "is a database: export the replies as JSON lines or CSV",
    b"PAR1": "is a Parquet file: export it as JSON lines or CSV",
    b"\x89PNG": "is a picture",
    b"\xff\xd8\xff": "is a picture",
    b"GIF8": "is a picture",
    b"RIFF": "is a picture",
    b"%PDF": "is a PDF document",
    b"\x80\x04\x95": "is a pickle, which could run any code: export the replies as JSON lines or CSV",
    b"\x80\x05\x95": "is a pickle, which could run any code: export the replies as JSON lines or CSV",
}
"""What files begin with that contain no text, and what to do about them."""


class Entry(NamedTuple):
    """An object of a file, with its place: ``file:line``, or ``file: entry number``.

    ``offset`` is where a line begins, in bytes.
    """

    where: str
    fields: dict[str, Any]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file of JSON objects, one a line or in an array, a single JSON document, a table, or an archive.

    ``first`` is the first object of lines, an array or a table. Of a document it has the first keys alone.
    """

    path: Path
    shape: Shape
    first: Mapping[str, Any]

    @classmethod
    def of(cls, path: Path) -> Source:
        """Tell the shape of a file by its beginning.

        Raises:
            InputError: it cannot be read, or contains no text.
        """
        with opened(path) as file:
            head = file.read(HEAD)
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # the latter is empty
            return cls(path, "archive", {})
        _check_text(path, head)
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not text:
            raise InputError(
                f"{path}: it contains no answers; write one JSON object with prompt and text per line"
            )
        if text.startswith(b"["):
            first_element = next(elements(path, "item"), None)
            if first_element is None:
                raise InputError(f"{path}: it contains no answers: its array has no objects")
            return cls(path, "array", first_element.fields)
        if not text.startswith(b"{"):
            first_row = next(rows(path), None)
            if first_row is None:
                raise InputError(f"{path}: it contains no answers: it is neither JSON nor a table with rows")
            return cls(path, "table", first_row.fields)
        try:
            return cls(path, "lines", next(lines(path)).fields)
        except InputError:
            if keys := _first_keys(path):
                return cls(path, "document", keys)
            raise

    def entries(self) -> Iterator[Entry]:
        """The objects of lines, an array or a table.

        Raises:
            InputError: the file is damaged; the message begins with its place.
        """
        if self.shape == "table":
            return rows(self.path)
        return lines(self.path) if self.shape == "lines" else elements(self.path, "item")


def _check_text(path: Path, head: bytes) -> None:
    """Check that a file is text, by its beginning.

    Raises:
        InputError: it is something else.
    """
    for beginning, problem in _UNREADABLE.items():
        if head.startswith(beginning):
            raise InputError(f"{path}: {problem}")
    if b"\0" in head:
        raise InputError(f"{path}: is not text")


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK = 2**20


class _Unzipped(RawIOBase):
    """The content of a compressed file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = gzip.open(path)  # noqa: SIM115 - closed with this one

    def readinto(self, buffer: Any) -> int:
        """Read decompressed bytes.

        Raises:
            InputError: the file is damaged.
        """
        try:
            return self._file.readinto(buffer)
        except (EOFError, OSError, zlib.error):
            raise InputError(
                f"{self._path}: the compressed file is damaged, or a part of it is missing"
            ) from None

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place in the decompressed content."""
        return self._file.seek(offset, whence)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is, by reading anew from the beginning."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _stored(path: Path) -> BufferedReader:
    """Open a file as it is stored.

    Raises:
        InputError: it cannot be read, or only once, as a pipe.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"'{path}' cannot be read: it is not a regular file")
        return path.open("rb")
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from None


def is_compressed(path: Path) -> bool:
    """Whether a file is read through decompression.

    Raises:
        InputError: it cannot be read.
    """
    with _stored(path) as file:
        return file.read(len(GZIP)) == GZIP


def opened(path: Path) -> BinaryIO:
    """Open a file for reading at any place; one that is compressed, or text in UTF-16, as if it were not.

    Raises:
        InputError: it cannot be read.
    """
    file: BinaryIO = BufferedReader(_Unzipped(path)) if is_compressed(path) else _stored(path)
    beginning = file.read(2)
    file.seek(0)
    if beginning not in _UTF_16:
        return file
    with file:
        return _as_utf8(path, file)


def _as_utf8(path: Path, file: BinaryIO) -> BinaryIO:
    """The text of a file in UTF-16, in a temporary file.

    Raises:
        InputError: it is no text.
    """
    text = codecs.getreader("utf-16")(file)
    copy = TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        while chunk := text.read(_CHUNK):
            copy.write(chunk.encode())
        text.bytebuffer.decode("utf-16")  # a part of a character, if the file is cut short
    except UnicodeError:
        copy.close()
        raise InputError(f"{path}: begins as text in UTF-16, but is not") from None
    copy.seek(0)
    return copy


def digests(*paths: Path) -> dict[str, str]:
    """The SHA-256 of files as they are stored, by their paths relative to the folder of the first.

    Raises:
        InputError: one cannot be read.
    """
    by_path: dict[str, str] = {}
    for path in paths:
        with _stored(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        by_path[os.path.relpath(path, paths[0].parent)] = digest
    return by_path


def lines(path: Path) -> Iterator[Entry]:
    """The objects in a file of JSON lines; empty lines are skipped.

    Raises:
        InputError: a line is not a JSON object.
    """
    with opened(path) as file:
        number = 0
        offset = _without_mark(file).tell()
        while line := file.readline(LONGEST):
            number += 1
            where = f"{path}:{number}"
            if line.strip():
                yield Entry(where, _parsed(line, where), offset)
            offset += len(line)


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    """The object of a line.

    Raises:
        InputError: it is none.
    """
    try:
        fields = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: byte {error.start} is not UTF-8") from None
    except (ValueError, RecursionError):
        fields = None
        if len(line) == LONGEST:
            raise InputError(f"{where}: the line is longer than {LONGEST // 2**20} MB") from None
        if not line.endswith(b"\n") and line.lstrip().startswith(b"{"):
            raise InputError(
                f"{where}: it ends in the middle of a line: a part of the file is missing"
            ) from None
    if not isinstance(fields, dict):
        raise InputError(f'{where}: not a JSON object; write {{"prompt": ..., "text": ...}}')
    if line.count(b"[") + line.count(b"{") > DEEPEST:
        _Shallow(where, BytesIO(line)).read()
    return fields


DEEPEST = 200
"""How deep values may be nested: Python needs its stack for them, and ijson memory by the square of this."""

_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_UNMARKED = bytes({*range(256)} - {ord('"'), *_STEPS})
_STRING = re.compile(b'"[^"]*"')


class _Shallow:
    """A JSON text that can be read as long as its values are not nested too deeply."""

    def __init__(self, where: object, file: BinaryIO) -> None:
        self._where = where
        self._file = file
        self._depth = 0
        self._unfinished = b""

    def read(self, size: int = -1) -> bytes:
        """Read bytes.

        Raises:
            InputError: they are nested too deeply.
        """
        chunk = self._file.read(size)
        text = (self._unfinished + chunk).replace(rb"\\", b"")
        marks = _STRING.sub(b"", text.replace(rb"\"", b"").translate(None, _UNMARKED))
        brackets, string, _ = marks.partition(b'"')
        depths = [*accumulate(map(_STEPS.__getitem__, brackets), initial=self._depth)]
        if max(depths) > DEEPEST:
            raise InputError(f"{self._where}: its values are nested more than {DEEPEST} levels deep")
        self._depth = depths[-1]
        self._unfinished = string + (b"\\" if text.endswith(b"\\") else b"")
        return chunk


def elements(path: Path, prefix: str, *, without: Collection[str] = ()) -> Iterator[Entry]:
    """The objects of an array in a JSON document; ``prefix`` is ijson's name for it, such as ``item``.

    The keys in ``without`` are left out as they are read, whatever their size.

    Raises:
        InputError: the document is damaged, or the array has something else.
    """
    import ijson

    with opened(path) as file:
        number = 0
        try:
            text: Any = _Shallow(path, _without_mark(file))
            if without:
                text = _outside(ijson.parse(text, use_float=True), prefix, without)
            for element in ijson.items(text, prefix, use_float=True):
                number += 1
                where = f"{path}: entry {number}"
                if not isinstance(element, dict):
                    raise InputError(f"{where}: not a JSON object")
                yield Entry(where, element)
        except ijson.JSONError as error:
            damaged(path, error, number)


_Event = tuple[str, str, Any]
"""An event of ijson: where it is, what it is, and its value."""


def _outside(events: Iterable[_Event], prefix: str, names: Collection[str]) -> Iterator[_Event]:
    """The events outside these keys of the objects at a prefix."""
    inside = tuple(f"{prefix}.{name}" for name in names)
    for event in events:
        where, kind, value = event
        if where == prefix and kind == "map_key" and value in names:
            continue
        if not (where.startswith(inside) and ".".join(where.split(".")[: prefix.count(".") + 2]) in inside):
            yield event


def value_at(path: Path, prefix: str) -> Any:
    """A value in a JSON document, which may be large but for this value; None if it lacks it.

    Raises:
        InputError: the document is damaged before the value.
    """
    import ijson

    with opened(path) as file:
        try:
            return next(ijson.items(_Shallow(path, _without_mark(file)), prefix, use_float=True), None)
        except ijson.JSONError as error:
            damaged(path, error)


def damaged(path: Path, error: Exception, entries: int = 0) -> NoReturn:
    """Report a JSON document that is damaged or cut short.

    Raises:
        InputError: always.
    """
    after = f" after entry {entries}" if entries else ""
    if "incomplete" in str(error).lower() or "premature" in str(error).lower():
        raise InputError(f"{path}: it ends in the middle{after}: a part of the file is missing") from None
    raise InputError(f"{path}: it is not JSON{after}: {fit(str(error).splitlines()[0])}") from None


def _without_mark(file: BinaryIO) -> BinaryIO:
    """The file after the mark that only Windows writes."""
    if file.read(3) != b"\xef\xbb\xbf":
        file.seek(0)
    return file


def _first_keys(path: Path) -> Mapping[str, None]:
    """The first keys of a JSON document, which identify its format; empty if it is not JSON."""
    import ijson
    from ijson.backends import python  # the others fail before the first key if NaN is among the next values

    most = 3
    depth = 0
    keys: dict[str, None] = {}
    with opened(path) as file:
        beginning = BytesIO(_without_mark(file).read(FIRST_KEYS))
        try:
            for event, value in python.basic_parse(beginning, multiple_values=True):
                depth += event.startswith("start") - event.startswith("end")
                if depth == 1 and event == "map_key":
                    keys[value] = None
                if len(keys) == most or depth == 0:
                    break
        except (ijson.JSONError, ValueError):  # the latter is json's, about an escape in a text
            pass  # the rest of it is read when its format is known
    return keys


class Cells(NamedTuple):
    """The values of a line of a table, with its place."""

    where: str
    values: list[str]


def cells(path: Path) -> Iterator[Cells]:
    """The header and the rows of a table of comma-separated values, which may be semicolons or tabs, too.

    Raises:
        InputError: a row has more or fewer values than the header, or is not text.
    """
    number = 0
    try:
        with TextIOWrapper(opened(path), encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            table = csv.reader(file, delimiter=max(",;\t", key=first.count), strict=True)
            columns = 0
            for values in table:
                number = table.line_num
                columns = columns or len(values)
                if len(values) == columns and values:
                    yield Cells(f"{path}:{number}", values)
                elif values:
                    raise InputError(
                        f"{path}:{number}: it has more or fewer values than the header has columns"
                    )
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path}:{number + 1}: {error}") from None


def rows(path: Path) -> Iterator[Entry]:
    """The rows of a table by the names of its columns.

    Raises:
        InputError: a row has more or fewer values than the header, or is not text.
    """
    table = cells(path)
    _, header = next(table, Cells("", []))
    for where, values in table:
        yield Entry(where, dict(zip(map(str.strip, header), values, strict=True)))
