"""The pictures of a store: files in a folder beside it, named by the hash of their content.

A picture is on the disk, whole, before the row that names it is committed. ``manifest.jsonl`` in the
folder has a line for every picture that came, with what was asked; a line whose file is gone was
pruned, and a line that a crash cut off says nothing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from io import BufferedWriter
from pathlib import Path

from pytest_factorfair import process
from pytest_factorfair.domain import Response
from pytest_factorfair.errors import PictureError, StoreError
from pytest_factorfair.store.folders import make_folder, sync

MANIFEST = "manifest.jsonl"
WRITERS = 8
_NAME = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})\.(png|jpg|webp)")
_MAGIC = re.compile(rb"(?P<png>\x89PNG\r\n\x1a\n)|(?P<jpg>\xff\xd8\xff)|(?P<webp>RIFF.{4}WEBP)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture on its way to the disk, and its line of the manifest."""

    file: str
    image: bytes = field(repr=False)
    line: Mapping[str, object]


def file_of(image: bytes) -> str:
    """The name of a picture, of 2 + 64 hexadecimal digits and what its first bytes say it is.

    Raises:
        PictureError: they are not those of a PNG, JPEG or WebP.
    """
    kind = _MAGIC.match(image)
    if kind is None or kind.lastgroup is None:
        raise PictureError(f"the picture is not a PNG, JPEG or WebP ({len(image)} bytes)")
    digest = hashlib.sha256(image).hexdigest()
    return f"{digest[:2]}/{digest}.{kind.lastgroup}"


def kept(response: Response) -> Response:
    """The response with the name of its picture in place of the bytes.

    Raises:
        PictureError: the picture is not a PNG, JPEG or WebP.
    """
    if response.image is None:
        return response
    return replace(response, image=None, image_file=file_of(response.image))


class Pictures:
    """The folder; made with its first picture. Any number of processes may write into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, pictures: Iterable[Picture]) -> None:
        """Bring pictures to the disk, then their lines of the manifest; what is there stays as it is.

        Raises:
            OSError: the disk is full, or the folder takes nothing; no part of a picture is left.
        """
        pictures = tuple(pictures)
        if not pictures:
            return
        if not self.folder.is_dir():
            make_folder(self.folder)
            sync(self.folder.parent)
        new = {
            self.folder / each.file: each.image
            for each in pictures
            if not self.has(each.file, len(each.image))
        }
        named = self._threads.map(sync, self._write(new))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._list({"file": each.file, "time": now, **each.line} for each in pictures)
        deque(named, maxlen=0)

    def adopt(self, folder: Path, lines: Sequence[Mapping[str, object]], *, link: bool) -> None:
        """Bring the pictures of another such folder here, named by ``file`` in their lines of the manifest.

        With ``link`` they become hard links on one disk, which takes no space and reads nothing; else copies.

        Raises:
            OSError: the disk is full, or the folder takes nothing; no part of a picture is left.
        """
        if not lines:
            return
        if not self.folder.is_dir():
            make_folder(self.folder)
        files = dict.fromkeys(str(line["file"]) for line in lines)
        for file in files:
            path = self.folder / file
            path.parent.mkdir(exist_ok=True)
            with process.draft(self.folder / path.name) as draft:
                if link:
                    with suppress(OSError):  # another disk, or one without hard links
                        os.link(folder / file, draft)
                if not draft.exists():
                    with (folder / file).open("rb") as source, draft.open("xb") as target:
                        shutil.copyfileobj(source, target)
                        target.flush()
                        os.fsync(target.fileno())
                draft.replace(path)
        deque(self._threads.map(sync, {(self.folder / file).parent for file in files}), maxlen=0)
        sync(self.folder)
        self._list(lines)

    def _list(self, lines: Iterable[Mapping[str, object]]) -> None:
        """Add lines to the manifest."""
        _append(self.folder / MANIFEST, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        """Where the disk is waited for: what it is asked for at once it does at once, one or eight."""
        return ThreadPoolExecutor(WRITERS, "factorfair-pictures")

    def read(self, file: str) -> bytes:
        """A picture's bytes.

        Raises:
            StoreError: it is missing, or is not what was kept.
        """
        named = _NAME.fullmatch(file)
        if named is None:
            raise StoreError(f"'{file}' is not the name of a picture of a response store")
        path = self.folder / file
        try:
            image = path.read_bytes()
        except OSError as error:
            raise StoreError(f"{path}: the picture cannot be read: {error.strerror}") from None
        if hashlib.sha256(image).hexdigest() != named[2]:
            raise StoreError(f"{path}: the picture is damaged: delete it, and it is asked for again")
        return image

    def has(self, file: str, size: int) -> bool:
        """Whether a picture is there and has the size that it was kept with; it is not read.

        Nothing is missing of a response without one, whose ``file`` is empty.
        """
        if not file:
            return True
        try:
            return _NAME.fullmatch(file) is not None and (self.folder / file).stat().st_size == size
        except OSError:
            return False

    def delete(self, files: Iterable[str]) -> None:
        """Delete pictures; those that are gone already do not matter."""
        for file in filter(_NAME.fullmatch, files):
            with suppress(FileNotFoundError):
                (self.folder / file).unlink()

    def _write(self, pictures: Mapping[Path, bytes]) -> set[Path]:
        """Bring pictures to the disk, whole, and give them their names; the folders that have new ones."""
        folders = {path.parent for path in pictures}
        new = {folder for folder in folders if not folder.is_dir()}
        for folder in new:
            folder.mkdir(exist_ok=True)
        with ExitStack() as stack:
            drafts: list[BufferedWriter] = []
            for path, image in pictures.items():
                # In the folder itself, where drafts are swept; it is moved from here to its own folder.
                draft = stack.enter_context(process.draft(self.folder / path.name))
                file = stack.enter_context(draft.open("xb"))
                file.write(image)
                file.flush()
                drafts.append(file)
            deque(self._threads.map(os.fsync, [file.fileno() for file in drafts]), maxlen=0)
            for file, path in zip(drafts, pictures, strict=True):
                file.close()
                Path(file.name).replace(path)
        return folders | {self.folder} if new else folders


def _append(path: Path, lines: bytes) -> None:
    """Append in one write, which no other process's comes into; a line that a crash cut off is ended."""
    with path.open("ab+", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        whole = b"\n" + lines if file.read(1) not in (b"", b"\n") else lines
        if file.write(whole) != len(whole):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(file.fileno())
