from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Response
from pytest_factorfair.domain.exchange import Finish
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from tests import keeping

WAIT = 30  # seconds; only a broken store needs them


def put(store: Store, key: str, response: Response, *, replace: bool = False) -> None:
    keeping.put(store, key, response, model="m", prompt=f"prompt of {key}", repeat=0, replace=replace).result(
        WAIT
    )


def test_a_response_is_read_back_unchanged(store: Store, url: str) -> None:
    response = Response("A", "stop", 250, 6, 0.001, "gpt-4o-2024-08-06", ("temperature was ignored",))
    put(store, "k", response)
    assert store.responses(["k"]) == {"k": response}
    with Store.open(url) as reopened:
        assert reopened.responses(["k"]) == {"k": response}


@pytest.mark.parametrize(
    "text",
    ["\ud800 lone", "nul \0 inside", "\x1b[31mred\x1b[0m", "中文 😀", 'quote " and \\', "x" * 1_000_000],
    ids=["surrogate", "nul", "ansi", "wide", "quotes", "megabyte"],
)
def test_any_text_is_stored_and_read_back(store: Store, text: str) -> None:
    row = keeping.put(store, "k", Response(text, model=text), model=text, prompt=text, repeat=0)
    row.result(WAIT)
    assert store.responses(["k"])["k"].text == text


def test_resolved_future_means_committed(store: Store, file: Path) -> None:
    put(store, "k", Response("A"))
    with closing(sqlite3.connect(file)) as connection:
        row = connection.execute(
            "select key, model, prompt, repeat, reusable, created from responses"
        ).fetchone()
        assert row[:5] == ("k", "m", '"prompt of k"', 0, 1)
        assert row[5].endswith("+00:00")
        assert connection.execute("pragma journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    "response",
    [Response("", "stop"), Response(" \n")],
    ids=["empty", "blank"],
)
def test_response_that_cannot_be_reused_is_kept_but_not_found(
    store: Store, file: Path, response: Response
) -> None:
    put(store, "k", response)
    assert store.responses(["k"]) == {}
    assert store.count(["k"]) == 0
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("select count(*) from responses").fetchone() == (1,)


@pytest.mark.parametrize("text", ["I cannot.", ""], ids=["words", "none"])
@pytest.mark.parametrize("finish", ["refusal", "filtered", "length"])
def test_refused_filtered_and_cut_off_are_answers_and_not_asked_again(
    store: Store, text: str, finish: Finish
) -> None:
    put(store, "k", Response(text, finish))
    put(store, "k", Response("A"))
    assert store.responses(["k"]) == {"k": Response(text, finish)}


def test_reusable_response_is_never_overwritten(store: Store) -> None:
    put(store, "k", Response("first"))
    put(store, "k", Response("second"))
    put(store, "k", Response("third", "length"))
    assert store.responses(["k"]) == {"k": Response("first")}


def test_a_later_response_replaces_one_that_cannot_be_reused(store: Store) -> None:
    put(store, "k", Response(" "))
    put(store, "k", Response("whole"))
    assert store.responses(["k"]) == {"k": Response("whole")}


def test_replace_overwrites_any_response(store: Store) -> None:
    put(store, "k", Response("old"))
    put(store, "k", Response("new"), replace=True)
    assert store.responses(["k"]) == {"k": Response("new")}
    put(store, "k", Response("", "stop"), replace=True)
    assert store.responses(["k"]) == {}  # the old answer was not to be trusted any more


def test_only_the_keys_asked_for_are_found_and_counted(store: Store) -> None:
    for number in range(3):
        put(store, f"k{number}", Response(f"A{number}"))
    assert set(store.responses(["k0", "k2", "nobody", "k0"])) == {"k0", "k2"}
    assert store.count(["k0", "k2", "nobody", "k0"]) == 3  # two cases may ask the same
    assert store.responses([]) == {}
    assert store.count([]) == 0


def test_more_keys_than_a_statement_takes(store: Store) -> None:
    names = [f"k{number}" for number in range(1201)]
    for row in [keeping.put(store, name, Response(name), model="m", prompt="p", repeat=0) for name in names]:
        row.result(WAIT)
    assert store.count(names) == 1201
    assert {key: response.text for key, response in store.responses(names).items()} == {n: n for n in names}


def test_closing_commits_what_was_put_and_refuses_what_comes_later(url: str) -> None:
    store = Store.open(url)
    early = [keeping.put(store, f"k{n}", Response("A"), model="m", prompt="p", repeat=n) for n in range(250)]
    store.close()
    store.close()
    assert all(row.done() and row.exception() is None for row in early)
    with pytest.raises(StoreError, match="is closed"):
        keeping.put(store, "late", Response("A"), model="m", prompt="p", repeat=0).result(WAIT)
    with Store.open(url) as reopened:
        assert reopened.count(f"k{n}" for n in range(250)) == 250


WHOLE = '{"text":"A","finish":"stop","tokens_in":null,"tokens_out":3,"cost":0.1,"model":"","notes":["n"],"image_file":""}'


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "[]",
        '{"text": "A"}',
        '{"nobody": 1, "notes": []}',
        '{"notes": 1}',
        WHOLE.replace('"A"', "5"),
        WHOLE.replace("3", '"3"'),
        WHOLE.replace("[", "").replace("]", ""),
        WHOLE.replace("}", ',"more":1}'),
        WHOLE.replace("A", "é"),
        WHOLE[:40],
        WHOLE.encode()[:-1],
        b"\xff\x00",
    ],
)
def test_damaged_row_is_named_with_the_command_that_deletes_it(
    store: Store, file: Path, body: str | bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    put(store, "k", Response("A"))
    put(store, "other", Response("B"))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("update responses set body = ? where key = 'k'", (WHOLE,))
        assert store.responses(["k"])["k"] == Response("A", tokens_out=3, cost=0.1, notes=("n",))
        connection.execute("update responses set body = ? where key = 'k'", (body,))
        if isinstance(body, bytes):  # the same bytes as a text, which may not be UTF-8
            connection.execute("insert into responses select 'text', model, prompt, repeat, seed, identity,"
                               " cast(body as text), picture, picture_size, reusable, created from responses where key = 'k'")  # fmt: skip
    for key in ["k", "text"] if isinstance(body, bytes) else ["k"]:
        with pytest.raises(StoreError, match="is damaged; delete it, and it is asked again: ") as caught:
            store.responses([key, "other"])
        with pytest.raises(StoreError, match=f"the row of key {key} is damaged"):
            store.claim([key]).result(WAIT)
        command = str(caught.value).rpartition(": ")[2]
        assert command == f"factorfair store prune {file} --key {key}"
        assert main(shlex.split(command)[1:]) == 0
        assert capsys.readouterr().out == "1 response deleted\n"
    assert set(store.responses(["k", "text", "other"])) == {"other"}


@pytest.mark.parametrize("column", ["prompt", "identity", "repeat", "body"])
@pytest.mark.parametrize("arguments", [["store", "export"], ["merge", "new.sqlite"]])
def test_damaged_row_is_one_line_of_a_command(
    store: Store,
    file: Path,
    column: str,
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(file.parent)
    put(store, "k", Response("A"))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"update responses set {column} = '\"half'")  # noqa: S608
    assert main([*arguments, str(file)]) == 4
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.endswith(f"factorfair store prune {file} --key k\n")
    assert output.err.count("\n") == 1
    if column == "prompt":
        with pytest.raises(StoreError, match="the row of key k is damaged"):
            store.call_texts(["k"])


def test_lost_table_is_an_error_of_one_line(store: Store, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("drop table responses")
    for reading in (store.responses, store.count):
        with pytest.raises(StoreError, match="cannot be read: no such table: responses") as caught:
            reading(["k"])
        assert "\n" not in str(caught.value)


def test_read_only_store_reads_and_does_not_write(store: Store, url: str) -> None:
    put(store, "k", Response("A"))
    with Store.open(url, read_only=True) as reading:
        assert reading.responses(["k"]) == {"k": Response("A")}
        with pytest.raises(StoreError, match="for reading only"):
            put(reading, "other", Response("A"))
