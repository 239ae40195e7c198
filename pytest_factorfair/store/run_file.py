"""The run's own small file: what all its processes together may still ask, and when.

One statement decides about one call, so that the limits hold exactly however many processes ask at
once, and whichever of them dies. It is not the response store: its limits are those of one run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_factorfair.errors import BudgetError, StoreError

TIMEOUT = 30  # seconds a statement waits for another process's
NO_LIMIT = 9e15

_MAKE = """
PRAGMA journal_mode=WAL;
CREATE TABLE run (
    max_calls REAL, max_cost REAL, deadline REAL, pace REAL, minutes REAL,
    calls INTEGER DEFAULT 0, spent REAL DEFAULT 0, reserved REAL DEFAULT 0, settled INTEGER DEFAULT 0,
    next REAL DEFAULT 0, ended TEXT
);
INSERT INTO run (max_calls, max_cost, deadline, pace, minutes) VALUES (%r, %r, %r, %r, %r);
"""
_PRICE = "max(:estimate, spent / max(settled, 1))"
_TAKE = f"""
UPDATE run SET calls = calls + 1, reserved = reserved + {_PRICE}, next = max(next, :now) + pace
WHERE ended IS NULL AND calls < max_calls AND spent + reserved + {_PRICE} <= max_cost * 1.000001
    AND max(next, :now) < deadline
RETURNING next - pace - :now AS wait, {_PRICE} AS reserved
"""  # noqa: S608  # only our own words are put together
_SETTLE = """
UPDATE run SET spent = spent + :cost, reserved = max(reserved - :reserved, 0), settled = settled + :answered
"""
_END = "UPDATE run SET ended = coalesce(ended, :reason)"
_STATE = (
    "SELECT ended, calls >= max_calls, max(next, :now) >= deadline, max_calls, max_cost, minutes FROM run"
)


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a run may use at most; None is no limit. ``cost`` is in USD, ``rpm`` calls a minute."""

    calls: int | None = None
    cost: float | None = None
    minutes: float | None = None
    rpm: int | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave for one call: it may start in ``wait`` seconds, and ``reserved`` USD are set aside for it."""

    wait: float
    reserved: float


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

    def take(self, *, estimate: float, now: float) -> Grant:
        """Leave for one call of about ``estimate`` USD; the mean of what calls have cost, if that is more.

        Raises:
            BudgetError: a limit is used up, or the run was ended.
            StoreError: the file is gone or damaged.
        """
        with _explained(self._path):
            row = self._connection.execute(_TAKE, {"estimate": estimate, "now": now}).fetchone()
            if row is not None:
                return Grant(*row)
            self.end(self._reason(now))
        raise BudgetError(self.ended or "")

    def settle(self, reserved: float, cost: float, *, answered: bool) -> None:
        """Replace what was set aside for a call by what it cost."""
        with _explained(self._path):
            self._connection.execute(_SETTLE, {"reserved": reserved, "cost": cost, "answered": answered})

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

    def _reason(self, now: float) -> str:
        ended, calls, late, max_calls, max_cost, minutes = self._connection.execute(
            _STATE, {"now": now}
        ).fetchone()
        if ended:
            return str(ended)
        if calls:
            return f"the budget of {max_calls:,.0f} call{'s' if max_calls > 1 else ''} is used up"
        if late:
            return f"the {minutes:g} minute{'s' if minutes != 1 else ''} of this run are used up"
        return f"the budget of ${max_cost:,.2f} is used up"


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: the limits of the run cannot be kept: {error}") from None
