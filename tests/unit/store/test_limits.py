"""Limits, account and endpoints of a run: in this process, and shared on SQLite and PostgreSQL, alike."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
from sqlalchemy import func, select, update

from pytest_factorfair.domain import (
    AccountEntry,
    CallRequest,
    Ceilings,
    Decision,
    Delay,
    Grant,
    Health,
    Stop,
    Usage,
)
from pytest_factorfair.engine import Limits, LocalLimits
from pytest_factorfair.errors import InputError, StoreError
from pytest_factorfair.store import Store
from pytest_factorfair.store.schema import ACCOUNTS, ENDPOINTS, OWNERS, RUNS
from pytest_factorfair.store.sharing.limits import SharedLimits
from tests import forkserver
from tests.project import program

WAIT = 30
HERE = "here"

TAKE_ALL = program("take_all")


class Begin(Protocol):
    def __call__(self, now: float = 0.0, run: str = "", **ceilings: float) -> SharedLimits: ...


class BeginAlone(Protocol):
    def __call__(self, now: float = 0.0, **ceilings: float) -> Limits: ...


@pytest.fixture
def begin(store: Store) -> Iterator[Begin]:
    """A function that starts sessions, which end with the test."""
    with ExitStack() as stack:

        def begun(now: float = 0.0, run: str = "", **ceilings: Any) -> SharedLimits:
            limits = SharedLimits.begin(store, Ceilings(**ceilings), run=run, now=now)
            stack.callback(limits.close)
            return limits

        yield begun


@pytest.fixture(params=["local", "sqlite", "postgresql"])
def begin_alone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BeginAlone]:
    """Starts runs of one session, of either kind, which end with the test."""
    if request.param == "local":
        yield lambda now=0.0, **ceilings: LocalLimits(Ceilings(**ceilings), now=now)
        return
    url = f"sqlite:///{tmp_path}/responses.sqlite"
    if request.param == "postgresql":
        url = request.getfixturevalue("database")
    with ExitStack() as stack:
        store = stack.enter_context(Store.open(url))

        def begun(now: float = 0.0, **ceilings: Any) -> SharedLimits:
            return stack.enter_context(closing(SharedLimits.begin(store, Ceilings(**ceilings), now=now)))

        yield begun


def report(limits: Limits, change: Callable[[Health], Health]) -> Health:
    health = limits.report(HERE, change)
    return health.result(WAIT) if isinstance(health, Future) else health


def take(limits: Limits, *, estimate: float | None = 0.0, now: float = 0.0, endpoint: str = HERE) -> Decision:
    decision = limits.take(CallRequest(endpoint, estimate, now, lambda _: 8.0))
    return decision.result(WAIT) if isinstance(decision, Future) else decision


def granted(limits: Limits, *, estimate: float | None = 0.0, now: float = 0.0) -> Grant:
    grant = take(limits, estimate=estimate, now=now)
    assert isinstance(grant, Grant)
    return grant


def refusal(limits: Limits, *, estimate: float | None = None, now: float = 0.0) -> str:
    over = take(limits, estimate=estimate, now=now)
    assert isinstance(over, Stop)
    assert limits.ended == over.reason
    return over.reason


def settle(limits: Limits, grant: Grant, cost: float) -> None:
    limits.settle(AccountEntry.settled(grant, cost, billed=cost))


def rows(store: Store) -> list[int]:
    """The numbers of rows of runs, accounts, endpoints and owners."""
    tables = (RUNS, ACCOUNTS, ENDPOINTS, OWNERS)
    with store.database.connect() as connection:
        return [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables]


def start(
    url: str, limits: SharedLimits, *, calls: int = 0, cost: float = 0, max_calls: int = 10**6
) -> subprocess.Popen[str]:
    command = [
        forkserver.python(),
        "-c",
        TAKE_ALL,
        url,
        limits.session,
        str(calls),
        str(cost),
        str(max_calls),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_four_processes_make_exactly_the_allowed_calls(url: str, begin: Begin) -> None:
    limits = begin(calls=100)
    processes = [start(url, limits, calls=100) for _ in range(4)]
    assert sum(int(process.communicate(timeout=60)[0]) for process in processes) == 100
    assert limits.usage.calls == 100


def test_two_sessions_of_one_run_share_its_limits_but_not_their_accounts(begin: Begin) -> None:
    session, sibling = begin(run="nightly", calls=5), begin(run="nightly", calls=5)
    for limits in (session, sibling, session, sibling, sibling):
        granted(limits)
    assert refusal(session) == refusal(sibling) == "the budget of 5 calls is used up"
    assert (session.usage.calls, sibling.usage.calls) == (2, 3)


def test_two_sessions_of_one_run_share_its_rate_and_cost(begin: Begin) -> None:
    session, sibling = (begin(run="nightly", rpm=60, cost=1.0) for _ in range(2))
    assert [granted(limits, estimate=0.4).wait for limits in (session, sibling)] == pytest.approx([0.0, 1.0])
    assert isinstance(take(sibling, estimate=0.4), Delay)


def test_a_session_that_ends_leaves_the_others_their_run(store: Store, begin: Begin) -> None:
    session, sibling = begin(run="nightly", calls=5), begin(run="nightly", calls=5)
    granted(session)
    session.end("the run has ended").result(WAIT)
    assert take(session) == Stop("the run has ended")
    session.close()
    assert [isinstance(take(sibling), Grant) for _ in range(5)] == [True] * 4 + [False]
    sibling.close()
    assert rows(store) == [0, 0, 0, 0]


def test_a_run_in_progress_with_other_limits(begin: Begin) -> None:
    begin(run="nightly", calls=5, cost=0.5)
    with pytest.raises(InputError) as caught:
        begin(run="nightly", calls=6)
    assert str(caught.value) == (
        "--factorfair-run=nightly: the run is in progress with max-calls=5, max-cost=0.5, and this process "
        "was given max-calls=6; give every process the same limits"
    )


def test_runs_of_other_names_have_their_own(begin_alone: BeginAlone) -> None:
    session, unrelated = begin_alone(calls=1), begin_alone(calls=1)
    granted(session)
    granted(unrelated)
    assert isinstance(take(session), Stop)


def test_no_limit_grants_everything_at_once(begin_alone: BeginAlone) -> None:
    limits = begin_alone()
    assert {granted(limits, estimate=5.0, now=1e9).wait for _ in range(100)} == {0.0}
    assert limits.ended is None


def test_calls_run_out(begin_alone: BeginAlone) -> None:
    limits = begin_alone(calls=1)
    granted(limits)
    assert refusal(limits) == "the budget of 1 call is used up"
    assert refusal(limits, now=9.0) == "the budget of 1 call is used up"


def test_minutes_count_from_the_beginning(begin_alone: BeginAlone) -> None:
    limits = begin_alone(now=1000.0, minutes=2)
    granted(limits, now=1119.9)
    assert refusal(limits, now=1120.0) == "the budget of 2 minutes is used up"


def test_the_rate_is_kept_without_bursts(begin_alone: BeginAlone) -> None:
    """The pace of 120 a minute is a call every half second; pauses do not allow a burst."""
    limits = begin_alone(rpm=120)
    assert [granted(limits, now=moment).wait for moment in (10.0, 10.0, 10.2)] == pytest.approx([0, 0.5, 0.8])
    assert [granted(limits, now=100.0).wait for _ in range(3)] == pytest.approx([0, 0.5, 1.0])


def test_no_call_is_put_off_beyond_the_end(begin_alone: BeginAlone) -> None:
    limits = begin_alone(minutes=1, rpm=1)
    granted(limits)
    assert refusal(limits) == "the budget of 1 minute is used up"


def test_cost_is_set_aside_and_then_replaced(begin_alone: BeginAlone) -> None:
    limits = begin_alone(cost=1.0)
    grant, later_grant = (granted(limits, estimate=0.4) for _ in range(2))
    assert grant.reserved == pytest.approx(0.4)
    assert isinstance(take(limits, estimate=0.4), Delay)  # it depends on what these two will have cost
    settle(limits, grant, 0.1)
    settle(limits, later_grant, 0.1)
    for _ in range(2):  # 0.2 spent, 0.4 twice set aside
        granted(limits, estimate=0.4)
    assert isinstance(take(limits, estimate=0.4), Delay)


def test_a_remaining_budget_too_small_for_a_call_is_reported(begin_alone: BeginAlone) -> None:
    limits = begin_alone(cost=1.0)
    settle(limits, granted(limits, estimate=0.5), 0.7)
    message = "the budget of $1.00 is used up but for $0.3000, and a call may cost $0.7000"
    assert refusal(limits, estimate=0.4) == message


def test_expensive_answers_raise_the_estimate(begin_alone: BeginAlone) -> None:
    limits = begin_alone(cost=1.0)
    settle(limits, granted(limits, estimate=None), 0.5)
    second = granted(limits, estimate=None)
    assert second.reserved == pytest.approx(0.5)
    assert isinstance(take(limits), Delay)
    settle(limits, second, 0.5)
    assert refusal(limits) == "the budget of $1.00 is used up"


def test_the_first_call_of_unknown_price_goes_alone(begin_alone: BeginAlone) -> None:
    limits = begin_alone(cost=1.0)
    grant = granted(limits, estimate=None)
    assert isinstance(take(limits, estimate=None), Delay)
    settle(limits, grant, 0.0)
    assert all(granted(limits, estimate=None).reserved == 0 for _ in range(3))  # they are free


def test_a_call_that_cost_nothing_gives_back_what_was_set_aside(begin_alone: BeginAlone) -> None:
    limits = begin_alone(cost=0.5)
    for _ in range(10):
        limits.settle(AccountEntry.settled(granted(limits, estimate=0.4), 0.0))
    assert limits.ended is None
    assert limits.usage == Usage(calls=10, cost=0.0)


def test_a_grant_that_is_not_used_leaves_no_trace(begin_alone: BeginAlone) -> None:
    limits = begin_alone(calls=1, cost=1.0)
    limits.settle(AccountEntry.unused(granted(limits, estimate=0.9)))
    assert limits.usage == Usage()
    granted(limits, estimate=0.9)


def test_a_failed_call_that_may_have_been_billed_is_taken_as_spent(begin_alone: BeginAlone) -> None:
    limits = begin_alone(cost=1.0)
    for _ in range(2):
        grant = granted(limits, estimate=0.4)
        limits.settle(AccountEntry.settled(grant, grant.reserved))
    assert refusal(limits, estimate=0.4).startswith("the budget of $1.00 is used up but for $0.2000")
    assert limits.usage == Usage(calls=2, cost=0.8, estimated=2)


def test_without_a_limit_on_cost_a_cheap_call_is_not_billed_as_a_dear_one(begin_alone: BeginAlone) -> None:
    """Nor where the dear answer was another model's."""
    limits = begin_alone()
    limits.settle(AccountEntry.settled(granted(limits, estimate=0.5), 0.5, billed=0.5))
    assert granted(limits, estimate=0.25).reserved == 0.25
    assert granted(limits, estimate=None).reserved == 0.5


def test_the_account_of_all_processes(store: Store, begin: Begin) -> None:
    """The account of all processes; calls in flight count with the cost reserved for them."""
    limits = begin()
    joined = SharedLimits.join(store, Ceilings(), run="", session=limits.session)
    assert joined is not None
    grant = granted(limits, estimate=0.25)
    granted(joined, estimate=0.5)
    limits.settle(AccountEntry.settled(grant, 0.125, 70, 3, billed=0.125))
    assert limits.usage == Usage(2, 0, 70, 3, 0.625, estimated=1)
    joined.close()
    assert limits.usage == Usage(2, 0, 70, 3, 0.625, estimated=1)


def test_the_cost_is_unknown_until_the_price_is_known(begin_alone: BeginAlone) -> None:
    limits = begin_alone()
    grant = granted(limits, estimate=None)
    assert limits.usage == Usage(calls=1, cost=None)
    settle(limits, grant, 0.5)
    assert limits.usage == Usage(calls=1, cost=0.5)
    limits.settle(AccountEntry.settled(granted(limits, estimate=None), None))
    assert limits.usage == Usage(calls=2, cost=None)


def test_a_session_that_has_ended_sends_nothing_and_counts_nothing(begin_alone: BeginAlone) -> None:
    limits = begin_alone()
    limits.end("the run was interrupted")
    limits.end("another reason")
    assert refusal(limits) == "the run was interrupted"
    assert limits.usage == Usage()


def test_calls_in_flight_of_dead_processes_count_as_spent(url: str, begin: Begin) -> None:
    limits = begin(cost=1.0)
    assert start(url, limits, cost=1.0, max_calls=1).communicate(timeout=60)[0] == "1\n"
    assert isinstance(take(limits, estimate=0.6), Delay)  # now it is taken for dead
    assert refusal(limits, estimate=0.6).startswith("the budget of $1.00 is used up but for $0.4000")
    assert limits.usage == Usage(calls=1, cost=0.6, estimated=1)


def test_the_next_run_sweeps_up_after_a_dead_one(url: str, store: Store, begin: Begin) -> None:
    code = (
        "import os, sys; from pytest_factorfair.domain import *; from pytest_factorfair.store import *\n"
        "from pytest_factorfair.store.sharing.limits import SharedLimits\n"
        "limits = SharedLimits.begin(Store.open(sys.argv[1]), Ceilings(calls=9), run='dead')\n"
        "limits.take(CallRequest('here', 0.0, 0.0, float)).result(); os._exit(0)"
    )
    subprocess.run([forkserver.python(), "-c", code, url], check=True)
    assert rows(store) == [1, 1, 1, 1]
    limits = begin()
    assert rows(store) == [1, 1, 0, 1]
    granted(limits)
    another = begin()  # it finds the first alive
    assert rows(store) == [2, 2, 1, 2]
    for session in (limits, another):
        session.close()
    assert rows(store) == [0, 0, 0, 0]


def test_worker_of_another_store(store: Store) -> None:
    assert SharedLimits.join(store, Ceilings(), run="", session="nowhere") is None


def test_session_whose_rows_were_deleted(store: Store, begin: Begin) -> None:
    """A session whose rows were deleted, e.g. of a host that gave no heartbeat for a while."""
    limits = begin(calls=5)
    with store.database.begin() as connection:
        connection.execute(ACCOUNTS.delete())
    assert take(limits) == Stop("the rows of the run were deleted from the store")


def test_tables_that_are_gone(store: Store, begin: Begin) -> None:
    limits = begin(calls=1)
    with store.database.begin() as connection:
        ENDPOINTS.drop(connection)
    with pytest.raises(StoreError, match=r"cannot be written: .*endpoints"):
        take(limits)


def test_processes_share_what_they_know_of_an_endpoint(store: Store, begin: Begin) -> None:
    session = begin()
    sibling = SharedLimits.join(store, Ceilings(), run="", session=session.session)
    assert sibling is not None
    granted(session)
    granted(sibling)
    for reporter, until, now, throttled in (
        (session, 45.0, 15.0, True),
        (sibling, 40.0, 20.0, True),  # a shorter pause ends no longer one
        (sibling, 50.0, 20.0, False),
    ):
        change = partial(Health.closed, until=until, now=now, throttled=throttled)
        report(reporter, change)
    (health,) = session.endpoints
    assert (health.waited, health.throttled) == (35.0, 2)  # from 15 to 50, each second once
    assert take(sibling, now=20.0) == Delay(30.0)
    assert isinstance(take(sibling, now=20.0, endpoint="elsewhere"), Grant)
    for number in range(3):
        failure = partial(
            Health.after_failure,
            cause="503",
            now=60.0 + number,
            is_new=True,
            most=3,
            opens=True,
            is_service=False,
        )
        report(sibling, failure)
    health = session.health(HERE).result(WAIT)
    assert (health.failing, health.since) == (3, 60.0)
    granted(session, now=62.0)  # the one call that tries it
    assert [take(limits, now=62.0) for limits in (session, sibling)] == [Delay(8.0)] * 2
    sibling.report(HERE, Health.after_answer)
    assert sibling.health(HERE).result(WAIT) == Health(
        HERE, closed_until=50.0, throttled=2, waited=35.0, answered=True, episode=1
    )
    granted(session, now=62.0)
    sibling.close()


def test_rejections_alike_in_a_row_are_counted(begin_alone: BeginAlone) -> None:
    limits = begin_alone()
    granted(limits)
    counts = [
        report(limits, partial(Health.after_rejection, kind=kind, cause="why")).rejected
        for kind in ("400", "400", "403", "400")
    ]
    assert counts == [1, 2, 1, 1]


def test_a_process_on_another_host_counts_as_alive_while_it_gives_signs_of_life(
    store: Store, begin: Begin
) -> None:
    remote = begin(run="theirs")
    with store.database.begin() as connection:
        connection.execute(update(OWNERS).values(host="elsewhere", pid=1))
    begin(run="mine")
    granted(remote)
    with store.database.begin() as connection:
        connection.execute(update(OWNERS).where(OWNERS.c.host == "elsewhere").values(until=0.0))
    begin(run="another")
    assert isinstance(take(remote), Stop)
