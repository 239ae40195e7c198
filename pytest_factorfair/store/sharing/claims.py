"""Claims on keys: no two processes ask for the same key at the same time.

A claim ends when its response is committed, when it is released, or when its owner is dead: a process of this
host that is gone, or one that has given no sign of life for a while. Everything here runs in a transaction of
the writer, and by the clock of the database, because the clocks of hosts may differ by hours.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import (
    BindParameter,
    Connection,
    Dialect,
    Float,
    bindparam,
    cast,
    delete,
    extract,
    func,
    insert,
    select,
    update,
)

from pytest_factorfair import process
from pytest_factorfair.domain import Response
from pytest_factorfair.store.schema import CLAIMS, OWNERS, PreparedStatement, insert_new

LEASE = 60.0
"""Seconds a process may be silent before others may take its claims."""
BEAT = 15.0
"""Seconds between two signs of life."""

_AMONG = CLAIMS.c.key.in_(bindparam("keys", expanding=True))
_HOLDERS = select(CLAIMS.c.key, CLAIMS.c.owner).where(_AMONG)
# One key per row: a statement for many keys at once is compiled again for every number of keys.
_RELEASE = delete(CLAIMS).where((CLAIMS.c.key == bindparam("key_")) & (CLAIMS.c.owner == bindparam("me")))
_OF: BindParameter[str] = bindparam("owner_", expanding=True)
_MOMENT = select(cast(extract("epoch", func.clock_timestamp()), Float))


def moment(connection: Connection) -> float:
    """The time by the clock of the database, in seconds since 1970."""
    if connection.dialect.name == "sqlite":  # its clock is that of this host
        return time.time()
    database_time: float = connection.execute(_MOMENT).scalar_one()
    return database_time


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The result of a claim: ``mine`` to ask, ``theirs`` to wait for, and stored responses.

    Keys that are ``batched`` are in a batch, which a service answers.
    """

    mine: tuple[str, ...]
    theirs: tuple[str, ...]
    had: dict[str, Response] = field(default_factory=dict)
    batched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """Keys to claim, and whether to ask them again even if the store has their responses."""

    keys: tuple[str, ...]
    refresh: bool

    def granted(
        self, claimed: Collection[str], batched: Collection[str], stored: Mapping[str, Response]
    ) -> ClaimResult:
        """The result for these keys: some are ``claimed`` or ``batched``, and some responses ``stored``."""
        unanswered = [key for key in self.keys if key not in stored]
        return ClaimResult(
            mine=tuple(key for key in unanswered if key in claimed),
            theirs=tuple(key for key in unanswered if key not in claimed and key not in batched),
            batched=tuple(key for key in unanswered if key in batched),
            had={key: stored[key] for key in self.keys if key in stored},
        )


class Claimant:
    """This process as an owner of claims."""

    def __init__(self, dialect: Dialect) -> None:
        self.name = self._me = uuid.uuid4().hex
        self._insert = PreparedStatement(insert_new(dialect.name, CLAIMS), dialect)
        self._release = PreparedStatement(_RELEASE, dialect)
        self._last_heartbeat = float("-inf")  # by the monotonic clock of this process

    @property
    def active(self) -> bool:
        """Whether it has ever claimed anything."""
        return self._last_heartbeat > float("-inf")

    @property
    def due(self) -> bool:
        """Whether it is time for a sign of life."""
        return self.active and time.monotonic() - self._last_heartbeat >= BEAT

    def begin(self, connection: Connection) -> None:
        """Become an owner, unless it is one already."""
        if not self.active:
            self.enter(connection)

    def lives(self, connection: Connection, owner: str) -> bool:
        """Whether another process is alive; a dead one is deleted."""
        self.delete_dead(connection, [owner])
        query = select(OWNERS.c.owner).where(OWNERS.c.owner == owner)
        return connection.execute(query).scalar() is not None

    def claim(self, connection: Connection, keys: Sequence[str]) -> list[str]:
        """Claim the keys that no other live process holds; return those that this process holds now."""
        holders = self._claimed(connection, keys)
        if other_owners := set(holders.values()) - {self._me}:
            self.delete_dead(connection, other_owners)
            holders = self._claimed(connection, keys)
        return [key for key, holder in holders.items() if holder == self._me]

    def release(self, connection: Connection, keys: Iterable[str]) -> None:
        """Release claims, except those that another process has taken over."""
        if released := [{"key_": key, "me": self._me} for key in keys]:
            self._release.execute(connection, released)

    def heartbeat(self, connection: Connection) -> None:
        """Give a sign of life."""
        self._last_heartbeat = time.monotonic()
        row = {"host": process.host(), "pid": os.getpid(), "until": moment(connection) + LEASE}
        if not connection.execute(update(OWNERS).where(OWNERS.c.owner == self._me).values(row)).rowcount:
            connection.execute(insert(OWNERS), {"owner": self._me, **row})  # another process took it for dead

    def leave(self, connection: Connection) -> None:
        """Release all claims."""
        _forget(connection, [self._me])

    def _claimed(self, connection: Connection, keys: Sequence[str]) -> dict[str, str]:
        """Claim the keys; return the owner of each."""
        if self._insert.execute(connection, [{"key": key, "owner": self._me} for key in keys]) == len(keys):
            return dict.fromkeys(keys, self._me)
        holders = connection.execute(_HOLDERS, {"keys": keys})
        return {row.key: row.owner for row in holders}

    def enter(self, connection: Connection) -> None:
        """Become an owner, and delete the dead ones of former runs."""
        self.heartbeat(connection)
        self.delete_dead(connection)

    def delete_dead(self, connection: Connection, owners: Collection[str] | None = None) -> None:
        """Delete the dead among these owners, or among all, and their claims."""
        if owners is None:
            owners = (
                connection.execute(select(OWNERS.c.owner).where(OWNERS.c.owner != self._me)).scalars().all()
            )
        rows = connection.execute(select(OWNERS).where(OWNERS.c.owner.in_(_OF)), {"owner_": list(owners)})
        database_time = moment(connection)
        alive = {
            row.owner
            for row in rows
            if database_time < row.until and (row.host != process.host() or process.alive(row.pid))
        }
        _forget(connection, sorted({*owners} - alive))


def _forget(connection: Connection, owners: list[str]) -> None:
    if owners:
        for table in (CLAIMS, OWNERS):
            connection.execute(delete(table).where(table.c.owner.in_(_OF)), {"owner_": owners})
