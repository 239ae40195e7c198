"""The run's own small file: what all its processes together may still ask, and when.

One statement decides about one call, so that the limits hold exactly however many processes ask at
once, and whichever of them dies. It is not the response store: its limits are those of one run.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_factorfair import process
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import BudgetError, StoreError

TIMEOUT = 30  # seconds a statement waits for another process's
NO_LIMIT = 9e15
CENT = 0.01

_MAKE = """
PRAGMA journal_mode=WAL;
CREATE TABLE run (
    max_calls REAL, max_cost REAL, deadline REAL, pace REAL, minutes REAL,
    calls INTEGER DEFAULT 0, spent REAL DEFAULT 0, dearest REAL, next REAL DEFAULT 0, ended TEXT
);
CREATE TABLE under_way (id INTEGER PRIMARY KEY, pid INTEGER, usd REAL);
INSERT INTO run (max_calls, max_cost, deadline, pace, minutes) VALUES (%r, %r, %r, %r, %r);
"""
# What a call may cost: its own estimate, or what the dearest one has cost; of the first of unknown price
# nothing is known, so it goes alone.
_PRICE = "max(:estimate, coalesce(dearest, 0))"
_HELD = "(SELECT coalesce(sum(usd), 0) FROM under_way)"
_AFFORDED = f"""
max_cost = {NO_LIMIT!r} OR spent + {_HELD} + {_PRICE} <= max_cost * 1.000001
    AND ({_PRICE} > 0 OR dearest IS NOT NULL OR NOT EXISTS (SELECT * FROM under_way))
"""  # noqa: S608  # only our own words are put together, here and twice below
_TAKE = f"""
UPDATE run SET calls = calls + 1, next = max(next, :now) + pace
WHERE ended IS NULL AND calls < max_calls AND max(next, :now) < deadline AND ({_AFFORDED})
RETURNING next - pace - :now AS wait, {_PRICE} AS reserved, max_cost < {NO_LIMIT!r} AS priced
"""  # noqa: S608
_HOLD = "INSERT INTO under_way (pid, usd) VALUES (:pid, :usd)"
_SETTLE = """
UPDATE run SET spent = spent + :cost, dearest = CASE WHEN :answered THEN max(coalesce(dearest, 0), :cost)
    ELSE dearest END
"""
_END = "UPDATE run SET ended = coalesce(ended, :reason)"
_STATE = f"""
SELECT ended, calls >= max_calls, max(next, :now) >= deadline, max_calls, max_cost, minutes, spent, {_PRICE},
    spent + {_PRICE} <= max_cost * 1.000001
FROM run
"""  # noqa: S608
_BURY = "UPDATE run SET spent = spent + (SELECT coalesce(sum(usd), 0) FROM under_way WHERE pid = :pid)"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a run may use at most; None is no limit. ``cost`` is in USD, ``rpm`` calls a minute."""

    calls: int | None = None
    cost: float | None = None
    minutes: float | None = None
    rpm: int | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave for one call: it may start in ``wait`` seconds; ``reserved`` USD are set aside for ``number``."""

    wait: float
    reserved: float = 0.0
    number: int = 0


class RunFile:
    """One process's hold on the file; its methods may be called from one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # autocommit, and no waiting for the disk: after a power failure there is no run left to limit
        self._connection = sqlite3.connect(
            path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA synchronous=OFF")

    @classmethod
    def make(cls, path: Path, ceilings: Ceilings, *, now: float) -> None:
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
            made.close()
        except sqlite3.Error as error:
            raise StoreError(f"{path}: the limits of the run cannot be kept there: {error}") from None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Take hold of the file the controlling process made.

        Raises:
            StoreError: it is not there: this process runs on another machine.
        """
        if not path.is_file():
            raise StoreError(f"{path}: no such file: the limits of a run hold on one machine only")
        return cls(path)

    def take(self, *, estimate: float, now: float) -> Grant | None:
        """Leave for one call of at most ``estimate`` USD; what the dearest has cost, if that is more.

        None is for now: it depends on what calls under way will have cost.

        Raises:
            BudgetError: a limit is used up, or the run was ended.
            StoreError: the file is gone or damaged.
        """
        values = {"estimate": estimate, "now": now}
        with self._transaction():
            row = self._connection.execute(_TAKE, values).fetchone()
            if row is not None:
                wait, price, priced = row
                number = self._hold(price) if priced else 0
                return Grant(wait, price if priced else 0.0, number)
            reason = self._reason(values)
            if reason is None:
                self._bury()
                return None
            self._connection.execute(_END, {"reason": reason})
        raise BudgetError(self.ended or "")

    def settle(self, number: int, cost: float, *, answered: bool) -> None:
        """Replace what was set aside for a call by what it cost."""
        with self._transaction():
            self._connection.execute(_SETTLE, {"cost": cost, "answered": answered})
            self._connection.execute("DELETE FROM under_way WHERE id = ?", (number,))

    def end(self, reason: str) -> None:
        """Grant no more; the first reason stays."""
        with _explained(self._path):
            self._connection.execute(_END, {"reason": reason})

    @property
    def ended(self) -> str | None:
        """Why no more calls are granted; None while some may be."""
        with _explained(self._path):
            ended: str | None = self._connection.execute("SELECT ended FROM run").fetchone()[0]
        return ended

    def close(self) -> None:
        self._connection.close()

    @classmethod
    def ended_at(cls, path: Path) -> str | None:
        """Why the run of this file grants no more calls, None while it does or where there is no file."""
        if not path.is_file():
            return None
        file = cls(path)
        try:
            return file.ended
        finally:
            file.close()

    @classmethod
    def end_at(cls, path: Path, reason: str) -> None:
        """Have the run of this file grant no more calls, where there is the file."""
        if path.is_file():
            file = cls(path)
            try:
                file.end(reason)
            finally:
                file.close()

    def _hold(self, price: float) -> int:
        row = self._connection.execute(_HOLD, {"pid": os.getpid(), "usd": price})
        return row.lastrowid or 0

    def _bury(self) -> None:
        """What a dead process had under way may have been paid for: it is taken as spent."""
        for (pid,) in self._connection.execute("SELECT DISTINCT pid FROM under_way").fetchall():
            if not process.alive(pid):
                self._connection.execute(_BURY, {"pid": pid})
                self._connection.execute("DELETE FROM under_way WHERE pid = ?", (pid,))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _explained(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    def _reason(self, values: Mapping[str, float]) -> str | None:
        """Why no call is granted; None where one may be once those under way are settled."""
        ended, calls, late, max_calls, max_cost, minutes, spent, price, affordable = self._connection.execute(
            _STATE, values
        ).fetchone()
        if ended:
            return str(ended)
        if calls:
            return f"the budget of {plural(int(max_calls), 'call')} is used up"
        if late:
            return f"the budget of {plural(minutes, 'minute')} is used up"
        if affordable:
            return None
        told = f"the budget of ${max_cost:,.2f} is used up"
        left = max_cost - spent
        return (
            f"{told} but for ${left:,.4f}, and a call may cost ${price:,.4f}" if left > CENT / 100 else told
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: the limits of the run cannot be kept: {error}") from None
