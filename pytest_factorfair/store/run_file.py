"""The run's own small file: what all its processes together have asked, may still ask, and when.

One statement decides about one call, so that the limits hold exactly however many processes ask at
once, and whichever of them dies. A call is on the account before it is sent. It is not the response
store: its limits and its account are those of one run.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from pytest_factorfair import process
from pytest_factorfair.domain import Usage, plural
from pytest_factorfair.errors import BudgetError, StoreError

TIMEOUT = 30  # seconds a statement waits for another process's
NO_LIMIT = 9e15
CENT = 0.01

_MAKE = """
PRAGMA journal_mode=WAL;
CREATE TABLE run (
    max_calls REAL, max_cost REAL, deadline REAL, pace REAL, minutes REAL,
    dearest REAL, next REAL DEFAULT 0, ended TEXT
);
CREATE TABLE account (
    id INTEGER PRIMARY KEY, pid INTEGER, calls INTEGER DEFAULT 0, under_way INTEGER DEFAULT 0,
    tokens_in INTEGER DEFAULT 0, tokens_out INTEGER DEFAULT 0,
    spent REAL DEFAULT 0, held REAL DEFAULT 0, unpriced INTEGER DEFAULT 0
);
CREATE VIEW total AS SELECT
    coalesce(sum(calls), 0) AS calls, coalesce(sum(under_way), 0) AS under_way,
    coalesce(sum(tokens_in), 0) AS tokens_in, coalesce(sum(tokens_out), 0) AS tokens_out,
    coalesce(sum(spent), 0) AS spent, coalesce(sum(iif(under_way, held, 0)), 0) AS held,
    coalesce(sum(unpriced), 0) AS unpriced
FROM account;
INSERT INTO run (max_calls, max_cost, deadline, pace, minutes) VALUES (%r, %r, %r, %r, %r);
"""
# What a call may cost: its own estimate, or what the dearest one has cost; of the first of unknown price
# nothing is known, so it goes alone.
_PRICE = "coalesce(max(:estimate, dearest), :estimate, dearest)"
_AFFORDED = f"""
max_cost = {NO_LIMIT!r} OR spent + held + coalesce({_PRICE}, 0) <= max_cost * 1.000001
    AND ({_PRICE} IS NOT NULL OR under_way = 0)
"""
_TAKE = f"""
UPDATE run SET next = max(next, :now) + pace FROM total
WHERE calls < max_calls AND max(next, :now) < deadline AND ({_AFFORDED})
RETURNING next - pace - :now AS wait, {_PRICE} AS reserved
"""  # noqa: S608  # only our own words are put together, here and below
_BOOK = """
UPDATE account SET calls = calls + ?, under_way = under_way + ?, tokens_in = tokens_in + ?,
    tokens_out = tokens_out + ?, spent = spent + ?, held = held + ?, unpriced = unpriced + ?
WHERE id = ?
"""
_DEAREST = "UPDATE run SET dearest = max(coalesce(dearest, 0), ?)"
_END = "UPDATE run SET ended = coalesce(ended, :reason)"
_STATE = f"""
SELECT calls >= max_calls, max(next, :now) >= deadline, max_calls, max_cost, minutes, spent,
    coalesce({_PRICE}, 0), spent + coalesce({_PRICE}, 0) <= max_cost * 1.000001
FROM run, total
"""  # noqa: S608
_USAGE = "SELECT calls, 0, tokens_in, tokens_out, iif(unpriced, NULL, spent + held) FROM total"
_BURY = "UPDATE account SET spent = spent + held, held = 0, under_way = 0 WHERE pid = ?"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a run may use at most; None is no limit. ``cost`` is in USD, ``rpm`` calls a minute."""

    calls: int | None = None
    cost: float | None = None
    minutes: float | None = None
    rpm: int | None = None

    @property
    def any(self) -> bool:
        """Whether calls are granted one by one."""
        return (self.calls, self.cost, self.minutes, self.rpm) != (None,) * 4


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave for one call: it may start in ``wait`` seconds.

    ``reserved`` USD are set aside for it, and its price list says that it costs ``estimate`` at most; None
    is unknown.
    """

    wait: float = 0.0
    reserved: float | None = None
    estimate: float | None = None


class Entry(NamedTuple):
    """What is added to the account of a process. ``held`` USD may still be spent by calls under way;
    ``unpriced`` is the number of calls whose price is unknown.
    """

    calls: int = 0
    under_way: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    spent: float = 0.0
    held: float = 0.0
    unpriced: int = 0

    @classmethod
    def sent(cls, grant: Grant) -> Self:
        """A call that is about to be sent."""
        return cls(calls=1, under_way=1, held=grant.reserved or 0.0, unpriced=grant.reserved is None)

    @classmethod
    def settled(cls, grant: Grant, cost: float | None, tokens_in: int = 0, tokens_out: int = 0) -> Self:
        """A call that was sent and has come to an end; None is an unknown cost."""
        unpriced = (cost is None) - (grant.reserved is None)
        return cls(0, -1, tokens_in, tokens_out, cost or 0.0, -(grant.reserved or 0.0), unpriced)

    @classmethod
    def total(cls, entries: Iterable[Entry]) -> Self:
        return cls._make(map(sum, zip(cls(), *entries, strict=True)))

    def negative(self) -> Entry:
        return Entry._make(-each for each in self)


class RunFile:
    """One process's hold on the file; its methods may be called from one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._account = 0
        # autocommit, and no waiting for the disk: after a power failure there is no run left to limit
        self._connection = sqlite3.connect(
            path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA synchronous=OFF")

    @classmethod
    def make(cls, path: Path, ceilings: Ceilings, *, now: float) -> Self:
        """Make the file; the minutes of the run begin to count.

        Raises:
            StoreError: it cannot be written.
        """
        most = (ceilings.calls, ceilings.cost, ceilings.minutes and now + 60 * ceilings.minutes)
        limits = [NO_LIMIT if limit is None else limit for limit in most]
        try:
            made = cls(path)
            pace = 60 / ceilings.rpm if ceilings.rpm else 0.0
            made._connection.executescript(_MAKE % (*limits, pace, ceilings.minutes or 0.0))
        except sqlite3.Error as error:
            raise StoreError(f"{path}: the account of the run cannot be kept there: {error}") from None
        return made

    @classmethod
    def open(cls, path: Path) -> Self:
        """Take hold of the file the controlling process made, with an account of this process's own.

        Raises:
            StoreError: it is not there: this process runs on another machine.
        """
        if not path.is_file():
            raise StoreError(f"{path}: no such file: the limits of a run hold on one machine only")
        file = cls(path)
        with _explained(path):
            row = file._connection.execute("INSERT INTO account (pid) VALUES (?)", (os.getpid(),))
        file._account = row.lastrowid or 0
        return file

    def take(self, *, estimate: float | None, now: float) -> Grant | None:
        """Leave for one call of at most ``estimate`` USD; what the dearest has cost, if that is more.

        None is for now: it depends on what calls under way will have cost.

        Raises:
            BudgetError: a limit is used up, or the run was ended.
            StoreError: the file is gone or damaged.
        """
        values = {"estimate": estimate, "now": now}
        with self._transaction():
            self._raise_if_ended()
            row = self._connection.execute(_TAKE, values).fetchone()
            if row is not None:
                wait, reserved = row
                grant = Grant(wait, reserved, estimate)
                self._book(Entry.sent(grant))
                return grant
            reason = self._reason(values)
            if reason is None:
                self._bury()
                return None
            self._connection.execute(_END, {"reason": reason})
        raise BudgetError(reason)

    def send(self, entry: Entry) -> None:
        """Put calls on the account of a run without limits.

        Raises:
            BudgetError: the run was ended; nothing is put there.
            StoreError: the file is gone or damaged.
        """
        with self._transaction():
            self._raise_if_ended()
            self._book(entry)

    def settle(self, entry: Entry, *, dearest: float | None = None) -> None:
        """Replace what was set aside for calls by what they came to; no answer cost more than ``dearest``."""
        with self._transaction():
            self._book(entry)
            if dearest is not None:
                self._connection.execute(_DEAREST, (dearest,))

    def end(self, reason: str) -> None:
        """Grant no more, in any process; the first reason stays."""
        with _explained(self._path):
            self._connection.execute(_END, {"reason": reason})

    @property
    def ended(self) -> str | None:
        """Why no more calls are granted; None while some may be."""
        with _explained(self._path):
            ended: str | None = self._connection.execute("SELECT ended FROM run").fetchone()[0]
        return ended

    @property
    def usage(self) -> Usage:
        """What all processes together have asked; calls under way count at what is set aside for them."""
        with _explained(self._path):
            return Usage(*self._connection.execute(_USAGE).fetchone())

    def close(self) -> None:
        self._connection.close()

    def _book(self, entry: Entry) -> None:
        self._connection.execute(_BOOK, (*entry, self._account))

    def _bury(self) -> None:
        """What a dead process had under way may have been paid for: it is taken as spent."""
        alive = "SELECT DISTINCT pid FROM account WHERE under_way"
        for (pid,) in self._connection.execute(alive).fetchall():
            if not process.alive(pid):
                self._connection.execute(_BURY, (pid,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _explained(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    def _raise_if_ended(self) -> None:
        if reason := self.ended:
            raise BudgetError(reason)

    def _reason(self, values: dict[str, float | None]) -> str | None:
        """Why no call is granted; None where one may be once those under way are settled."""
        calls, late, max_calls, max_cost, minutes, spent, price, affordable = self._connection.execute(
            _STATE, values
        ).fetchone()
        if calls:
            return f"the budget of {plural(int(max_calls), 'call')} is used up"
        if late:
            return f"the budget of {plural(minutes, 'minute')} is used up"
        if affordable:
            return None
        used_up = f"the budget of ${max_cost:,.2f} is used up"
        left = max_cost - spent
        if left <= CENT / 100:
            return used_up
        return f"{used_up} but for ${left:,.4f}, and a call may cost ${price:,.4f}"


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: the account of the run cannot be kept: {error}") from None
