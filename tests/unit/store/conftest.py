from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_factorfair.store import Store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "responses.sqlite"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite:///{file}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened
