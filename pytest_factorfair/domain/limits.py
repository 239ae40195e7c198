"""The rules of a run's limits: which call may start, what calls have used, and what endpoints have answered.

These are values. ``engine/limits.py`` applies them within one process, and ``store/sharing/limits.py`` to
rows that several processes share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple, Self

from pytest_factorfair.domain.exchange import Response, Usage
from pytest_factorfair.domain.text import CENT, dollars, plural

LOOK = 0.05
"""Seconds after which calls in flight may have left enough of the budget for another one."""

ROUNDING = 1.000001


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The limits of a run; None is no limit. ``cost`` is in USD, ``rpm`` in calls per minute."""

    calls: int | None = None
    cost: float | None = None
    minutes: float | None = None
    rpm: int | None = None

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return self != Ceilings()

    @property
    def out_of_calls(self) -> str:
        """The reason of a run that ends because its calls are used up."""
        return f"the budget of {plural(self.calls or 0, 'call')} is used up"

    @property
    def out_of_money(self) -> str:
        """How the reason of a run begins that ends because of its cost."""
        return f"the budget of {dollars(self.cost or 0.0)} is used up"

    @property
    def out_of_time(self) -> str:
        """The reason of a run that ends because its minutes are used up."""
        return f"the budget of {plural(self.minutes or 0.0, 'minute')} is used up"

    def exhausted(self, reason: str) -> str | None:
        """The limit that ended a run for this reason; None if none did."""
        reasons = {"calls": self.out_of_calls, "cost": self.out_of_money, "minutes": self.out_of_time}
        return next((limit for limit, text in reasons.items() if reason.startswith(text)), None)


class CallRequest(NamedTuple):
    """A call to an endpoint that could start ``now`` and costs ``estimate`` USD at most; None is unknown.

    ``pause`` maps the number of a call that probes an endpoint that is down to the seconds until the next.
    A call that is ``batched``, a line of a batch, waits for no endpoint, and rates do not apply to it.
    """

    endpoint: str
    estimate: float | None
    now: float
    pause: Callable[[int], float]
    batched: bool = False


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
class Delay:
    """No call may start for this many seconds: the endpoint is closed, or calls in flight hold the budget."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stop:
    """No call may start any more."""

    reason: str


Decision = Grant | Delay | Stop
"""The answer to a request for a call."""


class AccountEntry(NamedTuple):
    """An amount on an account, or the sum of several.

    ``held`` USD are set aside for calls in flight. The price of ``unpriced`` calls is unknown, the price of
    ``estimated`` calls is an upper bound. ``dearest`` is the cost of the most expensive answer. Of the lines
    of batches that services completed, ``batched`` were read as answers and ``unreadable`` were not, and
    ``batch_cost`` of what is spent is theirs; no table keeps these three, as only the controlling process
    collects batches.
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
    batched: int = 0
    unreadable: int = 0
    batch_cost: float = 0.0

    @classmethod
    def sent(cls, grant: Grant) -> Self:
        """The entry of a call that is about to be sent."""
        unpriced, estimated = grant.reserved is None, bool(grant.reserved)
        return cls(1, 1, held=grant.reserved or 0.0, unpriced=unpriced, estimated=estimated)

    @classmethod
    def unused(cls, grant: Grant) -> Self:
        """The entry of a call that was granted and not sent."""
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
        """The entry of a call that has ended; a cost of None is unknown, and estimated unless ``billed``."""
        unpriced = (cost is None) - (grant.reserved is None)
        estimated = (billed is None and bool(cost)) - bool(grant.reserved)
        spent, held = cost or 0.0, -(grant.reserved or 0.0)
        return cls(0, -1, tokens_in, tokens_out, spent, held, unpriced, estimated, billed)

    @classmethod
    def answered(cls, grant: Grant, response: Response) -> Self:
        """The entry of a call that was answered; an answer of unknown cost has its estimate."""
        cost = grant.estimate if response.cost is None else response.cost
        tokens = response.tokens_in or 0, response.tokens_out or 0
        return cls.settled(grant, cost, *tokens, billed=response.cost)

    def plus(self, entry: AccountEntry) -> AccountEntry:
        """The sum of both entries."""
        dearest = self.dearest
        if entry.dearest is not None:
            dearest = entry.dearest if dearest is None else max(dearest, entry.dearest)
        return AccountEntry(
            self.calls + entry.calls,
            self.in_flight + entry.in_flight,
            self.tokens_in + entry.tokens_in,
            self.tokens_out + entry.tokens_out,
            self.spent + entry.spent,
            self.held + entry.held,
            self.unpriced + entry.unpriced,
            self.estimated + entry.estimated,
            dearest,
            self.batched + entry.batched,
            self.unreadable + entry.unreadable,
            self.batch_cost + entry.batch_cost,
        )

    @classmethod
    def total(cls, entries: Iterable[AccountEntry]) -> AccountEntry:
        return reduce(AccountEntry.plus, entries, AccountEntry())

    @property
    def usage(self) -> Usage:
        """The account as it is reported; calls in flight count at the cost set aside for them."""
        cost = None if self.unpriced else self.spent + self.held
        return Usage(
            self.calls,
            0,
            self.tokens_in,
            self.tokens_out,
            cost,
            estimated=self.estimated,
            completed=self.batched + self.unreadable,
            batched=self.batched,
            unreadable=self.unreadable,
            batch_cost=self.batch_cost,
        )


class Allowance(NamedTuple):
    """The limits of a run, and what counts towards them.

    The run ends at ``deadline``. At a limited rate no call starts before ``next_call``. ``ended`` is why
    calls are no longer granted.
    """

    ceilings: Ceilings = Ceilings()
    deadline: float | None = None
    next_call: float = 0.0
    account: AccountEntry = AccountEntry()
    ended: str | None = None

    @classmethod
    def since(cls, began: float, ceilings: Ceilings) -> Self:
        """The allowance of a run that began at this moment."""
        return cls(ceilings, None if ceilings.minutes is None else began + 60 * ceilings.minutes)

    def enter(self, entry: AccountEntry) -> Self:
        """The allowance with this entry on its account."""
        return self._replace(account=self.account.plus(entry))

    def take(self, request: CallRequest, health: Health) -> tuple[Self, Health, Decision]:
        """The decision on a request, with the allowance and the state of the endpoint after it.

        An endpoint that is down may be tried by one call at a time.
        """
        if self.ended is not None:
            return self, health, Stop(self.ended)
        if not request.batched and (wait := health.opens_in(request.now)):
            return self, health, Delay(wait)
        # For a limit on cost, the price is the call's estimate or the cost of the dearest call, if higher.
        # For the bill of a failed call, the dearest counts only where there is no estimate.
        costs = [cost for cost in (request.estimate, self.account.dearest) if cost is not None]
        price = max(costs, default=None) if self.ceilings.cost is not None else next(iter(costs), None)
        start = request.now if request.batched else max(self.next_call, request.now)
        decision = self._limited(price, start)
        if isinstance(decision, Stop):
            return self._replace(ended=decision.reason), health, decision
        if isinstance(decision, Delay):
            return self, health, decision
        grant = Grant(start - request.now, price, request.estimate)
        if request.batched:
            return self.enter(AccountEntry.sent(grant)), health, grant
        if health.probe_at is not None:
            until = request.now + request.pause(health.probes + 1)
            health = replace(health, probes=health.probes + 1, probe_at=until)
        next_call = start + 60.0 / self.ceilings.rpm if self.ceilings.rpm else 0.0
        account = self.account.plus(AccountEntry.sent(grant))
        return self._replace(next_call=next_call, account=account), health, grant

    def _limited(self, price: float | None, start: float) -> Delay | Stop | None:
        """Why no call of this price may start at this moment."""
        ceilings, account = self.ceilings, self.account
        if ceilings.calls is not None and account.calls >= ceilings.calls:
            return Stop(ceilings.out_of_calls)
        if self.deadline is not None and start >= self.deadline:
            return Stop(ceilings.out_of_time)
        if ceilings.cost is None:
            return None
        cost, most = price or 0.0, ceilings.cost * ROUNDING
        # Without a price list nothing is known of the first call, so it is made alone.
        if account.spent + account.held + cost <= most and (price is not None or not account.in_flight):
            return None
        if account.spent + cost <= most:
            return Delay(LOOK)
        reason = ceilings.out_of_money
        if (remaining := ceilings.cost - account.spent) > CENT / 100:
            reason += f" but for ${remaining:,.4f}, and a call may cost ${cost:,.4f}"
        return Stop(reason)


@dataclass(frozen=True, slots=True)
class Health:
    """The state of one endpoint.

    Since its last answer, ``failing`` queries have failed in ``failed_calls`` repeatable calls, the first of
    them at ``since``, and ``rejected`` queries in a row were rejected alike, as ``kind`` says. The endpoint
    asked its callers to wait until ``closed_until``, for ``waited`` seconds in total. While ``probe_at`` is
    set, it counts as down: one call may try it from that moment on. Every answer or rejection after a failure
    begins a new ``episode``.
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
    kind: str = ""
    cause: str = ""
    since: float | None = None
    answered: bool = False
    episode: int = 0

    def opens_in(self, now: float) -> float:
        """Seconds until the endpoint is called again; 0.0 while it is open."""
        return max(0.0, self.closed_until - now, (self.probe_at or 0.0) - now)

    def after_answer(self) -> Health:
        """The state after an answer: the endpoint works; the same object if nothing changes."""
        if self.answered and self.since is None and not self.rejected:
            return self
        return replace(self._working(), answered=True, rejected=0, kind="", cause="")

    def after_rejection(self, kind: str, cause: str) -> Health:
        """The state after a rejected query; rejections of one kind in a row are counted."""
        rejected = self.rejected + 1 if kind == self.kind else 1
        return replace(self._working(), rejected=rejected, kind=kind, cause=cause)

    def after_failure(
        self, cause: str, *, now: float, is_new: bool, most: int, opens: bool, is_service: bool
    ) -> Health:
        """The state after a failed call; ``is_new`` is whether its query had not failed before.

        A service that never answered is down at its first failure. Another endpoint is down at ``most``
        failing queries, if the failure ``opens`` the circuit at all.
        """
        failing = self.failing + is_new
        failed = replace(
            self,
            failed_calls=self.failed_calls + 1,
            failing=failing,
            cause=cause,
            since=now if self.since is None else self.since,
        )
        is_down = (opens and failing >= most) or (is_service and not self.answered)
        return failed.down(now) if is_down else failed

    def down(self, now: float) -> Health:
        """The state of an endpoint that is down until a call to it succeeds."""
        return replace(self, probe_at=now) if self.probe_at is None else self

    def closed(self, until: float, *, now: float, throttled: bool) -> Health:
        """The state after a request to wait; ``throttled`` counts a 429, and each second counts once."""
        return replace(
            self,
            closed_until=max(self.closed_until, until),
            throttled=self.throttled + throttled,
            waited=self.waited + max(0.0, until - max(self.closed_until, now)),
        )

    def _working(self) -> Health:
        episode = self.episode + 1
        return replace(self, failing=0, failed_calls=0, probe_at=None, probes=0, since=None, episode=episode)
