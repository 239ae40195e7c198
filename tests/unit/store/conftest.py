from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_factorfair.store import Store
from tests import postgres

EMPTY = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'store' AND pid <> pg_backend_pid();
    DROP SCHEMA public CASCADE;
    CREATE SCHEMA public;
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use ``backend`` with both databases; tests that use ``file`` only with SQLite."""
    if "backend" in metafunc.fixturenames:
        both = ("sqlite",) if "file" in metafunc.fixturenames else ("sqlite", "postgresql")
        metafunc.parametrize("backend", both)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "responses.sqlite"


@pytest.fixture(scope="session")
def postgres_folder() -> Iterator[str]:
    """The folder of a PostgreSQL server, which ends with the tests."""
    if postgres.binaries() is None:
        pytest.skip("PostgreSQL is not installed: no initdb on PATH or in /usr/lib/postgresql")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with postgres.server() as folder:
        postgres.psql(folder, "CREATE DATABASE store")
        yield folder


@pytest.fixture
def database(postgres_folder: str) -> str:
    """The URL of a database that is empty: a new one for each test would be 300 files to write and remove."""
    postgres.psql(postgres_folder, EMPTY, database="store")
    return f"postgresql+psycopg://ff@/store?host={postgres_folder}"


@pytest.fixture
def url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    if backend == "sqlite":
        return f"sqlite:///{tmp_path}/kept/responses.sqlite"
    return str(request.getfixturevalue("database"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened
