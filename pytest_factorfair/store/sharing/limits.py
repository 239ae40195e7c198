"""The limits of a run that several processes share: workers, hosts, shards.

A run, each process's account and each endpoint are rows of the store's own database. A process locks the
rows that it needs, applies the rules of ``domain/limits.py`` to them, and commits. So limits hold exactly,
whatever the number of processes and hosts, and even if some die. A call is entered on the account before it
is sent. The rows are deleted when the run ends; those of a killed run, by the next one that shares limits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any, Self

from sqlalchemy import (
    Connection,
    Float,
    Integer,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from pytest_factorfair.domain import (
    GRACE,
    AccountEntry,
    Allowance,
    CallRequest,
    Ceilings,
    Decision,
    Delay,
    Grant,
    Health,
    Stop,
    Usage,
)
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.store.opening import exclusively
from pytest_factorfair.store.schema import ACCOUNTS, ENDPOINTS, OWNERS, RUN_METADATA, RUNS, SHARDS, insert_new
from pytest_factorfair.store.sharing import shards
from pytest_factorfair.store.sharing.claims import moment
from pytest_factorfair.store.store import Store
from pytest_factorfair.store.writer import Writer

LOOK = 0.05
"""Seconds between two looks at the calls that other processes have in flight."""

ORPHANED = "the controlling process is gone"
DELETED = "the rows of the run were deleted from the store"

Change = Callable[[Health], Health]

_RUN = RUNS.c.name == bindparam("run_")
_SESSION = ACCOUNTS.c.owner == bindparam("session_")
_ENDED = func.coalesce(ACCOUNTS.c.ended, RUNS.c.ended)
_STATE = (
    select(RUNS, _ENDED.label("over"))
    .select_from(ACCOUNTS.join(RUNS, RUNS.c.name == ACCOUNTS.c.run))
    .where(_SESSION)
)
_LOCKED_STATE = _STATE.with_for_update(of=RUNS)  # SQLite needs none: its transactions exclude each other
_SAVE = (
    update(RUNS)
    .where(_RUN)
    .values(
        {
            name: bindparam(f"{name}_")
            for name in ("calls", "in_flight", "spent", "held", "dearest", "next_call")
        }
        | {"ended": func.coalesce(RUNS.c.ended, bindparam("ended_", type_=Text))}
    )
)
_END_RUN = update(RUNS).where(_RUN).values(ended=func.coalesce(RUNS.c.ended, bindparam("reason_")))
_END_SESSION = (
    update(ACCOUNTS)
    .where(_SESSION)
    .values(
        ended=func.coalesce(
            ACCOUNTS.c.ended,
            select(RUNS.c.ended).where(RUNS.c.name == ACCOUNTS.c.run).scalar_subquery(),
            bindparam("reason_"),
        )
    )
)
_ADDED = {name: bindparam(f"{name}_", type_=Float) for name in ("spent", "held")} | {
    name: bindparam(f"{name}_", type_=Integer)
    for name in ("calls", "in_flight", "tokens_in", "tokens_out", "unpriced", "estimated")
}
_ADD = (
    update(ACCOUNTS)
    .where(ACCOUNTS.c.owner == bindparam("owner_"))
    .values({name: ACCOUNTS.c[name] + added for name, added in _ADDED.items()})
)

_ALIVE = select(OWNERS.c.owner)
_IN_FLIGHT = select(func.sum(ACCOUNTS.c.in_flight)).where(
    ACCOUNTS.c.session == bindparam("session_"), ACCOUNTS.c.owner.in_(_ALIVE)
)
_DEADLINE = select(RUNS.c.deadline).where(_RUN)
_LEFT = select(ACCOUNTS).where(
    ACCOUNTS.c.run == bindparam("run_"), ACCOUNTS.c.in_flight > 0, ACCOUNTS.c.owner.not_in(_ALIVE)
)

_HEALTH = tuple(ENDPOINTS.c[field.name] for field in fields(Health))
_HERE = and_(ENDPOINTS.c.run == bindparam("run_"), ENDPOINTS.c.endpoint == bindparam("endpoint_"))
_READ = select(*_HEALTH).where(_HERE)
_LOCK = _READ.with_for_update()


class SharedLimits:
    """The limits of a run as rows in the store, for one of its processes.

    Statements run in a separate thread, in the order of the calls; those that wait together share a
    transaction.
    """

    def __init__(
        self, store: Store, ceilings: Ceilings, *, run: str = "", session: str = "", controller: int = 0
    ) -> None:
        """Use ``begin`` or ``join`` instead."""
        lane = Writer(store.database, store.location, lambda: store.pictures, store.outage)
        self._me = lane.claimant.name
        self._location = store.location
        self._lane = lane
        self.session = session or self._me
        self._run = run or self.session
        self.ceilings = ceilings
        self.deadline: float | None = None
        self._begins = False
        self._controller = controller
        self._epoch = time.time() - time.monotonic()
        self._outage = store.outage
        self._lock = threading.Lock()
        self._account: AccountEntry | None = None  # of this process, as it remembers it
        self._seen: dict[str, Health] = {}
        self._worker_usage: dict[str, Usage] = {}
        self._entered: dict[str, Usage] = {}  # on the accounts of the session, when last read
        self._endpoints: tuple[Health, ...] = ()  # likewise

    @classmethod
    def begin(
        cls,
        store: Store,
        ceilings: Ceilings | None = None,
        *,
        run: str = "",
        now: float | None = None,
    ) -> Self:
        """Start a session that shares the limits of the run of this name, or of a new run without a name.

        The rows that dead processes left are deleted. ``now`` defaults to the clock of the database.

        Raises:
            InputError: the run is in progress with other limits.
            StoreError: the store cannot be written.
        """
        ceilings = ceilings or Ceilings()
        limits = cls(store, ceilings, run=run)
        limits._begins = True

        def work(connection: Connection, _: object) -> list[Ceilings]:
            exclusively(connection)
            RUN_METADATA.create_all(connection)
            limits._set_clock(connection)
            limits._lane.claimant.enter(connection)
            shards.settle(connection, store.location, SHARDS.c.session.not_in(_ALIVE))
            connection.execute(delete(ACCOUNTS).where(ACCOUNTS.c.session.not_in(_ALIVE)))
            _sweep(connection)
            row = connection.execute(select(RUNS).where(_RUN), limits._names).one_or_none()
            if row is None:
                limits.deadline = Allowance.since(limits.clock() if now is None else now, ceilings).deadline
                limit_columns = {f"max_{name}": value for name, value in asdict(ceilings).items()}
                connection.execute(
                    insert(RUNS), {"name": limits._run, "deadline": limits.deadline, **limit_columns}
                )
            limits._open_account(connection)
            if row is None:
                return [ceilings]
            limits.deadline = row.deadline
            return [Ceilings(**{name: getattr(row, f"max_{name}") for name in asdict(ceilings)})]

        run_ceilings = limits._lane.do(work, None).result()
        if run_ceilings != ceilings:
            limits.close()
            raise InputError(
                f"--factorfair-run={run}: the run is in progress with {_listed(run_ceilings)}, and this "
                f"process was given {_listed(ceilings)}; give every process the same limits"
            )
        return limits

    @classmethod
    def join(
        cls, store: Store, ceilings: Ceilings, *, session: str, run: str = "", controller: int = 0
    ) -> Self | None:
        """Join a session as one of its workers; None if the store has no such session.

        Nothing more is asked once the process ``controller`` is gone.
        """
        limits = cls(store, ceilings, run=run, session=session, controller=controller)

        def work(connection: Connection, _: object) -> list[bool]:
            exclusively(connection)
            RUN_METADATA.create_all(connection)
            session_row = connection.execute(
                select(ACCOUNTS.c.owner).where(_SESSION), limits._names
            ).one_or_none()
            if session_row is not None:
                limits._set_clock(connection)
                limits._lane.claimant.enter(connection)
                limits._open_account(connection)
                limits.deadline = connection.execute(_DEADLINE, limits._names).scalar()
            return [session_row is not None]

        if limits._lane.do(work, None).result():
            return limits
        limits.close()
        return None

    def clock(self) -> float:
        """Seconds since 1970, by the clock of the database when this process began.

        All hosts of a run agree on it, and setting the clock of a host does not change it.
        """
        return self._epoch + time.monotonic()

    def take(self, request: CallRequest) -> Future[Decision]:
        decision: Future[Decision] = self._lane.do(self._accounted, request)
        decision.add_done_callback(self._note_grant)
        return decision

    def settle(self, entry: AccountEntry) -> None:
        self._note(entry)
        self._lane.do(self._accounted, entry)

    def report(self, endpoint: str, change: Change) -> Health | Future[Health]:
        if (seen := self._seen.get(endpoint)) is not None and change(seen) is seen:
            return seen  # most answers are of an endpoint that works, and change nothing
        return self._lane.do(self._reported, (endpoint, change))

    def health(self, endpoint: str) -> Future[Health]:
        return self._lane.do(self._reported, (endpoint, lambda health: health))

    def end(self, reason: str, *, whole_run: bool = False) -> Future[None]:
        statement = _END_RUN if whole_run else _END_SESSION

        def work(connection: Connection, arguments: list[None]) -> list[None]:
            connection.execute(statement, self._names | {"reason_": reason})
            return arguments

        return self._lane.do(work, None)

    @property
    def ended(self) -> str | None:
        state = self._lane.read(lambda connection: connection.execute(_STATE, self._names).one_or_none())
        return None if state is None else state.over

    def drain(self) -> None:
        """Wait until the session's living processes have settled their calls, at most ``GRACE`` seconds.

        Raises:
            StoreError: the accounts cannot be read or written.
        """

        def work(connection: Connection, arguments: list[None]) -> list[int]:
            self._lane.claimant.delete_dead(connection)
            return [connection.execute(_IN_FLIGHT, self._names).scalar() or 0] * len(arguments)

        end = time.monotonic() + GRACE
        while self._lane.do(work, None).result() and time.monotonic() < end:
            time.sleep(LOOK)

    def add_worker(self, owner: str, usage: Usage) -> None:
        """Note the usage that a worker of this session reports."""
        self._worker_usage[owner] = usage

    @property
    def owner(self) -> str:
        """The name of this process in the accounts."""
        return self._me

    @property
    def own_usage(self) -> Usage:
        """The usage of this process."""
        return (self._account or AccountEntry()).usage

    @property
    def usage(self) -> Usage:
        """The usage of the session; for processes that have not reported, as last read from the store."""
        if not (self._outage.ongoing or self._outage.given_up):
            with suppress(StoreError):
                self._entered = self._lane.read(lambda connection: shards.accounts(connection, self.session))
        own_account = {} if self._account is None else {self._me: self.own_usage}
        return sum((self._entered | self._worker_usage | own_account).values(), Usage())

    @property
    def endpoints(self) -> tuple[Health, ...]:
        """The endpoints of the run; while the store is away, as they were last read."""
        if not (self._outage.ongoing or self._outage.given_up):
            query = select(*_HEALTH).where(ENDPOINTS.c.run == self._run).order_by(ENDPOINTS.c.endpoint)
            rows = self._lane.read(lambda connection: connection.execute(query).all())
            self._endpoints = tuple(Health(*row) for row in rows)
        return self._endpoints

    def close(self) -> None:
        """End the session, or this worker's part in it; closing twice does nothing."""

        def leave(connection: Connection, arguments: list[None]) -> list[None]:
            exclusively(connection)
            shards.settle(connection, self._location, SHARDS.c.session == self.session)
            connection.execute(delete(ACCOUNTS).where(ACCOUNTS.c.session == self.session))
            _sweep(connection)
            return arguments

        if self._begins:
            self._lane.do(leave, None)
        self._lane.close()

    @property
    def _names(self) -> dict[str, str]:
        return {"run_": self._run, "session_": self.session, "owner_": self._me}

    # In the thread of the statements, within a transaction.

    def _set_clock(self, connection: Connection) -> None:
        self._epoch = moment(connection) - time.monotonic()

    def _open_account(self, connection: Connection) -> None:
        connection.execute(insert(ACCOUNTS), {"owner": self._me, "session": self.session, "run": self._run})

    def _accounted(
        self, connection: Connection, arguments: Sequence[CallRequest | AccountEntry]
    ) -> list[Any]:
        """Enter what has ended, then decide on requests: a decision on each, None for an entry."""
        limited = self.ceilings.any
        row = connection.execute(_LOCKED_STATE if limited else _STATE, self._names).one_or_none()
        if row is None:
            return [Stop(DELETED) if isinstance(argument, CallRequest) else None for argument in arguments]
        # A worker without its controller stops: nothing it asks would be reported.
        orphaned = bool(self._controller) and os.getppid() != self._controller
        over = ORPHANED if orphaned else row.over
        if limited:
            money = {"spent": row.spent, "held": row.held, "dearest": row.dearest}
            account = AccountEntry(row.calls, row.in_flight, **money)
            before = Allowance(self.ceilings, row.deadline, row.next_call, account, over)
        else:  # the account matters for the price of a call that has no price list
            before = Allowance(account=self._account or AccountEntry(), ended=over)
        entries = [argument for argument in arguments if isinstance(argument, AccountEntry)]
        allowance = before.enter(AccountEntry.total(entries))
        decisions: list[Decision | None] = []
        states: dict[str, Health] = {}
        endpoints = {argument.endpoint for argument in arguments if isinstance(argument, CallRequest)}
        for endpoint in sorted(endpoints):  # in all processes: no deadlock
            states[endpoint] = self._look_up(connection, endpoint, lock=False)
            if states[endpoint].probe_at is not None:  # a call may be the one that tries it
                states[endpoint] = self._look_up(connection, endpoint, lock=True)
        for argument in arguments:
            if isinstance(argument, AccountEntry):
                decisions.append(None)
                continue
            before_call = states[endpoint := argument.endpoint]
            allowance, states[endpoint], decision = allowance.take(argument, before_call)
            self._save(connection, before_call, states[endpoint])
            decisions.append(decision)
        if self.ceilings.cost is not None and any(isinstance(decision, Delay) for decision in decisions):
            allowance = allowance.enter(self._delete_dead(connection))
        if limited and allowance != before:
            ended = allowance.ended if before.ended is None else None
            values = _parameters(allowance.account) | {"next_call_": allowance.next_call, "ended_": ended}
            connection.execute(_SAVE, self._names | values)
        entries += [AccountEntry.sent(grant) for grant in decisions if isinstance(grant, Grant)]
        if entries:
            connection.execute(_ADD, self._names | _parameters(AccountEntry.total(entries)))
        return decisions

    def _delete_dead(self, connection: Connection) -> AccountEntry:
        """Count the calls that dead processes had in flight as spent: they may have been paid for."""
        self._lane.claimant.delete_dead(connection)
        buried = []
        for dead in connection.execute(_LEFT, self._names).all():
            entry = AccountEntry(in_flight=-dead.in_flight, spent=dead.held, held=-dead.held)
            connection.execute(_ADD, _parameters(entry) | {"owner_": dead.owner})
            buried.append(entry)
        return AccountEntry.total(buried)

    def _reported(self, connection: Connection, reports: Sequence[tuple[str, Change]]) -> list[Health]:
        endpoints = sorted({endpoint for endpoint, _ in reports})  # in all processes: no deadlock
        before = {endpoint: self._look_up(connection, endpoint, lock=True) for endpoint in endpoints}
        current, states = dict(before), []
        for endpoint, change in reports:
            current[endpoint] = change(current[endpoint])
            states.append(current[endpoint])
        for endpoint, health in current.items():
            self._save(connection, before[endpoint], health)
        return states

    def _look_up(self, connection: Connection, endpoint: str, *, lock: bool) -> Health:
        """The state of an endpoint, which is entered if no process of the run has called it yet."""
        values = {"run_": self._run, "endpoint_": endpoint}
        statement = _LOCK if lock else _READ
        row = connection.execute(statement, values).one_or_none()
        if row is None:
            new_row = {"run": self._run, "endpoint": endpoint}
            connection.execute(insert_new(connection.dialect.name, ENDPOINTS), new_row)
            row = connection.execute(statement, values).one()
        self._seen[endpoint] = Health(*row)
        return self._seen[endpoint]

    def _save(self, connection: Connection, before: Health, after: Health) -> None:
        if after != before:
            names = {"run_": self._run, "endpoint_": after.endpoint}
            connection.execute(update(ENDPOINTS).where(_HERE).values(asdict(after)), names)
            self._seen[after.endpoint] = after

    def _note(self, entry: AccountEntry) -> None:
        """Add an entry to what this process remembers."""
        with self._lock:
            self._account = (self._account or AccountEntry()).plus(entry)

    def _note_grant(self, asked: Future[Decision]) -> None:
        if asked.exception() is None and isinstance(grant := asked.result(), Grant):
            self._note(AccountEntry.sent(grant))


def _sweep(connection: Connection) -> None:
    """Delete rows that belong to no account."""
    connection.execute(delete(RUNS).where(RUNS.c.name.not_in(select(ACCOUNTS.c.run))))
    connection.execute(delete(ENDPOINTS).where(ENDPOINTS.c.run.not_in(select(RUNS.c.name))))


def _parameters(entry: AccountEntry) -> dict[str, object]:
    return {f"{name}_": value for name, value in entry._asdict().items()}


def _listed(ceilings: Ceilings) -> str:
    """The options that set these limits."""
    options = [f"max-{name}={value:g}" for name, value in asdict(ceilings).items() if value is not None]
    return ", ".join(options) or "no limits"
