"""Rescue responses that a store cannot accept, or has lost: write them to files that the next run stores."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import URL

from pytest_factorfair import process
from pytest_factorfair.store import opening
from pytest_factorfair.store.rows import CallTexts, Write

if TYPE_CHECKING:
    from pytest_factorfair.store.pictures import Picture

MOST = 2**26
"""How many bytes of stored responses, compressed, a process remembers in case the store loses them."""

_WINDOW = 12  # 4 KB suffice for a response; the buffers of the default, 32 KB, take longer than compression


class Rescue:
    """The files with a store's rescued responses, and a memory of what this process has stored there.

    A file is written completely and never changed, so that another run can store its responses at any time.
    ``count`` is the number of rescued responses.
    """

    def __init__(self, folder: Path, store: URL) -> None:
        self.count = 0
        self._folder = folder
        file = opening.file(store)
        # A store's file is identified by its relative path, so that a project can be moved.
        name = os.path.relpath(file, folder) if file else str(store.set(username=None, password=None))
        self._prefix = f"rescued-{hashlib.sha256(name.encode()).hexdigest()[:12]}-"
        self._stored: dict[str, bytes] = {}
        self._elsewhere: dict[str, bytes] = {}
        self._size = 0

    @property
    def files(self) -> list[Path]:
        """The files with responses that the next run stores."""
        return sorted(self._folder.glob(f"{self._prefix}*.jsonl"))

    def remember(self, writes: Iterable[Write]) -> None:
        """Remember stored responses; beyond ``MOST`` bytes the oldest are forgotten."""
        for write in writes:
            key, line = str(write.row["key"]), _packed(write)
            self._size += len(line) - len(self._stored.get(key, b""))
            self._stored[key] = line
        while self._size > MOST:
            self._size -= len(self._stored.pop(next(iter(self._stored))))

    @property
    def remembered(self) -> tuple[str, ...]:
        """The keys of the remembered responses."""
        return tuple(self._stored)

    def call_texts(self, keys: Iterable[str]) -> dict[str, CallTexts]:
        """The prompts and responses with these keys, as far as they are remembered."""
        lines = {key: self._stored.get(key) or self._elsewhere.get(key) for key in keys}
        rows = {key: json.loads(zlib.decompress(line)) for key, line in lines.items() if line is not None}
        return {key: CallTexts(row["prompt"], row["body"]) for key, row in rows.items()}

    def write(self, writes: Sequence[Write]) -> None:
        """Rescue responses that could not be stored, with their pictures.

        Raises:
            OSError: nothing can be written, not even to the folder for temporary files.
        """
        self._write([_line(write.row, write.picture, replace=write.replace) for write in writes])
        self._elsewhere |= {str(write.row["key"]): _packed(write) for write in writes}

    def recall(self, keys: Iterable[str]) -> None:
        """Rescue stored responses that the store has lost.

        Raises:
            OSError: as in ``write``.
        """
        lost = {key: self._stored[key] for key in keys}
        self._write([zlib.decompress(line).decode() for line in lost.values()])
        self._elsewhere |= lost

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        path = self._folder / f"{self._prefix}{uuid.uuid4().hex}.jsonl"
        content = "".join(lines).encode()
        try:
            process.make_folder(self._folder)
            with process.draft(path) as draft:
                _write_through(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), content)
                draft.replace(path)
            process.sync(self._folder)
        except OSError as error:  # a full disk still has room for a link to a file elsewhere
            descriptor, elsewhere = tempfile.mkstemp(".jsonl", "factorfair-rescued-")
            try:
                _write_through(descriptor, content)
                path.symlink_to(elsewhere)
            except OSError:
                Path(elsewhere).unlink(missing_ok=True)
                raise error from None
        self.count += len(lines)


def _line(row: Mapping[str, object], picture: Picture | None, *, replace: bool) -> str:
    image = None if picture is None else base64.b64encode(picture.image).decode("ascii")
    return f"{json.dumps({**row, 'image': image, 'replace': replace})}\n"


def _packed(write: Write) -> bytes:
    line = _line(write.row, None, replace=write.replace).encode()
    return zlib.compress(line, 1, _WINDOW)


def _write_through(descriptor: int, content: bytes) -> None:
    with open(descriptor, "wb") as file:  # opened by descriptor, which has no path
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
