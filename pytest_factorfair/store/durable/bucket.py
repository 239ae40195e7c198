"""Pictures in a bucket: S3 and compatible services, Google Cloud Storage, Azure Blob Storage.

There is no manifest, because objects cannot be appended to; the rows of the store contain the same.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.errors import LostPictureError, MissingExtraError, StoreError
from pytest_factorfair.redaction import fit
from pytest_factorfair.store.durable.outage import PATIENCE
from pytest_factorfair.store.pictures import NAME, Folder, Picture, Pictures

if TYPE_CHECKING:
    from obstore.store import ObjectStore

RETRIES = 1_000
"""The number of retries, which is never reached: the time limit applies first."""


class Bucket(Pictures):
    """A bucket, or a prefix in a bucket, given by a URL such as ``s3://bucket/prefix``.

    obstore reads the credentials from the environment.
    """

    at_once = 64
    shared = True

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        """Prepare a bucket; after ``patience`` seconds without an answer, no further request is made."""
        self.location = url
        self._patience = timedelta(seconds=patience)
        self._since: float | None = None  # the begin of the first request that failed, by the monotonic clock
        self._gone: StoreError | None = None

    def check(self) -> str:
        mark = super().check()
        self._size("missing")  # fails without permission to list objects: a missing one is forbidden then
        return mark

    def keep(self, pictures: Iterable[Picture]) -> None:
        def put(file: str, image: bytes) -> None:
            if not self._leave(file, image) and self._size(file) != len(image):  # truncated
                with self._asked("cannot be written") as objects:
                    objects.put(file, image, use_multipart=False)

        images = {picture.file: picture.image for picture in pictures}
        try:
            deque(self._threads.map(put, images, images.values()), maxlen=0)
        except StoreError as error:
            if self._since is None or self._gone is not None:
                raise
            raise ConnectionError(str(error)) from error  # temporary: the bucket may answer again

    def delete(self, files: Iterable[str]) -> None:
        def deleted(file: str) -> None:
            with self._asked("cannot be deleted") as objects:
                objects.delete(file)

        deque(self._threads.map(deleted, filter(NAME.fullmatch, files)), maxlen=0)

    def _leave(self, file: str, content: bytes) -> bool:
        with self._asked("cannot be written") as objects:
            from obstore.exceptions import AlreadyExistsError

            try:
                objects.put(file, content, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def _content(self, file: str) -> bytes:
        with self._asked("cannot be read", f"/{file}") as objects:
            return bytes(objects.get(file).bytes())

    def _size(self, file: str) -> int | None:
        with self._asked("cannot be looked for", f"/{file}") as objects:
            try:
                size: int = objects.head(file)["size"]
            except FileNotFoundError:
                return None
            return size

    @cached_property
    def _objects(self) -> ObjectStore:
        try:
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError:
            raise MissingExtraError(self.location, "bucket") from None
        try:
            objects: ObjectStore = from_url(
                self.location,
                retry_config={"retry_timeout": self._patience, "max_retries": RETRIES},
            )
        except (BaseError, ValueError) as error:  # no account is named, or no bucket has such a name
            raise StoreError(f"{self.location}: pictures cannot be stored there: {_line(error)}") from None
        return objects

    @contextmanager
    def _asked(self, effect: str, file: str = "") -> Iterator[ObjectStore]:
        """Use the client; its errors become one line, without credentials that services may repeat."""
        if self._gone is not None:
            raise self._gone.with_traceback(None)
        objects = self._objects  # before other imports of obstore, which may not be installed
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        began = time.monotonic()
        try:
            yield objects
        except FileNotFoundError:
            if file:
                line = f"{self.location}{file}: pictures {effect}: there is no such picture"
                raise LostPictureError(line) from None
            problem = "there is no such bucket"
        except (PermissionDeniedError, UnauthenticatedError):
            problem = "access is denied: check the credentials in the environment, and their rights"
        except BaseError as error:
            failure = StoreError(f"{self.location}{file}: pictures {effect}: {_line(error)}")
            self._since = began if self._since is None else self._since
            if time.monotonic() - self._since >= self._patience.total_seconds():
                self._gone = failure
            raise failure from None
        else:
            self._since = None
            return
        raise StoreError(f"{self.location}{file}: pictures {effect}: {problem}")


def shared(address: str, patience: float = PATIENCE) -> Pictures:
    """The bucket or folder that a user names for pictures."""
    return Bucket(address, patience) if "://" in address else Folder(Path(address), shared=True)


def _line(error: Exception) -> str:
    """Format an error in one line, without Rust's details, and without credentials that services repeat."""
    return fit(str(error).partition("\n\n")[0])
