"""Behaviour specific to PostgreSQL: foreign tables, other versions, and lost connections."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import sqlalchemy

from pytest_factorfair.domain import CallRequest, Ceilings, Grant, Response, Stop
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from pytest_factorfair.store.sharing.limits import SharedLimits
from tests import keeping, postgres

WAIT = 30


def execute(url: str, *statements: str) -> None:
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def put(store: Store, key: str) -> None:
    keeping.put(store, key, Response("A"), model="m", prompt="p", repeat=0).result(WAIT)


def test_a_database_of_another_program_is_not_changed(database: str) -> None:
    execute(database, "create table diary (day text)")
    with pytest.raises(StoreError, match="not a response store; it is left as it is"):
        Store.open(database)
    engine = sqlalchemy.create_engine(database)
    assert sqlalchemy.inspect(engine).get_table_names() == ["diary"]
    engine.dispose()


def test_store_of_another_version(database: str) -> None:
    Store.open(database).close()
    execute(database, "update meta set value = '1' where name = 'version'")
    with pytest.raises(StoreError, match="of version 1, this release reads version 5"):
        Store.open(database)


def test_no_server() -> None:
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        Store.open("postgresql://ff:secret@/postgres?host=/nowhere")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_restart_is_waited_for(database: str, postgres_folder: str) -> None:
    """Operations during a restart of the server are completed once it is back."""
    with Store.open(database) as store:
        store.claim(["claimed", "put"]).result(WAIT)
        put(store, "put")
        postgres.control(postgres_folder, "stop", "-m", "fast")
        row = keeping.put(store, "late", Response("A"), model="m", prompt="p", repeat=0)
        claim = store.claim(["claimed", "new", "put"])
        with ThreadPoolExecutor(1) as reader:
            count = reader.submit(store.count, ["put", "late"])
            time.sleep(0.5)  # all three have met a server that is away
            assert not row.done()
            assert not claim.done()
            assert not count.done()
            postgres.control(postgres_folder, "start")
            row.result(WAIT)
            assert set(claim.result(WAIT).claimed) == {"claimed", "new"}
            assert set(claim.result(WAIT).stored) == {"put"}
            assert count.result(WAIT) >= 1
        assert store.count(["put", "late"]) == 2
        with Store.open(database) as rival:  # whose claims these are is known again
            assert rival.claim(["claimed", "new"]).result(WAIT).elsewhere == ("claimed", "new")


def test_grants_whose_connection_is_lost_are_taken_once(database: str) -> None:
    """Grants are taken once if the connection is lost after the calls were taken, before they are on the account."""
    server = sqlalchemy.create_engine(database)
    requests = [CallRequest("here", None, 0.0, float)] * 3
    with Store.open(database) as store, closing(SharedLimits.begin(store, Ceilings(calls=5))) as limits:
        with server.connect() as blocking:
            blocking.exec_driver_sql("select * from process_accounts for update")
            batch = [limits.take(request) for request in requests]
            blocked = "from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            with server.connect().execution_options(isolation_level="AUTOCOMMIT") as watching:
                while not watching.exec_driver_sql(f"select pg_terminate_backend(pid) {blocked}").all():
                    time.sleep(0.01)
        assert all(isinstance(asked.result(WAIT), Grant) for asked in batch)
        assert limits.usage.calls == 3
        *grants, over = [limits.take(request).result(WAIT) for request in requests]
        assert all(isinstance(grant, Grant) for grant in grants)
        assert over == Stop("the budget of 5 calls is used up")
    server.dispose()


def test_lost_connection_is_one_line_and_what_was_committed_stays(
    database: str, postgres_folder: str
) -> None:
    with Store.open(database) as store:
        put(store, "before")
        store.outage.patience = 0.3
        name = sqlalchemy.make_url(database).database
        postgres.psql(postgres_folder, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        postgres.psql(
            postgres_folder,
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",  # noqa: S608
        )
        for attempt in (
            lambda: put(store, "during"),
            lambda: put(store, "later"),
            lambda: store.count(["x"]),
        ):
            with pytest.raises(StoreError, match="the response store cannot be") as caught:
                attempt()
            assert "\n" not in str(caught.value)
    postgres.psql(postgres_folder, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    with Store.open(database) as store:
        assert store.count(["before", "during", "later"]) == 1
