"""The shards of a run: their state and usage, for the process that judges them together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from sqlalchemy import ColumnElement, Connection, inspect, select, true, update

from pytest_factorfair.domain import Usage
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store.rows import CANONICAL
from pytest_factorfair.store.schema import ACCOUNTS, SHARDS

_AMOUNTS = tuple(
    ACCOUNTS.c[name]
    for name in ("calls", "tokens_in", "tokens_out", "unpriced", "estimated", "spent", "held")
)
_ALL = true()


@dataclass(frozen=True, slots=True)
class ShardRow:
    """One of the ``count`` shards of a run, numbered from 1; all have the same ``fingerprint``.

    ``began`` is the time at which it first started, as ISO text. ``finished`` is whether it has asked all of
    its cases. ``session`` is the session that asks it now, whose usage is added when it ends or is found
    dead.
    """

    number: int
    count: int
    fingerprint: Mapping[str, Any]
    began: str
    finished: bool = False
    usage: Usage = field(default_factory=Usage)
    session: str = ""

    @property
    def run(self) -> str:
        """The hash of the fingerprint."""
        return hashlib.sha256(CANONICAL.encode(dict(self.fingerprint)).encode("ascii")).hexdigest()

    def row(self) -> dict[str, object]:
        """The shard as a row of the database."""
        return {
            "run": self.run,
            "number": self.number,
            "count": self.count,
            "fingerprint": CANONICAL.encode(dict(self.fingerprint)),
            "began": self.began,
            "finished": self.finished,
            "usage": json.dumps(asdict(self.usage)),
            "session": self.session,
        }

    @classmethod
    def of(cls, row: Mapping[Any, Any], *, location: str) -> Self:
        """Build a shard from a row of the database.

        Raises:
            StoreError: the row is damaged.
        """
        try:
            fingerprint, usage = json.loads(row["fingerprint"]), Usage(**json.loads(row["usage"]))
            return cls(
                number=row["number"],
                count=row["count"],
                fingerprint=dict(fingerprint),
                began=row["began"],
                finished=bool(row["finished"]),
                usage=usage,
            )
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{location}: the row of shard {row['number']} is damaged: run the shard again"
            ) from error


def accounts(connection: Connection, session: str) -> dict[str, Usage]:
    """The usage of each process of a session; calls in flight count with the cost reserved for them."""
    rows = connection.execute(select(ACCOUNTS.c.owner, *_AMOUNTS).where(ACCOUNTS.c.session == session))
    return {
        owner: Usage(calls, 0, tokens_in, tokens_out, None if unpriced else spent + held, estimated=estimated)
        for owner, calls, tokens_in, tokens_out, unpriced, estimated, spent, held in rows
    }


def entered(connection: Connection, location: str, condition: ColumnElement[bool] = _ALL) -> list[ShardRow]:
    """Read the shards that meet a condition; their usage includes that of the session that asks them now.

    Raises:
        StoreError: a row is damaged.
    """
    rows = connection.execute(select(SHARDS).where(condition)).mappings().all()
    # A store with which nothing was ever asked has no accounts.
    begun = any(row["session"] for row in rows) and inspect(connection).has_table(ACCOUNTS.name)
    shards = []
    for row in rows:
        shard = ShardRow.of(row, location=location)
        session_usages = accounts(connection, row["session"]).values() if row["session"] and begun else ()
        shards.append(replace(shard, usage=sum(session_usages, shard.usage)))
    return shards


def settle(connection: Connection, location: str, ended: ColumnElement[bool]) -> None:
    """Add the usage of ended sessions to their shards, so that their accounts can be deleted.

    Raises:
        StoreError: a row is damaged.
    """
    for shard in entered(connection, location, ended & (SHARDS.c.session != "")):
        same_shard = (SHARDS.c.run == shard.run) & (SHARDS.c.number == shard.number)
        connection.execute(update(SHARDS).where(same_shard).values(shard.row()))
