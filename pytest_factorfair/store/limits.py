"""The limits of a run and its account, shared by all its processes.

Both are rows in the store's own database, and each change is one atomic statement. So limits hold exactly,
whatever the number of processes and hosts, and even if some of them die. A call is entered on the account
before it is sent, unless this process is alone on it. The rows are deleted when the run ends; those of a run
that was killed, by the next run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple, Self

from sqlalchemy import (
    Connection,
    Float,
    Integer,
    Update,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from pytest_factorfair.domain import GRACE, Ceilings, Usage, plural
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.store import shards
from pytest_factorfair.store.claims import moment
from pytest_factorfair.store.endpoints import NOW, ZERO, Endpoints, greater
from pytest_factorfair.store.opening import exclusively
from pytest_factorfair.store.schema import ACCOUNTS, ENDPOINTS, OWNERS, RUN_METADATA, RUNS, SHARDS
from pytest_factorfair.store.store import Store
from pytest_factorfair.store.writer import Writer

LOOK = 0.05
"""Seconds after which calls in flight may have left enough of the budget for another one."""

CENT = 0.01
ROUNDING = 1.000001


@dataclass(frozen=True, slots=True)
class Wish:
    """A call to an endpoint that could start ``now`` and costs ``estimate`` USD at most; None is unknown.

    ``pause`` maps the number of a call that probes an endpoint that is down to the seconds until the next.
    """

    endpoint: str
    estimate: float | None
    now: float
    pause: Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Grant:
    """One call may start in ``wait`` seconds.

    ``reserved`` USD are set aside for it, and ``estimate`` is the most it can cost by its price list; None is
    unknown.
    """

    wait: float = 0.0
    reserved: float | None = None
    estimate: float | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """No call may start for this many seconds: the endpoint is closed, or calls in flight hold the budget."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Over:
    """No call may start any more."""

    reason: str


class AccountEntry(NamedTuple):
    """An amount added to an account. ``held`` USD are set aside for calls in flight; the price of
    ``unpriced`` calls is unknown, that of ``estimated`` ones an upper bound. ``dearest`` is the cost of the
    most expensive answer.
    """

    calls: int = 0
    in_flight: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    spent: float = 0.0
    held: float = 0.0
    unpriced: int = 0
    estimated: int = 0
    dearest: float | None = None

    @classmethod
    def sent(cls, grant: Grant) -> Self:
        """A call that is about to be sent."""
        unpriced, estimated = grant.reserved is None, bool(grant.reserved)
        return cls(1, 1, held=grant.reserved or 0.0, unpriced=unpriced, estimated=estimated)

    @classmethod
    def unused(cls, grant: Grant) -> Self:
        """A call that was granted and not sent."""
        sent = cls.sent(grant)
        unpriced, estimated = -sent.unpriced, -sent.estimated
        return cls(-1, -1, held=-sent.held, unpriced=unpriced, estimated=estimated)

    @classmethod
    def settled(
        cls,
        grant: Grant,
        cost: float | None,
        tokens_in: int = 0,
        tokens_out: int = 0,
        *,
        billed: float | None = None,
    ) -> Self:
        """A call that was sent and has ended; None is an unknown cost. Without a bill, it is an estimate."""
        unpriced = (cost is None) - (grant.reserved is None)
        estimated = (billed is None and bool(cost)) - bool(grant.reserved)
        spent, held = cost or 0.0, -(grant.reserved or 0.0)
        return cls(0, -1, tokens_in, tokens_out, spent, held, unpriced, estimated, billed)

    @classmethod
    def total(cls, entries: Iterable[AccountEntry]) -> Self:
        *sums, dearest = zip(cls(), *entries, strict=True)
        known_costs = [cost for cost in dearest if cost is not None]
        return cls._make([*map(sum, sums), max(known_costs, default=None)])


# Parameters that may be NULL need a type: PostgreSQL cannot infer it.
_ESTIMATE = cast(bindparam("estimate_", type_=Float), Float)
_DEAREST = cast(bindparam("dearest_", type_=Float), Float)
_PACE = bindparam("pace_", type_=Float)

_RUN = RUNS.c.name == bindparam("run_")
_START = greater(RUNS.c.next_call, NOW)
# The price of a call is its estimate or the cost of the dearest call, whichever is higher. Without a price
# list nothing is known of the first call, so it is made alone.
_PRICE = case((or_(RUNS.c.dearest.is_(None), RUNS.c.dearest < _ESTIMATE), _ESTIMATE), else_=RUNS.c.dearest)
_COST = func.coalesce(_PRICE, ZERO)
_AFFORDED = and_(
    RUNS.c.spent + RUNS.c.held + _COST <= RUNS.c.max_cost * ROUNDING,
    or_(_PRICE.is_not(None), RUNS.c.in_flight == 0),
)
_TAKE = (
    update(RUNS)
    .where(
        _RUN,
        RUNS.c.ended.is_(None),
        or_(RUNS.c.max_calls.is_(None), RUNS.c.calls < RUNS.c.max_calls),
        or_(RUNS.c.deadline.is_(None), RUNS.c.deadline > _START),
        or_(RUNS.c.max_cost.is_(None), _AFFORDED),
    )
    .values(
        next_call=_START + _PACE,
        calls=RUNS.c.calls + 1,
        in_flight=RUNS.c.in_flight + 1,
        held=RUNS.c.held + _COST,
    )
    .returning(RUNS.c.next_call, RUNS.c.dearest)
)
_SETTLED = {name: bindparam(f"{name}_", type_=Float) for name in ("spent", "held")} | {
    name: bindparam(f"{name}_", type_=Integer)
    for name in ("calls", "in_flight", "tokens_in", "tokens_out", "unpriced", "estimated")
}
_SETTLE = (
    update(RUNS)
    .where(_RUN)
    .values(
        {name: RUNS.c[name] + _SETTLED[name] for name in ("calls", "in_flight", "spent", "held")}
        | {
            "dearest": case(
                (or_(_DEAREST.is_(None), RUNS.c.dearest > _DEAREST), RUNS.c.dearest), else_=_DEAREST
            )
        }
    )
)
_END_RUN = update(RUNS).where(_RUN).values(ended=func.coalesce(RUNS.c.ended, bindparam("reason_")))
_ADD = (
    update(ACCOUNTS)
    .where(ACCOUNTS.c.owner == bindparam("owner_"))
    .values({name: ACCOUNTS.c[name] + added for name, added in _SETTLED.items()})
)

_SESSION = ACCOUNTS.c.owner == bindparam("session_")
_ENDED = (
    select(func.coalesce(ACCOUNTS.c.ended, RUNS.c.ended))
    .select_from(ACCOUNTS.join(RUNS, RUNS.c.name == ACCOUNTS.c.run))
    .where(_SESSION)
)
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
_ALIVE = select(OWNERS.c.owner)
_IN_FLIGHT = select(func.sum(ACCOUNTS.c.in_flight)).where(
    ACCOUNTS.c.session == bindparam("session_"), ACCOUNTS.c.owner.in_(_ALIVE)
)
_DEADLINE = select(RUNS.c.deadline).where(_RUN)
_LEFT = select(ACCOUNTS).where(
    ACCOUNTS.c.run == bindparam("run_"), ACCOUNTS.c.in_flight > 0, ACCOUNTS.c.owner.not_in(_ALIVE)
)


UNLIMITED = Ceilings()


class Limits:
    """The rows of a run, as one of its processes uses them. Methods may be called from any thread.

    Statements run in a separate thread, in the order of the calls; those that wait together share a
    transaction. Futures fail with StoreError.
    """

    def __init__(
        self, store: Store, ceilings: Ceilings, *, run: str = "", session: str = "", controller: int = 0
    ) -> None:
        """Use ``begin`` or ``join`` instead."""
        lane = Writer(store.database, store.place, store.pictures, store.outage)
        self._me = lane.claimant.name
        self._place = store.place
        self._lane = lane
        self.session = session or self._me
        self._run = run or self.session
        self.endpoints = Endpoints(lane, self._run)
        self.ceilings = ceilings
        self.alone = False
        """Whether there are no limits, and no other session can join the run."""
        self._begins = False
        self._deadline: float | None = None
        self._controller = controller
        self._pace = 60.0 / ceilings.rpm if ceilings.rpm else 0.0
        self._epoch = time.time() - time.monotonic()
        self._dearest: float | None = None
        self._outage = store.outage
        self._lock = threading.Lock()
        self._spent: AccountEntry | None = None  # by this process, as it remembers it
        self._reported: dict[str, Usage] = {}
        self._entered: dict[str, Usage] = {}  # on the accounts of the session, when last read

    @classmethod
    def begin(
        cls,
        store: Store,
        ceilings: Ceilings = UNLIMITED,
        *,
        run: str = "",
        now: float | None = None,
        lasting: bool = False,
    ) -> Self:
        """Start a session of the run of this name, sharing its limits, or else of a new run.

        The rows that dead processes left are deleted. ``lasting`` means that the account outlives this
        process, so that every call must be entered before it is made. ``now`` defaults to the clock of the
        database.

        Raises:
            InputError: the run is in progress with other limits.
            StoreError: the store cannot be written.
        """
        limits = cls(store, ceilings, run=run, session="")
        limits._begins = True
        limits.alone = not run and not ceilings.any and not lasting

        def work(connection: Connection, _: object) -> list[Ceilings]:
            exclusively(connection)
            RUN_METADATA.create_all(connection)
            limits._set_clock(connection)
            limits._lane.claimant.enter(connection)
            shards.settle(connection, store.place, SHARDS.c.session.not_in(_ALIVE))
            connection.execute(delete(ACCOUNTS).where(ACCOUNTS.c.session.not_in(_ALIVE)))
            _sweep(connection)
            row = connection.execute(select(RUNS).where(_RUN), limits._names).one_or_none()
            if row is None:
                began = limits.clock() if now is None else now
                deadline = None if ceilings.minutes is None else began + 60 * ceilings.minutes
                limit_columns = {f"max_{name}": value for name, value in asdict(ceilings).items()}
                connection.execute(insert(RUNS), {"name": limits._run, "deadline": deadline, **limit_columns})
            limits._open_account(connection)
            if row is None:
                limits._deadline = deadline
                return [ceilings]
            limits._deadline = row.deadline
            return [Ceilings(row.max_calls, row.max_cost, row.max_minutes, row.max_rpm)]

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
                limits._deadline = connection.execute(_DEADLINE, limits._names).scalar()
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

    @property
    def orphaned(self) -> bool:
        """Whether the controller of this worker is gone, so that nothing it asks would be reported."""
        return bool(self._controller) and os.getppid() != self._controller

    def free(self, endpoint: str, estimate: float | None, *, now: float) -> Grant | None:
        """A grant without a statement, if this process is ``alone`` and knows that the endpoint is open.

        Such a call is entered with ``account`` like one that was granted there, but after it was sent.
        """
        known_open = self.alone and not self.away and self.endpoints.known_open(endpoint, now)
        return self._unlimited(estimate) if known_open else None

    def account(
        self, settled: Sequence[AccountEntry], wishes: Sequence[Wish]
    ) -> Future[list[Grant | Later | Over]]:
        """Enter the settled calls, ask for a grant for each wish, and enter the calls granted."""
        replies = self._lane.do(self._accounted, (settled, wishes))
        replies.add_done_callback(self._note_grants)
        return replies

    def end(self, reason: str) -> Future[None]:
        """Grant no more calls to any process of this session; the first reason is kept."""
        return self._execute(_END_SESSION, reason)

    def end_run(self, reason: str) -> None:
        """Grant no more calls to any session of the run."""
        self._execute(_END_RUN, reason)

    def overtime(self, allowed: float) -> str | None:
        """The limit that has been passed for more than the ``allowed`` seconds; this ends the run."""
        if self._deadline is None or self.clock() < self._deadline + allowed:
            return None
        reason = _out_of_time(self.ceilings.minutes)
        self.end_run(reason)
        return reason

    @property
    def ended(self) -> str | None:
        """Why no more calls are granted; None while some may be.

        Raises:
            StoreError: it cannot be read.
        """
        reason: str | None = self._lane.read(
            lambda connection: connection.execute(_ENDED, self._names).scalar()
        )
        return reason

    def settle(self) -> None:
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

    @property
    def away(self) -> bool:
        """Whether the store is away: no call may be made whose answer it could not take."""
        return self._outage.away or self._outage.gone

    @property
    def gone(self) -> bool:
        """Whether the store was away for longer than anybody waits."""
        return self._outage.gone

    def note(self, entry: AccountEntry) -> None:
        """Add an entry to what this process remembers; grants of ``account`` are added there."""
        with self._lock:
            self._spent = AccountEntry.total([self._spent or AccountEntry(), entry])

    def _note_grants(self, taken: Future[list[Grant | Later | Over]]) -> None:
        if taken.exception() is None:
            for answer in taken.result():
                if isinstance(answer, Grant):
                    self.note(AccountEntry.sent(answer))

    def report(self, owner: str, usage: Usage) -> None:
        """Note the usage that a worker of this session reports."""
        self._reported[owner] = usage

    @property
    def owner(self) -> str:
        """The name of this process in the accounts."""
        return self._me

    @property
    def own_usage(self) -> Usage:
        """The usage of this process."""
        spent = self._spent or AccountEntry()
        cost = None if spent.unpriced else spent.spent + spent.held
        return Usage(spent.calls, 0, spent.tokens_in, spent.tokens_out, cost, estimated=spent.estimated)

    @property
    def usage(self) -> Usage:
        """The usage of the session; calls in flight count at the cost set aside for them.

        Accounts in the store count for processes that have not reported, as when they were last read.
        """
        if not self.away:
            with suppress(StoreError):
                self._entered = self._lane.read(lambda connection: shards.accounts(connection, self.session))
        own_account = {} if self._spent is None else {self._me: self.own_usage}
        return sum((self._entered | self._reported | own_account).values(), Usage())

    def close(self) -> None:
        """End the session, or this worker's part in it; closing twice does nothing."""

        def leave(connection: Connection, arguments: list[None]) -> list[None]:
            exclusively(connection)
            shards.settle(connection, self._place, SHARDS.c.session == self.session)
            connection.execute(delete(ACCOUNTS).where(ACCOUNTS.c.session == self.session))
            _sweep(connection)
            return arguments

        if self._begins:
            self._lane.do(leave, None)
        self._lane.close()

    def _execute(self, statement: Update, reason: str) -> Future[None]:
        def work(connection: Connection, arguments: list[None]) -> list[None]:
            connection.execute(statement, self._names | {"reason_": reason})
            return arguments

        return self._lane.do(work, None)

    @property
    def _names(self) -> dict[str, str]:
        return {"run_": self._run, "session_": self.session, "owner_": self._me}

    # In the thread of the statements, within a transaction.

    def _set_clock(self, connection: Connection) -> None:
        self._epoch = moment(connection) - time.monotonic()

    def _open_account(self, connection: Connection) -> None:
        connection.execute(insert(ACCOUNTS), {"owner": self._me, "session": self.session, "run": self._run})

    def _accounted(
        self, connection: Connection, arguments: list[tuple[Sequence[AccountEntry], Sequence[Wish]]]
    ) -> list[list[Grant | Later | Over]]:
        replies = []
        for settled, wishes in arguments:
            total = AccountEntry.total(settled)
            if total.dearest is not None:
                self._dearest = max(self._dearest or 0.0, total.dearest)
            if settled and self.ceilings.any:
                connection.execute(_SETTLE, self._names | _parameters(total))
            answers: list[Grant | Later | Over] = []
            if wishes:
                row = connection.execute(_ENDED, self._names).one_or_none()
                reason = row[0] if row else "the rows of the run were deleted from the store"
                for endpoint in {wish.endpoint for wish in wishes} if not reason else ():
                    self.endpoints.look_up(connection, endpoint)
                answers = [Over(reason) if reason else self._granted(connection, wish) for wish in wishes]
            sent = [AccountEntry.sent(grant) for grant in answers if isinstance(grant, Grant)]
            if settled or sent:
                connection.execute(_ADD, self._names | _parameters(AccountEntry.total([total, *sent])))
            replies.append(answers)
        return replies

    def _granted(self, connection: Connection, wish: Wish) -> Grant | Later | Over:
        health = self.endpoints.last_seen(wish.endpoint)
        if wait := health.opens_in(wish.now):
            return Later(wait)
        if health.probe_at is not None:  # it is down: one call may try it
            pause = wish.pause(health.probes + 1)
            if not self.endpoints.probe(connection, wish.endpoint, now=wish.now, pause=pause):
                return Later(pause)
        if not self.ceilings.any:
            return self._unlimited(wish.estimate)
        costs = {"estimate_": wish.estimate, "now_": wish.now, "pace_": self._pace}
        run = connection.execute(_TAKE, costs | self._names).one_or_none()
        if run is None:
            return self._refused(connection, wish)
        return Grant(run.next_call - self._pace - wish.now, _price(wish, run.dearest), wish.estimate)

    def _unlimited(self, estimate: float | None) -> Grant:
        return Grant(0.0, self._dearest if estimate is None else estimate, estimate)

    def _refused(self, connection: Connection, wish: Wish) -> Later | Over:
        """Why no call is granted: for good, or until calls in flight are settled."""
        run = connection.execute(select(RUNS).where(_RUN), self._names).one()
        price, remaining = _price(wish, run.dearest) or 0.0, (run.max_cost or 0.0) - run.spent
        if run.ended is not None:
            reason = run.ended
        elif run.max_calls is not None and run.calls >= run.max_calls:
            reason = f"the budget of {plural(run.max_calls, 'call')} is used up"
        elif run.deadline is not None and max(run.next_call, wish.now) >= run.deadline:
            reason = _out_of_time(run.max_minutes)
        elif run.max_cost is None or run.spent + price <= run.max_cost * ROUNDING:
            self._bury(connection)
            return Later(LOOK)
        else:
            reason = f"the budget of ${run.max_cost:,.2f} is used up"
            if remaining > CENT / 100:
                reason += f" but for ${remaining:,.4f}, and a call may cost ${price:,.4f}"
        connection.execute(_END_RUN, self._names | {"reason_": reason})
        return Over(reason)

    def _bury(self, connection: Connection) -> None:
        """Count the calls that dead processes had in flight as spent: they may have been paid for."""
        self._lane.claimant.delete_dead(connection)
        for dead in connection.execute(_LEFT, self._names).all():
            entry = AccountEntry(in_flight=-dead.in_flight, spent=dead.held, held=-dead.held)
            unchanged = and_(ACCOUNTS.c.in_flight == dead.in_flight, ACCOUNTS.c.held == dead.held)
            values = _parameters(entry) | {"owner_": dead.owner}
            if connection.execute(_ADD.where(unchanged), values).rowcount:  # no other process was first
                connection.execute(_SETTLE, self._names | _parameters(entry))


def _sweep(connection: Connection) -> None:
    """Delete rows that belong to no account."""
    connection.execute(delete(RUNS).where(RUNS.c.name.not_in(select(ACCOUNTS.c.run))))
    connection.execute(delete(ENDPOINTS).where(ENDPOINTS.c.run.not_in(select(RUNS.c.name))))


def _out_of_time(minutes: float | None) -> str:
    return f"the budget of {plural(minutes or 0.0, 'minute')} is used up"


def _price(wish: Wish, dearest: float | None) -> float | None:
    """The price of a call, as ``_TAKE`` computes it."""
    return max((cost for cost in (wish.estimate, dearest) if cost is not None), default=None)


def _parameters(entry: AccountEntry) -> dict[str, object]:
    return {f"{name}_": value for name, value in entry._asdict().items()}


def _listed(ceilings: Ceilings) -> str:
    """The options that set these limits."""
    options = [f"max-{name}={value:g}" for name, value in asdict(ceilings).items() if value is not None]
    return ", ".join(options) or "no limits"
