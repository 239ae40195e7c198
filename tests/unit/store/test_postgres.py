"""What is PostgreSQL's own: another's tables, another's version, and a connection that is lost."""

from __future__ import annotations

import pytest
import sqlalchemy

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
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


def test_database_of_somebody_else_is_left_as_it_is(database: str) -> None:
    execute(database, "create table diary (day text)")
    with pytest.raises(StoreError, match="not a response store; it is left as it is"):
        Store.open(database)
    engine = sqlalchemy.create_engine(database)
    assert sqlalchemy.inspect(engine).get_table_names() == ["diary"]
    engine.dispose()


def test_store_of_another_version(database: str) -> None:
    Store.open(database).close()
    execute(database, "update meta set value = '1' where name = 'version'")
    with pytest.raises(StoreError, match="of version 1, this release reads version 3"):
        Store.open(database)


def test_no_server() -> None:
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        Store.open("postgresql://ff:secret@/postgres?host=/nowhere")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lost_connection_is_one_line_and_what_was_committed_stays(
    database: str, postgres_folder: str
) -> None:
    with Store.open(database) as store:
        put(store, "before")
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
