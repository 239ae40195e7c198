"""The pictures of a store, named by the hash of their content.

A picture is written completely before the row that names it is committed. The folder next to a store has a
``manifest.jsonl`` with a line for every picture and its query. The picture of a line may have been pruned,
and a crash may have truncated a line.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from io import BufferedWriter
from itertools import islice
from pathlib import Path

from pytest_factorfair import process
from pytest_factorfair.domain import Response
from pytest_factorfair.errors import LostPictureError, PictureError, StoreError
from pytest_factorfair.pictures import kind
from pytest_factorfair.store.durable.outage import PATIENCE
from pytest_factorfair.wings import Wing

MANIFEST = "manifest.jsonl"
MARK = "storage-id"
NAME = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{62})\.(png|jpg|webp)")
_MISSING = (FileNotFoundError, NotADirectoryError)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to store, and its line in the manifest."""

    file: str
    image: bytes = field(repr=False)
    line: Mapping[str, object]


def file_of(image: bytes) -> str:
    """The file name of a picture: 2 + 64 hexadecimal digits, and the extension of its format.

    Raises:
        PictureError: the picture is not a PNG, JPEG or WebP.
    """
    ending = kind(image)
    if ending is None:
        raise PictureError(f"the picture is not a PNG, JPEG or WebP ({len(image)} bytes)")
    digest = hashlib.sha256(image).hexdigest()
    return f"{digest[:2]}/{digest}.{ending}"


def without_bytes(response: Response) -> Response:
    """Replace the bytes of a response's picture by its file name.

    Raises:
        PictureError: the picture is not a PNG, JPEG or WebP, or has a name that no stored picture can have.
    """
    if response.image is None:
        if response.image_file and not NAME.fullmatch(response.image_file):
            raise PictureError(f"'{response.image_file}' is not the name of a stored picture")
        return response
    return replace(response, image=None, image_file=file_of(response.image))


class Pictures(ABC):
    """A storage of pictures; any number of processes may write there.

    ``location`` is its name in messages. At most ``at_once`` pictures are read, written or looked up at
    once. A ``shared`` storage was named by the user, so that other hosts and stores may use it. It has no
    manifest, because the rows of the store contain the same.
    """

    location: str
    at_once = 8
    shared = False

    @abstractmethod
    def keep(self, pictures: Iterable[Picture]) -> None:
        """Write pictures, each completely or not at all; existing ones are not changed.

        Raises:
            OSError: the storage is full or not writable.
        """

    @abstractmethod
    def delete(self, files: Iterable[str]) -> None:
        """Delete pictures, if they exist."""

    @abstractmethod
    def _leave(self, file: str, content: bytes) -> bool:
        """Write a new file; return False if there is a file with this name.

        Raises:
            StoreError: the file cannot be written.
        """

    @abstractmethod
    def _content(self, file: str) -> bytes:
        """Read the bytes of a picture, without checking them.

        Raises:
            LostPictureError: there is no such picture.
            StoreError: the picture cannot be read.
        """

    @abstractmethod
    def _size(self, file: str) -> int | None:
        """The size of a picture in bytes, without reading it; None if it is missing."""

    def check(self) -> str:
        """Check that pictures can be written, read and looked up; return the mark of this storage.

        The mark is written by the first process. Different marks mean different storage.

        Raises:
            MissingExtraError: the library for this kind of storage is not installed.
            StoreError: the storage does not exist, or denies access.
        """
        self._leave(MARK, uuid.uuid4().hex.encode())
        return self._content(MARK).decode()

    def read(self, file: str) -> bytes:
        """Read the bytes of a picture, and check them by its name.

        Raises:
            LostPictureError: the picture is missing or damaged.
            StoreError: the picture cannot be read.
        """
        named = NAME.fullmatch(file)
        if named is None:
            raise StoreError(f"'{file}' is not the name of a picture of a response store")
        image = self._content(file)
        if hashlib.sha256(image).hexdigest() != named[2]:
            raise LostPictureError(
                f"{self.location}/{file}: the picture is damaged: delete it, and it is asked for again"
            )
        return image

    def reading(self, files: Iterable[str]) -> Iterator[Future[bytes]]:
        """Yield the results of ``read`` for several pictures, in order; some are read in advance."""
        remaining_files = iter(files)
        ahead = deque(self._threads.submit(self.read, file) for file in islice(remaining_files, self.at_once))
        while ahead:
            yield ahead.popleft()
            ahead.extend(self._threads.submit(self.read, file) for file in islice(remaining_files, 1))

    def lost(self, pictures: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """The pictures, by name and size, that are missing or have another size; no picture is read.

        An empty name, from a response without a picture, is never lost.
        """
        named = [picture for picture in dict.fromkeys(pictures) if picture[0]]
        sizes = self.sizes([file for file, _ in named])
        return {picture for picture, size in zip(named, sizes, strict=True) if size != picture[1]}

    def sizes(self, files: Iterable[str]) -> Iterator[int | None]:
        """The size of each picture in bytes; None if it is missing."""
        return self._threads.map(lambda file: self._size(file) if NAME.fullmatch(file) else None, files)

    def adopt(
        self,
        source: Pictures,
        lines: Sequence[Mapping[str, object]],
        *,
        link: bool,  # noqa: ARG002  # only folders can link
    ) -> None:
        """Copy the pictures that these lines of a manifest name from another storage.

        With ``link``, files on the same disk become hard links, which need no space and no reading.

        Raises:
            OSError: this storage is full or not writable; no incomplete picture is left.
            StoreError: a picture of the source cannot be read.
        """
        remaining_lines = iter(lines)
        while chunk := list(islice(remaining_lines, self.at_once)):
            files = [str(line["file"]) for line in chunk]
            images = self._threads.map(source.read, files)
            self.keep(Picture(*picture_fields) for picture_fields in zip(files, images, chunk, strict=True))

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        """The threads that wait for disk or network."""
        return ThreadPoolExecutor(self.at_once, "factorfair-pictures")


class Folder(Pictures):
    """Pictures as files in a folder, which is created with the first picture."""

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self.location = str(folder)
        self.shared = shared
        self._folder = folder

    def keep(self, pictures: Iterable[Picture]) -> None:
        """Write pictures to the disk, then their lines to the manifest; existing ones are not changed."""
        pictures = tuple(pictures)
        if not pictures:
            return
        if not self._folder.is_dir():
            process.make_folder(self._folder)
            process.sync(self._folder.parent)
        lost = self.lost((picture.file, len(picture.image)) for picture in pictures)
        images = {
            self._folder / picture.file: picture.image
            for picture in pictures
            if (picture.file, len(picture.image)) in lost
        }
        named = self._threads.map(process.sync, self._write(images))
        timestamp = datetime.now(UTC).isoformat(timespec="seconds")
        self._list({"file": picture.file, "time": timestamp, **picture.line} for picture in pictures)
        deque(named, maxlen=0)

    def adopt(self, source: Pictures, lines: Sequence[Mapping[str, object]], *, link: bool) -> None:
        if not isinstance(source, Folder):
            super().adopt(source, lines, link=link)
            return
        if not lines:
            return
        if not self._folder.is_dir():
            process.make_folder(self._folder)
        files = dict.fromkeys(str(line["file"]) for line in lines)
        for file in files:
            path, source_path = self._folder / file, source._folder / file  # noqa: SLF001  # of the same class
            path.parent.mkdir(exist_ok=True)
            with process.draft(self._folder / path.name) as draft:
                if link:
                    with suppress(OSError):  # another disk, or no support for hard links
                        os.link(source_path, draft)
                if not draft.exists():
                    with (
                        source_path.open("rb") as source_file,
                        open(draft, "xb", opener=process.private) as draft_file,
                    ):
                        shutil.copyfileobj(source_file, draft_file)
                        draft_file.flush()
                        os.fsync(draft_file.fileno())
                draft.replace(path)
        deque(self._threads.map(process.sync, {(self._folder / file).parent for file in files}), maxlen=0)
        process.sync(self._folder)
        self._list(lines)

    def sizes(self, files: Iterable[str]) -> Iterator[int | None]:
        if self.shared:
            return super().sizes(files)
        # Without threads: a look-up on a local disk takes less time than waking a thread.
        return (self._size(file) if NAME.fullmatch(file) else None for file in files)

    def delete(self, files: Iterable[str]) -> None:
        for file in filter(NAME.fullmatch, files):
            with suppress(FileNotFoundError):
                (self._folder / file).unlink()

    def _leave(self, file: str, content: bytes) -> bool:
        path = self._folder / file
        try:
            process.make_folder(self._folder)
            with process.draft(path) as draft:
                with open(draft, "xb", opener=process.private) as marked:
                    marked.write(content)
                try:
                    os.link(draft, path)
                except FileExistsError:
                    raise
                except OSError:  # a file system without hard links
                    with open(path, "xb", opener=process.private) as new:
                        new.write(content)
        except FileExistsError:
            if self._folder.is_dir():
                return False
            raise StoreError(
                f"{self.location}: pictures cannot be written there: it is not a folder"
            ) from None
        except OSError as error:
            raise StoreError(f"{self.location}: pictures cannot be written there: {error.strerror}") from None
        return True

    def _content(self, file: str) -> bytes:
        path = self._folder / file
        try:
            return path.read_bytes()
        except OSError as error:
            kind = LostPictureError if isinstance(error, _MISSING) else StoreError
            raise kind(f"{path}: the picture cannot be read: {error.strerror}") from None

    def _size(self, file: str) -> int | None:
        path = self._folder / file
        try:
            return path.stat().st_size
        except _MISSING:
            return None
        except OSError as error:  # of a network: the picture is not missing, and must not be generated again
            raise StoreError(f"{path}: the picture cannot be looked for: {error.strerror}") from None

    def _list(self, lines: Iterable[Mapping[str, object]]) -> None:
        """Append lines to the manifest in a single write, after completing a line that a crash truncated."""
        if self.shared:  # appending is not atomic on network storage
            return
        path, text = self._folder / MANIFEST, "".join(f"{json.dumps(line)}\n" for line in lines)
        with open(path, "ab+", buffering=0, opener=process.private) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            content = (text if file.read(1) in (b"", b"\n") else f"\n{text}").encode()
            if file.write(content) != len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            os.fsync(file.fileno())

    def _write(self, pictures: Mapping[Path, bytes]) -> set[Path]:
        """Write pictures under temporary names, then rename them; return the folders with new files."""
        folders = {path.parent for path in pictures}
        new_folders = {folder for folder in folders if not folder.is_dir()}
        for folder in new_folders:
            folder.mkdir(exist_ok=True)
        with ExitStack() as stack:
            drafts: list[BufferedWriter] = []
            for path, image in pictures.items():
                # Written to the folder itself, which ``Store.sweep`` cleans, and moved to its subfolder.
                draft = stack.enter_context(process.draft(self._folder / path.name))
                file = stack.enter_context(open(draft, "xb", opener=process.private))
                file.write(image)
                file.flush()
                drafts.append(file)
            deque(self._threads.map(os.fsync, [file.fileno() for file in drafts]), maxlen=0)
            for file, path in zip(drafts, pictures, strict=True):
                file.close()
                Path(file.name).replace(path)
        return folders | {self._folder} if new_folders else folders


def shared(address: str, patience: float = PATIENCE) -> Pictures:
    """The bucket or folder that a user names for pictures."""
    if "://" not in address:
        return Folder(Path(address), shared=True)
    bucket: Pictures = Wing.BUCKET.enter().Bucket(address, patience)
    return bucket
