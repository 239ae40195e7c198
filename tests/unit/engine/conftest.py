from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_factorfair.engine import Engine
from pytest_factorfair.store import Store

MakeEngine = Callable[..., Engine]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that asyncio logs no complaint about the engine."""
    yield
    assert [record.getMessage() for record in caplog.get_records("call")] == []


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new store: to copy it takes a tenth of the time of another one's creation."""
    file = tmp_path_factory.mktemp("empty") / "responses.sqlite"
    Store.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def file(empty: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(empty, tmp_path))


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{file}") as opened:
        yield opened


@pytest.fixture
def make_engine(store: Store) -> Iterator[MakeEngine]:
    """A function that makes engines with the store; they are closed at the end of the test."""
    with ExitStack() as stack:

        def make(**settings: object) -> Engine:
            engine = Engine(store, **settings)  # type: ignore[arg-type]  # the test knows them
            stack.callback(engine.close)
            return engine

        yield make
