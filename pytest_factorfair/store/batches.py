"""The batches that services answer: which keys are in them, and how far each has come.

The row of a batch is written before anything is sent, and its state before and after the call that creates
it. So a run that was killed at any moment leaves a row that says what the next run must do.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

import sqlalchemy
from sqlalchemy import Connection, delete, insert, inspect, select, update

from pytest_factorfair.errors import AGAIN, TO_DO, InputError, PendingError
from pytest_factorfair.store import schema
from pytest_factorfair.store.durable.outage import Outage, read
from pytest_factorfair.store.schema import BATCH_ITEMS, BATCHES

if TYPE_CHECKING:
    from pytest_factorfair.store.writer import Writer


class Step(StrEnum):
    """How far a batch has come.

    Nothing was sent of a ``planned`` batch. One that is being ``creating`` may exist at the service or not.
    All answers of a ``collected`` batch are stored, and its other keys are free.
    """

    PLANNED = "planned"
    UPLOADED = "uploaded"
    CREATING = "creating"
    SUBMITTED = "submitted"
    ENDED = "ended"
    COLLECTED = schema.COLLECTED


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One request of a batch; ``tries`` counts the batches that did not answer it before."""

    key: str
    prompt: str
    repeat: int
    seed: int
    tries: int = 0


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch of a ``service``, which it knows by ``file_id`` and ``batch_id``.

    ``account`` identifies the API key. ``form`` is how its requests are formed, as JSON. ``held`` USD are the
    most that it can cost, and the prices those of its tokens and answers; None is unknown. ``replace`` means
    that its answers replace stored ones. ``submitted`` is when it was being created, and ``cause`` why it
    failed. Only the process ``collector`` changes it, while that is alive.
    """

    name: str
    service: str
    account: str
    model: str
    identity: str
    form: str
    lines: int
    held: float | None
    price_in: float | None
    price_out: float | None
    price_answer: float | None
    replace: bool
    created: float
    state: str = Step.PLANNED
    file_id: str = ""
    batch_id: str = ""
    submitted: float | None = None
    expires: float | None = None
    cause: str = ""
    collector: str = ""

    @classmethod
    def new_name(cls) -> str:
        return uuid.uuid4().hex

    @property
    def short(self) -> str:
        """The beginning of its name, by which commands find it."""
        return self.name[:8]

    @property
    def formed(self) -> tuple[str, ...]:
        """The form of its requests."""
        return tuple(json.loads(self.form))


class Batches:
    """The batches of a store. A change is a transaction of the writer that is synced to disk."""

    def __init__(self, database: sqlalchemy.Engine, location: str, outage: Outage, writer: Writer) -> None:
        self._location = location
        self._writer = writer
        self._query = partial(read, outage, database, location)

    def open(self) -> list[BatchRow]:
        """The batches whose answers are not collected, the oldest first.

        Raises:
            StoreError: the store cannot be read.
        """
        return [row for row in self.all() if row.state != Step.COLLECTED]

    def all(self) -> list[BatchRow]:
        """All batches, the oldest first.

        Raises:
            StoreError: the store cannot be read.
        """

        def rows(connection: Connection) -> Sequence[Any]:
            if not inspect(connection).has_table(BATCHES.name):
                return []
            columns = [BATCHES.c[field.name] for field in fields(BatchRow)]
            return connection.execute(select(*columns).order_by(BATCHES.c.created, BATCHES.c.name)).all()

        return [BatchRow(*row) for row in self._query(rows)]

    def named(self, name: str) -> BatchRow:
        """The batch with this name, or the only one whose name begins so.

        Raises:
            InputError: there is none, or there are several.
        """
        rows = [row for row in self.open() if row.name.startswith(name)]
        if len(rows) != 1:
            names = ", ".join(row.name for row in self.open()) or "none"
            problem = "no open batch" if not rows else "several open batches"
            raise InputError(f"{self._location}: {problem} with the name '{name}'; open: {names}")
        return rows[0]

    def items(self, name: str) -> list[BatchItem]:
        """The requests of a batch that are not answered yet.

        Raises:
            StoreError: the store cannot be read.
        """
        columns = [BATCH_ITEMS.c[field.name] for field in fields(BatchItem)]
        query = select(*columns).where(BATCH_ITEMS.c.batch == name).order_by(BATCH_ITEMS.c.key)
        return [BatchItem(*row) for row in self._query(lambda connection: connection.execute(query).all())]

    def holding(self, keys: Iterable[str]) -> list[BatchRow]:
        """The open batches with some of these keys, the oldest first.

        Raises:
            StoreError: the store cannot be read.
        """
        if not (rows := self.open()):
            return []
        wanted = frozenset(keys)
        query = select(BATCH_ITEMS.c.batch, BATCH_ITEMS.c.key)
        items = self._query(lambda connection: connection.execute(query).all())
        names = {batch for batch, key in items if key in wanted}
        return [row for row in rows if row.name in names]

    def pending(self, keys: Iterable[str]) -> PendingError | None:
        """The error of a run that needs some of these keys; None if no open batch has them.

        Raises:
            StoreError: the store cannot be read.
        """
        rows = self.holding(keys)
        return pending(rows) if rows else None

    def plan(self, row: BatchRow, items: Sequence[BatchItem]) -> Future[None]:
        """Enter a batch, and hand over the claims on its keys to it. This process is its collector."""

        def work(connection: Connection) -> None:
            connection.execute(insert(BATCHES), asdict(row) | {"collector": self._writer.claimant.name})
            connection.execute(insert(BATCH_ITEMS), [asdict(item) | {"batch": row.name} for item in items])
            self._writer.claimant.release(connection, [item.key for item in items])

        return self._do(work)

    def update(self, name: str, **values: object) -> Future[None]:
        """Change columns of a batch."""
        statement = update(BATCHES).where(BATCHES.c.name == name).values(**values)

        def work(connection: Connection) -> None:
            connection.execute(statement)

        return self._do(work)

    def lead(self, name: str) -> Future[bool]:
        """Become the collector of a batch, unless another process is; return whether this process is it."""

        def work(connection: Connection) -> bool:
            collector = self._writer.claimant.name
            self._writer.claimant.begin(connection)
            query = select(BATCHES.c.collector).where(BATCHES.c.name == name).with_for_update()
            holder = connection.execute(query).scalar()
            if holder is None:
                return False
            if holder not in ("", collector) and self._writer.claimant.lives(connection, holder):
                return False
            connection.execute(update(BATCHES).where(BATCHES.c.name == name).values(collector=collector))
            return True

        return self._do(work)

    def end(self, name: str, cause: str = "") -> Future[None]:
        """Note that a batch is collected, or has failed because of ``cause``, and free its other keys."""

        def work(connection: Connection) -> None:
            connection.execute(delete(BATCH_ITEMS).where(BATCH_ITEMS.c.batch == name))
            values = {"state": Step.COLLECTED, "held": 0.0, "cause": cause, "collector": ""}
            connection.execute(update(BATCHES).where(BATCHES.c.name == name).values(values))

        return self._do(work)

    def delete(self, name: str) -> Future[None]:
        """Delete a batch and free its keys."""

        def work(connection: Connection) -> None:
            connection.execute(delete(BATCH_ITEMS).where(BATCH_ITEMS.c.batch == name))
            connection.execute(delete(BATCHES).where(BATCHES.c.name == name))

        return self._do(work)

    def _do(self, work: Callable[[Connection], Any]) -> Future[Any]:
        def run(connection: Connection, arguments: Sequence[Mapping[str, object]]) -> list[Any]:
            return [work(connection) for _ in arguments]

        return self._writer.do(run, {}, lasting=True)


def pending(rows: Sequence[BatchRow]) -> PendingError:
    """The error of a run that leaves these batches to a later one."""
    if not rows:
        return PendingError(f"no limit allows another batch now{TO_DO}{AGAIN} later")
    lines = sum(row.lines for row in rows)
    batches = "1 batch" if len(rows) == 1 else f"{len(rows)} batches"
    expires = [row.expires for row in rows if row.expires is not None]
    by = f", by {_minute(min(expires))}" if expires else ""
    since = _minute(min(row.created for row in rows))
    return PendingError(
        f"{lines:,} answers are in {batches} at {rows[0].service} since {since}{TO_DO}{AGAIN}{by}"
    )


def _minute(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
