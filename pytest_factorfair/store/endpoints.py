"""What the processes of a run know of its endpoints: until when each is closed, and how its calls fare.

A row for each endpoint in the run's own file, each change one atomic statement, so that a 429 or an
outage that one worker meets holds for all of them. A process on its own keeps the rows in memory.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from pytest_factorfair.errors import StoreError

TIMEOUT = 30  # seconds a statement waits for another process's

TABLE = """
CREATE TABLE IF NOT EXISTS endpoints (
    endpoint TEXT PRIMARY KEY,
    told_until REAL NOT NULL DEFAULT 0,
    probe_at REAL,
    probes INTEGER NOT NULL DEFAULT 0,
    throttled INTEGER NOT NULL DEFAULT 0,
    waited REAL NOT NULL DEFAULT 0,
    failed_calls INTEGER NOT NULL DEFAULT 0,
    failing INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    alike TEXT NOT NULL DEFAULT '',
    cause TEXT NOT NULL DEFAULT '',
    since REAL,
    answered INTEGER NOT NULL DEFAULT 0,
    episode INTEGER NOT NULL DEFAULT 0
);
"""
_COLUMNS = (
    "endpoint, told_until, probe_at, probes, throttled, waited, failed_calls, failing, rejected, cause, "
    "since, answered, episode"
)
_READ = f"SELECT {_COLUMNS} FROM endpoints WHERE endpoint = :endpoint"  # noqa: S608  # our own words
_ALL = f"SELECT {_COLUMNS} FROM endpoints ORDER BY endpoint"  # noqa: S608
_ENTER = "INSERT INTO endpoints (endpoint) VALUES (:endpoint) ON CONFLICT DO NOTHING"
_CLOSE = """
UPDATE endpoints SET told_until = max(told_until, :until), throttled = throttled + :throttled,
    waited = waited + max(0, :until - max(told_until, :now))
WHERE endpoint = :endpoint
"""
_FAIL = f"""
UPDATE endpoints SET failed_calls = failed_calls + 1, failing = failing + :new, cause = :cause,
    since = coalesce(since, :now),
    probe_at = CASE WHEN :opens AND failing + :new >= :most THEN coalesce(probe_at, :now) ELSE probe_at END
WHERE endpoint = :endpoint RETURNING {_COLUMNS}
"""  # noqa: S608
_REJECT = f"""
UPDATE endpoints SET rejected = CASE WHEN alike = :alike THEN rejected + 1 ELSE 1 END, alike = :alike,
    cause = :cause, failing = 0, failed_calls = 0, probe_at = NULL, probes = 0, since = NULL,
    episode = episode + 1
WHERE endpoint = :endpoint RETURNING {_COLUMNS}
"""  # noqa: S608
_ANSWER = """
UPDATE endpoints SET answered = 1, failing = 0, failed_calls = 0, rejected = 0, alike = '', cause = '',
    probe_at = NULL, probes = 0, since = NULL, episode = episode + 1
WHERE endpoint = :endpoint
"""
_OPEN = "UPDATE endpoints SET probe_at = coalesce(probe_at, :now) WHERE endpoint = :endpoint"
_PROBE = """
UPDATE endpoints SET probes = probes + 1, probe_at = :next WHERE endpoint = :endpoint AND probe_at <= :now
"""


@dataclass(frozen=True, slots=True)
class Health:
    """How the calls to one endpoint fare.

    Since its last answer ``failing`` queries have failed, in ``failed_calls`` calls that may be repeated,
    the first of them at ``since``, and ``rejected`` queries in a row were rejected alike. ``told_until``
    is the moment to which the endpoint put callers off, for ``waited`` seconds in all. While ``probe_at``
    is set, it counts as down: one call may try it from that moment on.
    """

    endpoint: str
    told_until: float = 0.0
    probe_at: float | None = None
    probes: int = 0
    throttled: int = 0
    waited: float = 0.0
    failed_calls: int = 0
    failing: int = 0
    rejected: int = 0
    cause: str = ""
    since: float | None = None
    answered: bool = False
    episode: int = 0

    def opens_in(self, now: float) -> float:
        """Seconds until the endpoint is called again; 0.0 while it is open."""
        return max(0.0, self.told_until - now, (self.probe_at or 0.0) - now)


class Endpoints:
    """One process's hold on the rows. ``controller`` is the process that a worker works for.

    Raises:
        StoreError: the run's file cannot be read or written; so do the methods.
    """

    def __init__(self, path: Path | None = None, *, controller: int | None = None) -> None:
        self._path = path
        self._controller = controller
        self._last: tuple[Health, ...] | None = None
        self._lock = Lock()  # the loop writes, and the main thread reads for the progress line
        self._connection = sqlite3.connect(
            path or ":memory:", timeout=TIMEOUT, isolation_level=None, check_same_thread=False
        )
        with self._explained():
            self._connection.execute("PRAGMA synchronous=OFF")
            self._connection.execute(TABLE)

    @property
    def ended(self) -> str | None:
        """Why the run asks nothing more; None while it does, and where it has no file."""
        if self._path is None:
            return None
        if self._controller is not None and os.getppid() != self._controller:
            return "the controlling process is gone"
        with self._explained():
            ended: str | None = self._connection.execute("SELECT ended FROM run").fetchone()[0]
        return ended

    def end(self, reason: str) -> None:
        """Have no process of the run ask anything more; the first reason stays."""
        if self._path is not None:
            with self._explained():
                self._connection.execute("UPDATE run SET ended = coalesce(ended, ?)", (reason,))

    def health(self, endpoint: str) -> Health:
        row = self._row(_READ, endpoint)
        return Health(endpoint) if row is None else row

    def all(self) -> tuple[Health, ...]:
        """Every endpoint that was called, by name; after closing, as they were then."""
        if self._last is not None:
            return self._last
        with self._explained():
            return tuple(Health(*row) for row in self._connection.execute(_ALL))

    def close_until(self, endpoint: str, until: float, *, now: float, throttled: bool) -> None:
        """The endpoint puts callers off until a moment; ``throttled`` counts a 429."""
        self._change(_CLOSE, endpoint, until=until, now=now, throttled=throttled)

    def fail(self, endpoint: str, cause: str, *, now: float, is_new: bool, most: int, opens: bool) -> Health:
        """A call failed that may be repeated, of a query that ``is_new`` among the failing.

        With ``most`` failing queries the endpoint counts as down, where the failure ``opens`` at all.
        """
        return self._changed(_FAIL, endpoint, cause=cause, now=now, new=is_new, most=most, opens=opens)

    def reject(self, endpoint: str, alike: str, cause: str) -> Health:
        """A query was rejected; failures of the same ``alike`` in a row are counted."""
        return self._changed(_REJECT, endpoint, alike=alike, cause=cause)

    def answer(self, endpoint: str) -> None:
        """A query was answered: whatever failed before, the endpoint works."""
        health = self.health(endpoint)
        if not health.answered or health.since is not None or health.rejected:
            self._change(_ANSWER, endpoint)

    def open(self, endpoint: str, *, now: float) -> None:
        """Count the endpoint as down, until a call to it succeeds."""
        self._change(_OPEN, endpoint, now=now)

    def probe(self, endpoint: str, *, now: float, until: float) -> bool:
        """Take the one call that may try an endpoint which is down; the next may ``until`` then."""
        with self._explained():
            values = {"endpoint": endpoint, "now": now, "next": until}
            return self._connection.execute(_PROBE, values).rowcount == 1

    def close(self) -> None:
        """Release the file; closing twice does nothing."""
        if self._last is None:
            self._last = self.all()
            self._connection.close()

    def _change(self, statement: str, endpoint: str, **values: object) -> None:
        with self._explained():
            self._connection.execute(_ENTER, {"endpoint": endpoint})
            self._connection.execute(statement, {"endpoint": endpoint, **values})

    def _changed(self, statement: str, endpoint: str, **values: object) -> Health:
        with self._explained():
            self._connection.execute(_ENTER, {"endpoint": endpoint})
            row = self._connection.execute(statement, {"endpoint": endpoint, **values}).fetchone()
        return Health(*row)

    def _row(self, statement: str, endpoint: str) -> Health | None:
        with self._explained():
            row = self._connection.execute(statement, {"endpoint": endpoint}).fetchone()
        return None if row is None else Health(*row)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StoreError(f"{self._path}: the limits of the run cannot be kept: {error}") from None
