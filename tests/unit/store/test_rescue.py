"""Responses that a store cannot accept are written to files next to it, and stored by the next run."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import RescuedError, StoreError
from pytest_factorfair.store import Store
from pytest_factorfair.store.durable import rescue
from tests import keeping

WAIT = 30
DRAWN = Response("", image=keeping.PNG + b"k")


@pytest.fixture
def folder(file: Path) -> Path:
    return file.parent


def opened(file: Path, **options: float) -> Store:
    return Store.open(f"sqlite:///{file}", rescue=file.parent, **options)  # type: ignore[arg-type]  # patience


def put(store: Store, key: str, response: Response = Response("A")) -> None:  # noqa: B008  # frozen
    keeping.put(store, key, response, model="m", prompt="p", repeat=0).result(WAIT)


def refuse(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "create trigger full before insert on responses begin select raise(abort, 'disk full'); end"
        )


def accept(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("drop trigger full")


def lines(folder: Path) -> list[str]:
    return [line for path in sorted(folder.glob("rescued-*.jsonl")) for line in path.read_text().splitlines()]


def test_responses_that_cannot_be_stored_are_stored_by_the_next_run(file: Path, folder: Path) -> None:
    with opened(file) as store:
        put(store, "before")
        refuse(file)
        for key in ("text", "picture"):
            with pytest.raises(RescuedError, match="cannot be written: disk full"):
                put(store, key, DRAWN if key == "picture" else Response("B", tokens_in=3))
        assert store.call_texts(["before", "text"]).keys() == {"before", "text"}
        assert store.recall() == (2, "")
    assert {json.loads(line)["key"] for line in lines(folder)} == {"text", "picture"}
    accept(file)
    with opened(file) as reopened:
        assert reopened.take_up() == 2
        responses = reopened.responses(["before", "text", "picture"])
        assert responses["text"] == Response("B", tokens_in=3)
        assert reopened.pictures.read(responses["picture"].image_file) == DRAWN.image
        assert reopened.take_up() == 0
    assert not lines(folder)


def test_a_replay_stores_rescued_responses_too(file: Path, folder: Path) -> None:
    with opened(file) as store:
        refuse(file)
        with pytest.raises(RescuedError):
            put(store, "k")
    accept(file)
    with Store.open(f"sqlite:///{file}", read_only=True, rescue=folder) as replayed:
        assert replayed.take_up() == 1
        assert replayed.count(["k"]) == 1


def test_rescued_responses_of_another_store_are_left_and_a_project_may_be_moved(
    file: Path, tmp_path: Path
) -> None:
    with opened(file) as store:
        refuse(file)
        with pytest.raises(RescuedError):
            put(store, "k")
    with Store.open(f"sqlite:///{file.with_name('other.sqlite')}", rescue=file.parent) as other_store:
        assert other_store.take_up() == 0
    accept(file)
    moved = tmp_path / "moved"
    file.parent.rename(moved)
    with opened(moved / file.name) as reopened:
        assert reopened.take_up() == 1


def test_a_response_stored_meanwhile_is_not_replaced(file: Path) -> None:
    with opened(file) as store:
        refuse(file)
        with pytest.raises(RescuedError):
            put(store, "k", Response("rescued"))
    accept(file)
    keeping.fill(str(file), "k", Response("asked again"))
    with opened(file) as reopened:
        assert reopened.take_up() == 1
        assert reopened.responses(["k"])["k"].text == "asked again"


def test_deleted_rows_are_recalled_from_memory(file: Path, folder: Path) -> None:
    with opened(file) as store:
        for key in ("a", "b", "c"):
            put(store, key)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("delete from responses where key in ('a', 'c')")
        count, why = store.recall()
        assert count == 2
        assert why == f"{file}: 2 responses of this run were deleted from the store"
    assert {json.loads(line)["key"] for line in lines(folder)} == {"a", "c"}


def test_the_memory_of_stored_responses_is_bounded(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rescue, "MOST", 2_000)
    with opened(file) as store:
        for number in range(50):
            put(store, f"k{number}")
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("delete from responses")
        count, _ = store.recall()
    keys = [json.loads(line)["key"] for line in lines(folder)]
    assert 0 < count == len(keys) < 50
    assert keys == [f"k{number}" for number in range(50 - count, 50)]


def test_on_a_full_disk_rescued_responses_are_linked_from_another(
    file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, which still accepts links, rescued responses are linked to a file elsewhere."""
    write_through, elsewhere = rescue._write_through, folder / "elsewhere"  # noqa: SLF001  # the disk fills up here

    def full(descriptor: int, content: bytes) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().parent == folder:
            os.close(descriptor)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write_through(descriptor, content)

    with opened(file) as store:
        refuse(file)
        elsewhere.mkdir()
        monkeypatch.setattr(rescue, "_write_through", full)
        monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
        with pytest.raises(RescuedError):
            put(store, "k")
    (link,) = folder.glob("rescued-*.jsonl")
    assert link.is_symlink()
    accept(file)
    with opened(file) as reopened:
        assert reopened.take_up() == 1
    assert not list(elsewhere.iterdir())
    assert not link.is_symlink()


@pytest.mark.parametrize("line", ["", "{", "[]", '{"key": "k"}', "\xff"])
def test_a_damaged_line_is_named(file: Path, folder: Path, line: str) -> None:
    with opened(file) as store:
        refuse(file)
        for key in ("a", "b"):
            with pytest.raises(RescuedError):
                put(store, key)
    accept(file)
    path = max(folder.glob("rescued-*.jsonl"))
    path.write_text(f"{path.read_text()}{line}\n")
    with opened(file) as reopened, pytest.raises(StoreError) as caught:
        reopened.take_up()
    assert str(caught.value) == (
        f"{path}, line 2: not a response that a run rescued; delete the line, and it is asked for again"
    )
