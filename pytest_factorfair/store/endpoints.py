"""The state of a run's endpoints: rows that its processes share, each changed by one atomic statement."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Connection,
    Float,
    Integer,
    and_,
    bindparam,
    case,
    func,
    select,
    update,
)

from pytest_factorfair.store.schema import ENDPOINTS, insert_new
from pytest_factorfair.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Health:
    """The state of one endpoint.

    Since its last answer, ``failing`` queries have failed in ``failed_calls`` repeatable calls, the first of
    them at ``since``, and ``rejected`` queries in a row were rejected alike. The endpoint asked its callers
    to wait until ``closed_until``, for ``waited`` seconds in total. While ``probe_at`` is set, it counts as
    down: one call may try it from that moment on.
    """

    endpoint: str
    closed_until: float = 0.0
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
        return max(0.0, self.closed_until - now, (self.probe_at or 0.0) - now)


def greater(column: ColumnElement[Any], other_column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The greater of two; the databases have no function for it in common."""
    return case((column > other_column, column), else_=other_column)


NOW = bindparam("now_", type_=Float)
ZERO = bindparam("zero_", 0.0, type_=Float)

_HEALTH = tuple(ENDPOINTS.c[field.name] for field in fields(Health))
_HERE = and_(ENDPOINTS.c.run == bindparam("run_"), ENDPOINTS.c.endpoint == bindparam("endpoint_"))
_READ = select(*_HEALTH).where(_HERE)
_CHANGE = update(ENDPOINTS).where(_HERE).returning(*_HEALTH)
_UNTIL, _OPENS = bindparam("until_", type_=Float), bindparam("opens_", type_=Boolean)
_NEW, _ALIKE = bindparam("new_", type_=Integer), bindparam("alike_", type_=Integer)
_CLOSE = _CHANGE.values(
    closed_until=greater(ENDPOINTS.c.closed_until, _UNTIL),
    throttled=ENDPOINTS.c.throttled + bindparam("throttled_", type_=Integer),
    waited=ENDPOINTS.c.waited + greater(ZERO, _UNTIL - greater(ENDPOINTS.c.closed_until, NOW)),
)
_FAIL = _CHANGE.values(
    failed_calls=ENDPOINTS.c.failed_calls + 1,
    failing=ENDPOINTS.c.failing + _NEW,
    cause=bindparam("cause_"),
    since=func.coalesce(ENDPOINTS.c.since, NOW),
    probe_at=case(
        (and_(_OPENS, ENDPOINTS.c.failing + _NEW >= _ALIKE), func.coalesce(ENDPOINTS.c.probe_at, NOW)),
        else_=ENDPOINTS.c.probe_at,
    ),
)
_WORKS = {
    "failing": 0,
    "failed_calls": 0,
    "probe_at": None,
    "probes": 0,
    "since": None,
    "episode": ENDPOINTS.c.episode + 1,
}
_KIND: BindParameter[str] = bindparam("kind_")
_REJECT = _CHANGE.values(
    rejected=case((ENDPOINTS.c.kind == _KIND, ENDPOINTS.c.rejected + 1), else_=1),
    kind=_KIND,
    cause=bindparam("cause_"),
    **_WORKS,
)
_ANSWER = _CHANGE.values(answered=True, rejected=0, kind="", cause="", **_WORKS)
_OPEN = _CHANGE.values(probe_at=func.coalesce(ENDPOINTS.c.probe_at, NOW))
_PROBE = _CHANGE.where(ENDPOINTS.c.probe_at <= NOW).values(probes=ENDPOINTS.c.probes + 1, probe_at=_UNTIL)


class Endpoints:
    """The endpoints of a run. Methods may be called from any thread.

    Statements run in the thread of ``lane``, in the order of the calls. Futures fail with StoreError.
    """

    def __init__(self, lane: Writer, run: str) -> None:
        self._lane = lane
        self._run = run
        self._health: dict[str, Health] = {}
        self._changes: dict[str, Future[Health]] = {}  # the last of each endpoint

    @property
    def all(self) -> tuple[Health, ...]:
        """Every endpoint that was called, by name.

        Raises:
            StoreError: they cannot be read.
        """
        query = select(*_HEALTH).where(ENDPOINTS.c.run == self._run).order_by(ENDPOINTS.c.endpoint)
        rows = self._lane.read(lambda connection: connection.execute(query).all())
        return tuple(Health(*row) for row in rows)

    def known_open(self, endpoint: str, now: float) -> bool:
        """Whether the endpoint was open when last seen, and no change of its state is under way."""
        health, change = self._health.get(endpoint), self._changes.get(endpoint)
        settled = change is None or change.done()
        return settled and health is not None and health.probe_at is None and not health.opens_in(now)

    def last_seen(self, endpoint: str) -> Health:
        """The state of an endpoint when it was last looked up or changed."""
        return self._health[endpoint]

    def health(self, endpoint: str) -> Future[Health]:
        """The state of an endpoint after all changes so far."""
        return self._lane.do(lambda connection, _: [self.look_up(connection, endpoint)], None)

    def close_until(self, endpoint: str, until: float, *, now: float, throttled: bool) -> Future[Health]:
        """Note that the endpoint asked its callers to wait; ``throttled`` counts a 429."""
        return self._change(_CLOSE, endpoint, until_=until, now_=now, throttled_=int(throttled))

    def fail(
        self, endpoint: str, cause: str, *, now: float, is_new: bool, alike: int, opens: bool
    ) -> Future[Health]:
        """Note the failure of a repeatable call; ``is_new`` is whether its query had not failed before.

        The endpoint counts as down at ``alike`` failing queries, if the failure ``opens`` the circuit at all.
        """
        values = {"now_": now, "new_": int(is_new), "alike_": alike, "opens_": opens}
        return self._change(_FAIL, endpoint, cause_=cause, **values)

    def reject(self, endpoint: str, kind: str, cause: str) -> Future[Health]:
        """Note a rejected query; rejections of the same ``kind`` in a row are counted."""
        return self._change(_REJECT, endpoint, kind_=kind, cause_=cause)

    def answer(self, endpoint: str) -> None:
        """Note that a query was answered, so that the endpoint works."""
        seen = self._health.get(endpoint)
        if seen is None or not seen.answered or seen.since is not None or seen.rejected:
            self._change(_ANSWER, endpoint)

    def open_circuit(self, endpoint: str, *, now: float) -> Future[Health]:
        """Count the endpoint as down, until a call to it succeeds."""
        return self._change(_OPEN, endpoint, now_=now)

    def _change(self, statement: Any, endpoint: str, **values: object) -> Future[Health]:
        arguments = (statement, {"endpoint_": endpoint, "run_": self._run, **values})
        self._changes[endpoint] = change = self._lane.do(self._changed, arguments)
        return change

    # In the thread of the statements, within a transaction.

    def look_up(self, connection: Connection, endpoint: str) -> Health:
        """The current state of an endpoint, which is entered if no process of the run has called it yet."""
        values = {"run_": self._run, "endpoint_": endpoint}
        row = connection.execute(_READ, values).one_or_none()
        if row is None:
            new_row = {"run": self._run, "endpoint": endpoint}
            connection.execute(insert_new(connection.dialect.name, ENDPOINTS), new_row)
            row = connection.execute(_READ, values).one()
        self._health[endpoint] = Health(*row)
        return self._health[endpoint]

    def probe(self, connection: Connection, endpoint: str, *, now: float, pause: float) -> bool:
        """Whether this process may try an endpoint that is down; others may not for ``pause`` seconds."""
        values = {"endpoint_": endpoint, "run_": self._run, "now_": now, "until_": now + pause}
        tried = connection.execute(_PROBE, values).one_or_none()
        if tried is not None:
            self._health[endpoint] = Health(*tried)
        return tried is not None

    def _changed(self, connection: Connection, changes: list[tuple[Any, dict[str, object]]]) -> list[Health]:
        healths = []
        for statement, values in changes:
            health = Health(*connection.execute(statement, values).one())
            self._health[health.endpoint] = health
            healths.append(health)
        return healths
