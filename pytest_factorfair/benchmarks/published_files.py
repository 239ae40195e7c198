"""Files that others published, of which users import their copies.

Git's id of its content, which repositories list, identifies a published file: the SHA-1 of ``blob SIZE``, a
zero byte and the content.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeVar

from pytest_factorfair.benchmarks.asking import ImportRequest
from pytest_factorfair.domain import first_few, plural
from pytest_factorfair.errors import ChecklistError, InputError

T = TypeVar("T")

Releases = Mapping[str, str | None]
"""The Git ids of published files by name, None if unknown; names may have folders.

Files whose names differ only in the suffix have the same content, and the first one is preferred.
"""


LISTED = 12
"""The number of names that a message lists."""


def git_id(content: bytes) -> str:
    """The id that Git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Copy:
    """A user's copy of a published file; ``name`` is that of the published one."""

    file: Path
    name: str
    content: bytes

    def text(self) -> str:
        """The content as text, without a byte order mark.

        Raises:
            ChecklistError: it is not text.
        """
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ChecklistError(self.file, None, "", "is not UTF-8 text") from None

    def json(self) -> Any:
        """The value in a JSON file.

        Raises:
            ChecklistError: it is not valid JSON.
        """
        return _parsed(self.text(), self.file, None)

    def rows(self, needed: Sequence[str]) -> Iterator[Row]:
        """The rows of a JSON, JSON Lines, CSV or TSV file, which must have these keys.

        Raises:
            ChecklistError: the file is invalid, or a row lacks a key.
        """
        for row in self._rows():
            if missing := row.missing(needed):
                raise row.error(f"lacks {', '.join(missing)}; this is another version of the file")
            if None in row.values:
                raise row.error("has more fields than the first line of the file")
            yield row

    def _rows(self) -> Iterator[Row]:
        text, suffix = self.text(), PurePath(self.name).suffix
        if suffix in (".csv", ".tsv"):
            reader = csv.DictReader(
                io.StringIO(text, newline=""), delimiter="\t" if suffix == ".tsv" else ",", strict=True
            )
            try:
                for values in reader:
                    yield Row(self.file, reader.line_num, values)
            except csv.Error as error:
                raise ChecklistError(self.file, reader.line_num, "", f"is not valid CSV: {error}") from None
        elif suffix == ".json":
            listed = self.json()
            if not isinstance(listed, list):
                raise ChecklistError(self.file, None, "", "must be a list of questions")
            for number, values in enumerate(listed, start=1):
                yield Row(self.file, None, values, f"question {number}")
        else:
            for number, line in enumerate(text.split("\n"), start=1):
                if line.strip():
                    yield Row(self.file, number, _parsed(line, self.file, number))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a published file, with its place.

    A key such as ``answers.first`` may be nested; ``label|answer_label`` are two names of one.
    """

    file: Path
    line: int | None
    values: Any
    path: str = ""

    def __getitem__(self, key: str) -> Any:
        values = (_value(self.values, name) for name in key.split("|"))
        return next((value for value in values if value is not None), None)

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that it lacks."""
        return [key.partition("|")[0] for key in keys if self[key] in (None, "")]

    def error(self, problem: str) -> ChecklistError:
        """An error that names file and place."""
        return ChecklistError(self.file, self.line, self.path, problem)

    def text(self, key: str) -> str:
        """The text of a key.

        Raises:
            ChecklistError: it is not text.
        """
        value = self[key]
        if not isinstance(value, str):
            raise self.error(f"{key}: expected text, got {value!r}")
        return value.strip()

    def id(self, key: str) -> str:
        """The value of a key as an id.

        Raises:
            ChecklistError: it has no letter or digit.
        """
        return self.named(self[key], key)

    def named(self, value: object, key: str) -> str:
        """A value in a key as an id.

        Raises:
            ChecklistError: it is no name, or has no letter or digit.
        """
        if not isinstance(value, str | int) or not (name := slug(value)):
            raise self.error(f"{key}: expected a name with a letter or a digit, got {value!r}")
        return name

    def texts(self, key: str) -> list[str]:
        """The list of a key, which CSV files write as Python does.

        Raises:
            ChecklistError: it is not a list of texts.
        """
        value = self[key]
        if isinstance(value, str):
            try:
                value = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                value = None
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value) or not value:
            raise self.error(f"{key}: expected a list of texts, got {self[key]!r}")
        return value

    def choice(self, key: str, meanings: Mapping[str, T]) -> T:
        """What the value of a key means.

        Raises:
            ChecklistError: the value is unknown.
        """
        value = str(self[key])
        if value not in meanings:
            name = key.partition("|")[0]
            raise self.error(f"unknown {name} '{value}'; expected {', '.join(meanings)}")
        return meanings[value]


class Copies:
    """A user's copies of the published files: those in a folder, or the one at the path.

    Names in other capitals are accepted; if a folder has none of the names, renamed files are recognised by
    their id. ``missing`` are the names of published files that the folder lacks.

    Raises:
        InputError: there is none, one of the ``needed`` is missing, or others are and the request is not
            ``partial``.
    """

    def __init__(
        self, request: ImportRequest, releases: Releases, folder: str = "", *, needed: Collection[str] = ()
    ) -> None:
        self._request, self._releases = request, releases
        path = request.within(folder)
        by_stem: dict[PurePath, Path] = {}
        if not path.is_dir():
            by_stem[PurePath(_published(path, _content(path), releases))] = path
            self.missing: tuple[str, ...] = ()
        else:
            files = {file.name.casefold(): file for file in sorted(path.iterdir())}
            for name in releases:
                file = path / name
                if file.is_file() or (file := files.get(name.casefold(), file)).is_file():
                    by_stem.setdefault(PurePath(name).with_suffix(""), file)
            suffixes = {PurePath(name).suffix for name in releases}
            for file in [file for file in files.values() if file.suffix in suffixes and not by_stem]:
                if name := _published(file, _content(file), releases, by_name=False):
                    by_stem.setdefault(PurePath(name).with_suffix(""), file)
            if not by_stem:
                raise InputError(f"{path}: the folder has none of {_names(releases)}")
            preferred: dict[PurePath, str] = {}
            for name in releases:
                preferred.setdefault(PurePath(name).with_suffix(""), name)
            self.missing = tuple(name for stem, name in preferred.items() if stem not in by_stem)
        if lacking := [name for name in self.missing if name in needed]:
            raise InputError(f"{path}: the folder lacks {_names(lacking)}")
        if self.missing and not request.partial:
            raise InputError(f"{path}: lacks {_names(self.missing)}; --partial imports what is there")
        self._files = tuple(by_stem.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on the missing files, if there are any."""
        return (f"without {_names(self.missing)}, which the folder lacks",) if self.missing else ()

    def __iter__(self) -> Iterator[Copy]:
        """Read the files one by one.

        Raises:
            InputError: a file cannot be read, or differs from the published one.
        """
        for file in self._files:
            content = _content(file)
            name = _published(file, content, self._releases)
            if not name and not self._request.any_version:
                raise InputError(
                    f"{file}: is none of {_names(self._releases)}; --any-version imports it anyway"
                )
            published_id, actual_id = self._releases.get(name), git_id(content)
            if published_id not in (None, actual_id) and not self._request.any_version:
                raise InputError(
                    f"{file}: differs from the published version: {plural(len(content), 'byte')}, Git id "
                    f"{actual_id[:12]}, not {str(published_id)[:12]}; --any-version imports it anyway"
                )
            yield Copy(file, name or file.name, content)


def _published(file: Path, content: bytes, releases: Releases, *, by_name: bool = True) -> str:
    """The name of the published file of which this is a copy, by its id or its name; empty if it is none."""
    by_id = {git: name for name, git in releases.items() if git}
    parts = tuple(part.casefold() for part in file.parts)
    named = (
        name
        for name in releases
        if by_name and parts[-len(PurePath(name).parts) :] == PurePath(name.casefold()).parts
    )
    return by_id.get(git_id(content)) or next(named, "")


def _names(names: Collection[str]) -> str:
    """The names of published files, shortened."""
    return ", ".join(first_few([*names], LISTED))


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None


def _parsed(text: str, file: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChecklistError(file, line, "", f"is not valid JSON: {error}") from None


def _value(values: Any, key: str) -> Any:
    """The value of a key, which may be nested or begin with a byte order mark; None if there is none."""
    if not isinstance(values, Mapping):
        return None
    for name in (key, f"\N{ZERO WIDTH NO-BREAK SPACE}{key}"):
        if name in values:
            return values[name]
    field, _, path = key.partition(".")
    return _value(values.get(field), path) if path else None


def slug(text: object) -> str:
    """The text as an id: Latin letters without accents, and other letters by their code: ``u6027_u522b``."""
    plain = unicodedata.normalize("NFC", str(text).casefold().replace("ı", "i"))  # noqa: RUF001 - Turkish
    return re.sub(r"[^a-z0-9]+", "_", "".join(map(_latin, plain))).strip("_")


def _latin(letter: str) -> str:
    plain = "".join(part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part))
    return plain if plain.isascii() or not letter.isalnum() else f"_u{ord(letter):x}_"
