from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from tests import keeping


def refusal(url: str, *, read_only: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        Store.open(url, read_only=read_only)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_new_folder_is_ignored_by_git(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/new/.factorfair/responses.sqlite"):
        pass
    folder = tmp_path / "new" / ".factorfair"
    assert sorted(entry.name for entry in folder.iterdir()) == [".gitignore", "responses.sqlite"]
    assert "*" in (folder / ".gitignore").read_text().splitlines()
    assert not (tmp_path / "new" / ".gitignore").exists()


def test_an_existing_folder_is_not_changed(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/responses.sqlite"):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["responses.sqlite"]


def test_a_path_may_contain_characters_that_a_uri_may_not(tmp_path: Path) -> None:
    file = tmp_path / "50%25 done #1 p%41" / "résumé.sqlite"
    url = f"sqlite:///{file}"
    for _ in range(2):
        with Store.open(url) as store:
            keeping.put(store, "k", Response("A"), model="m", prompt="p", repeat=0).result(30)
    assert list(tmp_path.rglob("*.sqlite")) == [file]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("responses.sqlite", "'responses.sqlite' is not the URL of a response store: give sqlite:///FILE"),
        ("", "'' is not the URL"),
        ("sqlit:///x.sqlite", "cannot be kept in 'sqlit'; did you mean 'sqlite'?"),
        ("mysql://host/db", "cannot be kept in 'mysql'"),
        ("postgresql+psycopg2://host/db", "did you mean 'postgresql+psycopg'?"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite:///x.sqlite?mode=memory", "takes no options"),
    ],
)
def test_bad_url(url: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refusal(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["me:secret@127.0.0.1:1/responses", "127.0.0.1:1/responses?password=secret"])
def test_password_is_not_shown(url: str) -> None:
    message = refusal(f"postgresql://{url}")
    assert "secret" not in message
    assert "***" in message or "psycopg" in message


@pytest.mark.parametrize("content", [b"", b"notes of mine\n" * 100, b"SQLite format 3\0" + b"\xff" * 500])
@pytest.mark.parametrize("read_only", [False, True])
def test_file_that_is_no_database_is_left_as_it_is(
    tmp_path: Path, content: bytes, *, read_only: bool
) -> None:
    path = tmp_path / "mine.sqlite"
    path.write_bytes(content)
    assert str(path) in refusal(f"sqlite:///{path}", read_only=read_only)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.sqlite"]


@pytest.mark.parametrize(
    "script",
    [
        "create table diary (day text)",
        "create table meta (name text, value text)",
        "create table meta (name text, value text); insert into meta values ('format', 'recipes')",
        "create table meta (id integer); insert into meta values (1)",
    ],
    ids=["other tables", "empty meta", "other format", "other meta"],
)
def test_a_database_of_another_program_is_not_changed(tmp_path: Path, script: str) -> None:
    path = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    before = path.read_bytes()
    assert "not a response store; it is left as it is" in refusal(f"sqlite:///{path}")
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", ["1", "4", "6"])
def test_store_of_another_version_is_left_as_it_is(tmp_path: Path, version: str) -> None:
    path = tmp_path / "responses.sqlite"
    with Store.open(f"sqlite:///{path}"):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update meta set value = ? where name = 'version'", (version,))
    before = path.read_bytes()
    message = refusal(f"sqlite:///{path}")
    assert f"of version {version}, this release reads version 5" in message
    assert path.read_bytes() == before


def test_file_system_without_locks(tmp_path: Path) -> None:
    """On a file system without locks, SQLite reports even a new file as locked."""
    lockers = []

    def lock(connection: sqlite3.Connection, _: object) -> None:
        name = connection.execute("pragma database_list").fetchone()[2]
        locker = sqlite3.connect(name)
        locker.execute("begin exclusive")
        lockers.append(locker)

    event.listen(Engine, "connect", lock)
    try:
        message = refusal(f"sqlite:///{tmp_path}/responses.sqlite")
    finally:
        event.remove(Engine, "connect", lock)
        for locker in lockers:
            locker.close()
    assert message == (
        f"{tmp_path}/responses.sqlite: the file system of its folder has no file locks; "
        "name another with --factorfair-store"
    )
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    message = refusal(f"sqlite:///{tmp_path}/taken/responses.sqlite")
    assert "responses.sqlite: the response store cannot be opened" in message
    assert message.endswith("name another with --factorfair-store")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "fifo"])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_path_that_is_no_regular_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], *, read_only: bool
) -> None:
    make(tmp_path / "responses.sqlite")
    assert "not a regular file" in refusal(f"sqlite:///{tmp_path}/responses.sqlite", read_only=read_only)


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("alter table responses drop column picture", "no such column: responses.picture"),
        ("drop table claims", "no such table: claims"),
    ],
)
def test_a_store_without_a_table_or_column_is_refused(
    tmp_path: Path, statement: str, missing: str, *, read_only: bool
) -> None:
    url = f"sqlite:///{tmp_path}/responses.sqlite"
    Store.open(url).close()
    with closing(sqlite3.connect(tmp_path / "responses.sqlite")) as connection:
        connection.execute(statement)
    message = refusal(url, read_only=read_only)
    assert f"cannot be opened: {missing}; name another with --factorfair-store" in message


def test_damaged_pages_are_found_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "responses.sqlite"
    with Store.open(f"sqlite:///{path}") as store:
        for number in range(50):
            keeping.put(store, f"k{number}", Response("A" * 700), model="m", prompt="p", repeat=0).result(30)
        store.verify()
    content = bytearray(path.read_bytes())
    content[-4096:] = b"\xa5" * 4096
    path.write_bytes(content)
    with Store.open(f"sqlite:///{path}") as store:
        with pytest.raises(StoreError, match=f"^{path}: the response store is damaged: ") as caught:
            store.verify()
        assert "\n" not in str(caught.value)


def test_read_only_opening_creates_nothing(tmp_path: Path) -> None:
    message = refusal(f"sqlite:///{tmp_path}/kept/responses.sqlite", read_only=True)
    assert "no such response store" in message
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_folder_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/responses.sqlite"
    with Store.open(url) as store:
        keeping.put(store, "k", Response("A"), model="m", prompt="p", repeat=0).result(30)
    monkeypatch.setattr(os, "access", lambda *_: False)  # for root every folder is writable
    with Store.open(url, read_only=True) as store:
        assert store.count(["k"]) == 1
        assert [entry.name for entry in tmp_path.iterdir()] == ["responses.sqlite"]


def refuse_links(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse_links)
    url = f"sqlite:///{tmp_path}/responses.sqlite"
    with Store.open(url) as store:
        keeping.put(store, "k", Response("A"), model="m", prompt="p", repeat=0).result(30)
    with Store.open(url) as store:
        assert store.count(["k"]) == 1


@pytest.mark.parametrize("links", [True, False])
def test_a_store_that_another_process_has_just_created_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    """The other process wins the race between our look and our link."""
    url = f"sqlite:///{tmp_path}/responses.sqlite"
    with Store.open(url) as rival:
        keeping.put(rival, "k", Response("A"), model="m", prompt="p", repeat=0).result(30)
    if not links:
        monkeypatch.setattr(os, "link", refuse_links)
    looks = itertools.chain([False], itertools.repeat(object=True))
    monkeypatch.setattr(Path, "exists", lambda _: next(looks))
    with Store.open(url) as second:
        assert second.count(["k"]) == 1
