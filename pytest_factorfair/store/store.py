"""The response store, which saves asking a query again that was answered before."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy
from sqlalchemy import bindparam, func, inspect, literal_column, select, update
from sqlalchemy.exc import OperationalError

from pytest_factorfair import process
from pytest_factorfair.domain import Response, plural
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import opening
from pytest_factorfair.store.durable.outage import PATIENCE, Outage, read
from pytest_factorfair.store.durable.rescue import Rescue
from pytest_factorfair.store.opening import explained
from pytest_factorfair.store.rows import CallTexts, Origin, Write, call_texts, from_body, to_row
from pytest_factorfair.store.schema import (
    BATCH_ITEMS,
    BATCHES,
    COLLECTED,
    RESPONSES,
    SHARDS,
    Lookup,
    PreparedStatement,
    upsert_all,
)
from pytest_factorfair.store.sharing.claims import ClaimRequest, ClaimResult
from pytest_factorfair.store.writer import Writer

if TYPE_CHECKING:
    from pytest_factorfair.store.batches import Batches
    from pytest_factorfair.store.detections import Detections
    from pytest_factorfair.store.pictures import Pictures
    from pytest_factorfair.store.sharing.shards import ShardRow

Rows = Sequence[Any]
CHUNK = 500  # keys per statement, below every database's limit on parameters
PICTURES = Path(".factorfair/images")
_LOCATION, _MARK = "pictures", "pictures_mark"  # the storage of pictures that the user named, and its mark

_WITH_KEYS = RESPONSES.c.key.in_(bindparam("keys", expanding=True))
_FILE = RESPONSES.c.picture, RESPONSES.c.picture_size
_READ = select(RESPONSES.c.key, RESPONSES.c.body, *_FILE)
_TEXTS = select(RESPONSES.c.key, RESPONSES.c.prompt, RESPONSES.c.body).where(_WITH_KEYS)
_BATCHED = select(BATCH_ITEMS.c.key).where(BATCH_ITEMS.c.key.in_(bindparam("keys", expanding=True)))
_SPAN = select(func.min(RESPONSES.c.created), func.max(RESPONSES.c.created)).where(_WITH_KEYS)
_STORED_KEYS = select(RESPONSES.c.key).where(_WITH_KEYS)
_ANY_REUSABLE = select(RESPONSES.c.key).where(RESPONSES.c.reusable).limit(1)
_COUNT = select(func.count(), *_FILE).group_by(*_FILE)
_ANY_PICTURE = select(RESPONSES.c.key).where(RESPONSES.c.picture != "").limit(1)
_ANY_OPEN_BATCH = select(BATCHES.c.name).where(BATCHES.c.state != COLLECTED).limit(1)
_ANY_SHARD = select(SHARDS.c.number).limit(1)
_MARK_LOST = update(RESPONSES).where(_WITH_KEYS).values(reusable=False)


class Store:
    """Responses by key. Any thread may read; writing happens in a separate thread.

    A reusable response is only overwritten by a ``put`` with ``replace``. A response whose picture is missing
    or has another size is not reusable; the content of a picture is checked when it is read. A response that
    was stored before ``since``, a time as ISO text in UTC, counts as missing, but is kept until a reusable
    one replaces it. ``location`` is the store's name in messages: the file, or the URL without its password.
    ``database`` and ``outage`` are for this package only.
    """

    def __init__(  # noqa: PLR0913  # by keyword, from ``open``
        self,
        database: sqlalchemy.Engine,
        location: str,
        pictures: Callable[[], Pictures],
        *,
        folder: Path | None = None,
        outage: Outage | None = None,
        rescue: Rescue | None = None,
        since: str = "",
        writable: Callable[[], sqlalchemy.Engine] | None = None,
    ) -> None:
        """Use ``open`` instead.

        ``pictures`` opens the storage of pictures, which is a ``folder`` unless it is a bucket; ``writable``
        reopens a read-only ``database`` to store detections.
        """
        self.since = since
        self._open_pictures = pictures
        self._folder = folder
        self.database = database
        self.location = location
        self.outage = outage or Outage()
        self._rescue = rescue
        self._read_only = writable is not None
        self._writable = writable or (lambda: database)
        self._writer = Writer(database, location, lambda: self.pictures, self.outage, rescue)
        usable = _WITH_KEYS & RESPONSES.c.reusable
        if since:
            usable &= RESPONSES.c.created >= literal_column(f"'{datetime.fromisoformat(since).isoformat()}'")
        statements = _READ.where(usable), _TEXTS, _COUNT.where(usable), _SPAN, _STORED_KEYS, _BATCHED
        self._read, self._texts, self._count, self._span, self._stored_keys, self._batched = (
            Lookup(statement, database.dialect) for statement in statements
        )

    @classmethod
    def open(  # noqa: PLR0913  # by keyword, each with its default
        cls,
        url: str,
        *,
        read_only: bool = False,
        pictures: str = "",
        folder: Path = PICTURES,
        rescue: Path | None = None,
        patience: float = PATIENCE,
        since: str = "",
    ) -> Self:
        """Open the store at an SQLAlchemy URL, creating it if it does not exist.

        With ``read_only``, nothing is created and no response is accepted; detections are stored only if the
        folder is writable. ``pictures`` is the folder or bucket that the user names for pictures. By default
        they are where the store already has pictures, otherwise in ``images`` next to its file, or in
        ``folder`` if the store is not a file. If the store fails for longer than ``patience`` seconds,
        responses are rescued to the folder ``rescue``.

        Raises:
            StoreError: the URL is wrong, the database is not a response store of this version, its pictures
                are elsewhere, or it cannot be opened.
        """
        parsed_url = opening.parsed(url)
        file = opening.file(parsed_url)
        outage, rescued = Outage(patience), None if rescue is None else Rescue(rescue, parsed_url)
        database = opening.opened(parsed_url, read_only=read_only and not (rescued and rescued.files))
        try:
            stored_place = opening.entries(database, _LOCATION).get(_LOCATION, "")
            own_folder = file.parent / PICTURES.name if file else folder
            address = _located(pictures, stored_place, own_folder, opening.location(parsed_url))
        except BaseException:
            database.dispose()
            raise
        if file is None:
            outage.watch(database)

        def open_pictures() -> Pictures:
            from pytest_factorfair.store.pictures import Folder, shared

            return shared(address, patience) if address else Folder(own_folder)

        writable = partial(opening.opened, parsed_url, read_only=False) if read_only else None
        return cls(
            database,
            opening.location(parsed_url),
            open_pictures,
            folder=None if "://" in address else Path(address or own_folder),
            outage=outage,
            rescue=rescued,
            since=since,
            writable=writable,
        )

    @cached_property
    def pictures(self) -> Pictures:
        """The storage of pictures; a run of text never opens it."""
        return self._open_pictures()

    @cached_property
    def batches(self) -> Batches:
        """The batches of services; a run opens them if it sends some, or if some are open."""
        from pytest_factorfair.store.batches import Batches

        return Batches(self.database, self.location, self.outage, self._writer)

    @property
    def has_open_batches(self) -> bool:
        """Whether the answers of some batch are not collected.

        Raises:
            StoreError: the store cannot be read.
        """

        def rows(connection: sqlalchemy.Connection) -> Rows:
            has_table = inspect(connection).has_table(BATCHES.name)  # stores of earlier versions lack it
            return connection.execute(_ANY_OPEN_BATCH).all() if has_table else ()

        return bool(self._query(rows))

    @cached_property
    def detections(self) -> Detections:
        """The stored detections of pictures."""
        from pytest_factorfair.store.detections import Detections

        return Detections(self.database, self.location, self.pictures, self.outage, writable=self._writable)

    @property
    def unavailable(self) -> bool:
        """Whether it fails, or does not answer, and may come back."""
        return self.outage.ongoing and not self.outage.given_up

    @property
    def given_up(self) -> bool:
        """Whether it was away for longer than anybody waits."""
        return self.outage.given_up

    def take_up(self) -> int:
        """Store the responses that earlier runs rescued, and return their number.

        Raises:
            StoreError: the store cannot be written, or a file of rescued responses is damaged.
        """
        if self._rescue is None or not self._rescue.files:
            return 0
        from pytest_factorfair.store.durable.rescued import take_up

        return take_up(self._rescue.files, self.database, self.pictures, location=self.location)

    def recall(self) -> tuple[int, str]:
        """Rescue responses that this process has stored and the store has lost.

        Returns the number of all rescued responses, and why the store has lost some; "" if it has lost none.
        """
        if self._rescue is None or not self._rescue.remembered:
            return (0 if self._rescue is None else self._rescue.count), ""
        lost: list[str] = []
        why = ""
        try:
            self.verify()
            for chunk in _unique_chunks(self._rescue.remembered):
                stored_keys = {key for (key,) in self._query(partial(self._stored_keys.rows, keys=chunk))}
                lost += [key for key in chunk if key not in stored_keys]
            if lost:
                deleted = plural(len(lost), "response")
                why = f"{self.location}: {deleted} of this run were deleted from the store"
        except StoreError as error:
            if not self.outage.given_up:
                lost, why = list(self._rescue.remembered), str(error)
        try:
            self._rescue.recall(lost)
        except OSError as error:
            why += f"; they are lost: {error}"
        return self._rescue.count, why

    def settle_pictures(self) -> str:
        """Check the storage that the user names for pictures, and record it as the only one of the store.

        Returns the storage's mark; "" for a folder that the user has not named.

        Raises:
            MissingExtraError: the library that reaches the storage is not installed.
            StoreError: the storage does not accept pictures, or the store has pictures elsewhere.
        """
        if not self.pictures.shared:
            return ""
        mark = self.pictures.check()
        picture_entries = opening.entries(self.database, _LOCATION, _MARK)
        if not picture_entries and self._query(lambda connection: connection.execute(_ANY_PICTURE).all()):
            raise StoreError(
                f"{self.location}: its pictures are beside it, not in {self.pictures.location}; copy both: "
                f"factorfair merge OUT {self.location} --pictures={self.pictures.location}"
            )
        if not picture_entries:
            picture_entries = opening.entered(self.database, {_LOCATION: self.pictures.location, _MARK: mark})
        if picture_entries[_MARK] != mark:
            raise StoreError(
                f"{self.location}: its pictures are in {picture_entries[_LOCATION]}, and "
                f"{self.pictures.location} is other storage: name one that all hosts reach"
            )
        return mark

    def sweep(self) -> None:
        """Remove drafts that dead processes left: of the store's file, and of pictures in a folder."""
        if self.database.dialect.name == "sqlite":
            file = Path(self.location)
            process.sweep(file.parent, glob.escape(file.name))
        if self._folder is not None:
            process.sweep(self._folder, "*")

    def verify(self) -> None:
        """Check every page of the store's file.

        Raises:
            StoreError: the file is damaged, or cannot be read.
        """
        try:
            opening.verify(self.database, self.location)
        except OperationalError as error:
            raise explained(self.location, "cannot be read", error) from error

    def responses(self, keys: Iterable[str]) -> dict[str, Response]:
        """The reusable responses for these keys.

        Raises:
            StoreError: the store cannot be read, or a row is damaged.
        """
        responses: dict[str, Response] = {}
        for chunk in _unique_chunks(keys):
            rows = self._query(partial(self._read.rows, keys=chunk))
            lost = self._lost((file, size) for _, _, file, size in rows)
            for key, body, *picture in rows:
                if tuple(picture) not in lost:
                    responses[key] = from_body(body, key=key, location=self.location)
        return responses

    def call_texts(self, keys: Iterable[str]) -> dict[str, CallTexts]:
        """The prompts and responses of these keys, reusable or not, as they are stored or rescued.

        Raises:
            StoreError: the store cannot be read, or a row is damaged.
        """
        requested_keys = tuple(keys)
        stored = {
            key: call_texts(prompt, body, key=key, location=self.location)
            for chunk in _unique_chunks(requested_keys)
            for key, prompt, body in self._query(partial(self._texts.rows, keys=chunk))
        }
        return stored | self.remembered(key for key in requested_keys if key not in stored)

    def remembered(self, keys: Iterable[str]) -> dict[str, CallTexts]:
        """Prompts and responses with these keys that this process has stored, from memory."""
        return {} if self._rescue is None else self._rescue.call_texts(keys)

    def count(self, keys: Iterable[str]) -> int:
        """Count the keys that have a reusable response; a key that is given twice counts twice.

        The keys are consumed in chunks, to save memory.

        Raises:
            StoreError: the store cannot be read.
        """
        count = 0
        for chunk in _unique_chunks(keys):
            rows = self._query(partial(self._count.rows, keys=chunk))
            lost = self._lost((file, size) for _, file, size in rows)
            count += sum(number for number, *picture in rows if tuple(picture) not in lost)
        return count

    def span(self, keys: Iterable[str]) -> tuple[str, str] | None:
        """The times at which the first and the last response with these keys were stored; None without any.

        Raises:
            StoreError: the store cannot be read.
        """
        spans = [
            span
            for chunk in _unique_chunks(keys)
            for span in self._query(partial(self._span.rows, keys=chunk))
            if span[0]
        ]
        return (min(earliest for earliest, _ in spans), max(latest for _, latest in spans)) if spans else None

    @property
    def empty(self) -> bool:
        """Whether the store has no reusable response.

        Raises:
            StoreError: the store cannot be read.
        """
        return not self._query(lambda connection: connection.execute(_ANY_REUSABLE).all())

    def draft(  # noqa: PLR0913  # as many as there are columns
        self,
        key: str,
        response: Response,
        origin: Origin,
        *,
        prompt: str,
        repeat: int,
        seed: int = 0,
        replace: bool = False,
    ) -> Write:
        """Prepare a response for ``put``, with the name of its picture instead of the bytes.

        A picture that already has a name was stored by a replica; ``put`` checks that it exists. ``seed`` and
        the model's identity are stored to explain why another key has no response.

        Raises:
            PictureError: the picture is not a PNG, JPEG or WebP, or its name is not that of a picture.
        """
        light, picture = response, None
        if response.image is not None or response.image_file:
            from pytest_factorfair.store.pictures import Picture, without_bytes

            light = without_bytes(response)
        row = to_row(key, light, origin, prompt=prompt, repeat=repeat, seed=seed)
        if response.image is not None:
            row["picture_size"] = len(response.image)
            line = {"key": key, "model": origin.model, "prompt": prompt, "repeat": repeat, "seed": seed}
            picture = Picture(
                light.image_file, response.image, line | {"identity": json.loads(origin.identity)}
            )
        return Write(light, row, picture, replace or (bool(self.since) and light.reusable))

    def put(self, *writes: Write) -> Future[None]:
        """Write responses; the future is done once they are committed, or fails with StoreError.

        RescuedError means that the responses are safe in a file. Pictures are written first.
        """
        if self._read_only:
            refused: Future[None] = Future()
            refused.set_exception(
                StoreError(f"{self.location}: the response store was opened for reading only")
            )
            return refused
        return self._writer.write(writes)

    def claim(self, keys: Iterable[str], *, refresh: bool = False) -> Future[ClaimResult]:
        """Claim keys, so that no other process asks for them now; the future may fail with StoreError.

        A reusable response that has been stored in the meantime is returned instead of a claim, unless
        ``refresh`` asks for everything again. A claim ends with the ``put`` of its response, with
        ``release``, or when the store is closed.
        """
        return self._writer.do(self._claimed, ClaimRequest(tuple(dict.fromkeys(keys)), refresh))

    def release(self, keys: Iterable[str]) -> Future[None]:
        """Release the claims on keys for which no response will be put."""
        return self._writer.do(self._released, tuple(keys))

    def shards(self) -> tuple[ShardRow, ...]:
        """All shards in the store, by run; the run that began last comes last.

        Raises:
            StoreError: the store cannot be read, or a row is damaged.
        """
        if not self._query(lambda connection: connection.execute(_ANY_SHARD).all()):
            return ()
        from pytest_factorfair.store.sharing.shards import entered

        rows = self._query(lambda connection: entered(connection, self.location))
        last: dict[str, str] = {}
        for row in rows:
            last[row.run] = max(row.began, last.get(row.run, ""))
        return tuple(sorted(rows, key=lambda row: (last[row.run], row.run, row.number)))

    def enter(self, *shards: ShardRow) -> Future[None]:
        """Store the state of shards, replacing their former state."""

        def work(connection: sqlalchemy.Connection, arguments: list[None]) -> list[None]:
            statement = PreparedStatement(upsert_all(connection.dialect.name, SHARDS), connection.dialect)
            statement.execute(connection, [shard.row() for shard in shards])
            return arguments

        return self._writer.do(work, None)

    def close(self) -> None:
        """Commit all writes and release the database; closing twice does nothing."""
        self._writer.close()
        if "detections" in vars(self):
            self.detections.close()
        self.outage.close()
        self.database.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _claimed(self, connection: sqlalchemy.Connection, requests: list[ClaimRequest]) -> list[ClaimResult]:
        claimant = self._writer.claimant
        # Sorted, so that all processes lock rows in the same order.
        keys = sorted({key for request in requests for key in request.keys})
        claimant.begin(connection)
        batched = self._in_batches(connection, keys)
        free = (key for key in keys if key not in batched)
        claimed = {key for chunk in _unique_chunks(free) for key in claimant.claim(connection, chunk)}
        if handed_over := self._in_batches(connection, claimed):  # by another process, since the first look
            claimant.release(connection, handed_over)
            claimed, batched = claimed - handed_over, batched | handed_over
        readable, readable_keys = [request for request in requests if not request.refresh], claimed | batched
        sought = [key for request in readable for key in request.keys if key in readable_keys]
        stored: dict[str, Response] = {}
        for chunk in _unique_chunks(sought):
            rows = self._read.rows(connection, chunk)
            missing = self._lost((file, size) for _, _, file, size in rows)
            lost = {key for key, _, *picture in rows if tuple(picture) in missing}
            if lost:  # rows without their pictures may be replaced
                connection.execute(_MARK_LOST, {"keys": sorted(lost)})
            stored |= {
                key: from_body(body, key=key, location=self.location)
                for key, body, *_ in rows
                if key not in lost
            }
        if stored:
            claimant.release(connection, stored)
        return [request.granted(claimed, batched, stored) for request in requests]

    def _in_batches(self, connection: sqlalchemy.Connection, keys: Iterable[str]) -> set[str]:
        """Those of the keys that are in a batch."""
        return {key for chunk in _unique_chunks(keys) for (key,) in self._batched.rows(connection, chunk)}

    def _released(self, connection: sqlalchemy.Connection, arguments: list[tuple[str, ...]]) -> list[None]:
        self._writer.claimant.release(connection, [key for keys in arguments for key in keys])
        return [None] * len(arguments)

    def _lost(self, pictures: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """The pictures, by name and size, that are missing or have another size."""
        named = [picture for picture in pictures if picture[0]]
        return self.pictures.lost(named) if named else set()

    def _query(self, ask: Callable[[sqlalchemy.Connection], Rows]) -> Rows:
        return read(self.outage, self.database, self.location, ask)


def _located(named: str, stored_place: str, own_folder: Path, where: str) -> str:
    """The address of a store's pictures: ``named`` by the user, otherwise where they are already.

    It is empty for the store's own folder, where the pictures of a new store are. A folder may have
    different paths on different hosts.

    Raises:
        StoreError: the pictures are elsewhere.
    """
    if named and stored_place and named != stored_place and "://" in named + stored_place:
        raise StoreError(
            f"{where}: its pictures are in {stored_place}, not in {named}; leave out "
            "--factorfair-pictures, or name another store"
        )
    address = named or stored_place
    if not address or Path(address) == own_folder.absolute():
        return ""
    if not named and "://" not in address and not Path(address).is_dir():
        raise StoreError(
            f"{where}: its pictures are in {address}, which is not a folder of this host; name it with "
            "--factorfair-pictures"
        )
    return address


def _unique_chunks(keys: Iterable[str]) -> Iterator[list[str]]:
    """Split keys into chunks without duplicates."""
    chunk: dict[str, None] = {}
    for key in keys:
        if key in chunk or len(chunk) == CHUNK:
            yield list(chunk)
            chunk = {}
        chunk[key] = None
    if chunk:
        yield list(chunk)
