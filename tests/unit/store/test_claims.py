from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol

import pytest
from sqlalchemy import Connection, event, func, select, update

from pytest_factorfair.domain import Response
from pytest_factorfair.store import ClaimResult, Store
from pytest_factorfair.store.schema import CLAIMS, OWNERS
from pytest_factorfair.store.sharing import claims
from tests import keeping

WAIT = 30
KEYS = ("a", "b", "c")

CLAIM = """
import sys
from pytest_factorfair.store import Store
store = Store.open(sys.argv[1])
print(store.claim(["a", "b"]).result().mine, flush=True)
sys.stdin.readline()
"""


class OpenStore(Protocol):
    def __call__(self) -> Store: ...


@pytest.fixture
def another(url: str) -> Iterator[OpenStore]:
    """Open the store as if by another process."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Store.open(url))


def claim(store: Store, *keys: str, refresh: bool = False) -> ClaimResult:
    return store.claim(keys, refresh=refresh).result(WAIT)


def put(store: Store, key: str, response: Response) -> None:
    keeping.put(store, key, response, model="m", prompt="p", repeat=0).result(WAIT)


def left(store: Store) -> list[int]:
    """The numbers of rows of claims and of owners."""
    with store.database.connect() as connection:
        return [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (CLAIMS, OWNERS)
        ]


def test_a_claimed_key_makes_other_processes_wait(store: Store, another: OpenStore) -> None:
    rival = another()
    assert claim(store, "a", "b") == ClaimResult(("a", "b"), ())
    assert claim(rival, *KEYS) == ClaimResult(("c",), ("a", "b"))
    assert claim(store, *KEYS) == ClaimResult(("a", "b"), ("c",))


def test_claim_ends_with_the_commit_and_the_response_is_handed_out(store: Store, another: OpenStore) -> None:
    rival = another()
    claim(store, *KEYS)
    put(store, "a", Response("A"))
    assert claim(rival, *KEYS) == ClaimResult((), ("b", "c"), {"a": Response("A")})
    assert left(store) == [2, 2]  # nobody holds what is answered
    assert claim(rival, "a", refresh=True) == ClaimResult(("a",), ())


def test_response_that_cannot_be_reused_leaves_the_key_to_the_next(store: Store, another: OpenStore) -> None:
    claim(store, "a")
    put(store, "a", Response("", "stop"))
    assert claim(another(), "a") == ClaimResult(("a",), ())


def test_a_released_claim_is_free(store: Store, another: OpenStore) -> None:
    rival = another()
    claim(store, *KEYS)
    rival.release(["a"]).result(WAIT)  # not its own
    store.release(["b"]).result(WAIT)
    assert claim(rival, *KEYS).mine == ("b",)


def test_closing_releases_all_claims(url: str, store: Store) -> None:
    with Store.open(url) as rival:
        claim(rival, *KEYS)
        assert claim(store, "a").theirs == ("a",)
    assert claim(store, *KEYS).mine == KEYS
    assert left(store) == [3, 1]


def test_store_that_claims_nothing_leaves_no_trace(store: Store) -> None:
    put(store, "a", Response("A"))
    assert left(store) == [0, 0]


def test_claims_that_wait_are_granted_in_one_transaction(store: Store, another: OpenStore) -> None:
    put(store, "had", Response("A"))
    put(store, "old", Response("A"))
    assert claim(another(), "theirs").mine == ("theirs",)
    commits: list[object] = []
    event.listen(store.database, "commit", commits.append)
    busy, gate = threading.Event(), threading.Event()

    def hold(_: Connection, batch: list[None]) -> list[None]:
        busy.set()
        gate.wait(WAIT)
        return batch

    held = store._writer.do(hold, None)  # noqa: SLF001  # what comes while it is busy is the matter
    assert busy.wait(WAIT)
    requests = [
        store.claim(["b", "had", "a"]),
        store.claim(["theirs", "c"]),
        store.claim(["old"], refresh=True),
    ]
    row = keeping.put(store, "a0", Response("B"), model="m", prompt="p", repeat=0)
    gate.set()
    held.result(WAIT)
    row.result(WAIT)
    assert [request.result(WAIT) for request in requests] == [
        ClaimResult(("b", "a"), (), {"had": Response("A")}),
        ClaimResult(("c",), ("theirs",)),
        ClaimResult(("old",), ()),
    ]
    assert len(commits) == 3  # of what held the writer up, of the row, and of all claims


@pytest.mark.parametrize("count", [2, 6])
def test_racing_claims_have_one_winner_each(another: OpenStore, count: int) -> None:
    stores = [another() for _ in range(count)]
    keys = [f"k{number}" for number in range(700)]
    with ThreadPoolExecutor(count) as pool:
        orders = [keys if number % 2 else keys[::-1] for number in range(count)]
        claims = list(pool.map(lambda pair: claim(pair[0], *pair[1]), zip(stores, orders, strict=True)))
    assert sorted(key for claim in claims for key in claim.mine) == sorted(keys)


def test_claims_of_a_killed_process_are_free_at_once(url: str, store: Store) -> None:
    command = [sys.executable, "-c", CLAIM, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "('a', 'b')\n"
        assert claim(store, *KEYS) == ClaimResult(("c",), ("a", "b"))
        process.kill()
        # not waited for: what is left is a zombie
        deadline = time.monotonic() + WAIT
        while claim(store, *KEYS).theirs and time.monotonic() < deadline:
            time.sleep(0.01)
        assert claim(store, *KEYS).mine == KEYS
    assert left(store) == [3, 1]


def elsewhere(store: Store, **values: object) -> None:
    """Pretend that all owners are processes of another machine."""
    with store.database.begin() as connection:
        connection.execute(update(OWNERS).values(host="elsewhere", **values))


def test_a_process_on_another_host_counts_as_alive_while_it_gives_signs_of_life(
    store: Store, another: OpenStore
) -> None:
    claim(store, "a")
    elsewhere(store, pid=1)
    assert claim(another(), "a").theirs == ("a",)
    elsewhere(store, until=time.time() - 1)
    assert claim(another(), "a").mine == ("a",)


def test_signs_of_life(store: Store, another: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was considered dead is alive again with its next heartbeat."""
    rival = another()
    claim(store, "a")
    elsewhere(store, until=0.0)
    assert claim(rival, "a").mine == ("a",)
    monkeypatch.setattr(claims, "BEAT", 0.0)
    assert claim(store, "b", "c").mine == ("b", "c")
    assert claim(rival, "b", "c").theirs == ("b", "c")


def test_idle_process_gives_signs_of_life(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_factorfair.store.writer.BEAT", 0.02)
    monkeypatch.setattr(claims, "BEAT", 0.02)
    claim(store, "a")
    elsewhere(store, until=0.0)
    deadline = time.monotonic() + WAIT
    with store.database.connect() as connection:
        while connection.execute(select(OWNERS.c.until)).scalar_one() == 0.0 and time.monotonic() < deadline:
            connection.rollback()
            time.sleep(0.01)
    assert time.monotonic() < deadline
