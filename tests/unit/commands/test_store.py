"""``factorfair store ls|merge|export|prune``."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Response, plural
from pytest_factorfair.models import replay
from pytest_factorfair.store import Store
from tests import keeping
from tests.asking import ask, spec

TODAY = "9999-12-31"


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


PLAIN = Response("A")


def fill(name: str, keys: str, response: Response = PLAIN, *, model: str = "m") -> None:
    with Store.open(f"sqlite:///{name}") as store:
        for key in keys:
            keeping.put(store, key, response, model=model, prompt=f"prompt {key}", repeat=0).result(30)


def had(name: str, keys: str) -> dict[str, str]:
    with Store.open(f"sqlite:///{name}") as store:
        return {key: response.text for key, response in store.responses(keys).items()}


def test_ls(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "abc")
    fill("one.sqlite", "d", Response("", "stop"))
    fill("one.sqlite", "e", model="o\x1b[31m")
    assert main(["store", "ls", "one.sqlite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("m: 4 responses, 1 of them unusable, 20")
    assert lines[1].startswith("o?[31m: 1 response, 20")


def test_merge_copies_what_is_lacking(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "ab", Response("one"))
    fill("one.sqlite", "c", Response("cut", "length"))
    fill("two.sqlite", "bcd", Response("two"))
    assert main(["store", "merge", "one.sqlite", "sqlite:///two.sqlite"]) == 0
    assert capsys.readouterr().out == "sqlite:///two.sqlite: 1 response copied\n"
    assert had("one.sqlite", "abcd") == {"a": "one", "b": "one", "c": "two", "d": "two"}
    assert had("two.sqlite", "abcd") == {"b": "two", "c": "two", "d": "two"}


def test_merge_of_much(capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open("sqlite:///two.sqlite") as store:
        waiting = [
            keeping.put(store, f"k{n:04}", Response("A"), model="m", prompt="p", repeat=n)
            for n in range(1201)
        ]
        for done in waiting:
            done.result(30)
    fill("one.sqlite", "a")
    assert main(["store", "merge", "one.sqlite", "two.sqlite"]) == 0
    assert capsys.readouterr().out == "two.sqlite: 1,201 responses copied\n"


def test_merge_looks_at_all_sources_before_it_writes(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "a")
    fill("two.sqlite", "b")
    Path("three.sqlite").write_text("not a database, but long enough to be read as one" * 9)
    assert main(["store", "merge", "one.sqlite", "two.sqlite", "three.sqlite"]) == 4
    assert "three.sqlite" in capsys.readouterr().err
    assert had("one.sqlite", "ab") == {"a": "A"}


def test_export_is_what_replay_takes(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "ab", Response("\ud800 <b>\x1b[31m", tokens_in=3))
    fill("one.sqlite", "c", model="other")
    fill("one.sqlite", "d", Response("cut", "length"))
    assert main(["store", "export", "one.sqlite", "--model", "m"]) == 0
    told = capsys.readouterr().out
    assert told.isascii()
    assert [json.loads(line)["prompt"] for line in told.splitlines()] == ["prompt a", "prompt b"]
    Path("answers.jsonl").write_text(told)
    model = replay.build(spec("replay:answers.jsonl"))
    assert [response.tokens_in for response in ask(model, "prompt a", "prompt b")] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--unusable"], "abc"),
        (["--model", "other"], "ab"),
        (["--before", "2020-01-01"], "abc"),
        (["--before", TODAY], ""),
        (["--before", TODAY, "--model", "other"], "ab"),
    ],
)
def test_prune(capsys: pytest.CaptureFixture[str], arguments: list[str], left: str) -> None:
    fill("one.sqlite", "ab")
    fill("one.sqlite", "c", model="other")
    fill("one.sqlite", "d", Response("cut", "length"))
    assert main(["store", "prune", "one.sqlite", *arguments]) == 0
    assert "".join(sorted(had("one.sqlite", "abcd"))) == left
    with closing(sqlite3.connect("one.sqlite")) as store:
        rows = store.execute("select count(*) from responses").fetchone()[0]
    assert capsys.readouterr().out == f"{plural(4 - rows, 'response')} deleted\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls", "none.sqlite"], "none.sqlite: no such response store"),
        (["ls", "mysql://host/db"], "cannot be kept in 'mysql'"),
        (["merge", "one.sqlite", "none.sqlite"], "none.sqlite: no such"),
        (["prune", "one.sqlite"], "choose what to delete"),
        (
            ["prune", "one.sqlite", "--before", "tomorrow"],
            "expected a date such as 2026-01-31, got 'tomorrow'",
        ),
    ],
)
def test_wrong_input(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    fill("one.sqlite", "a")
    assert main(["store", *arguments]) == 4
    told = capsys.readouterr()
    assert told.out == ""
    assert words in told.err
    assert told.err.count("\n") == 1
    assert not Path("none.sqlite").exists()


PNG = b"\x89PNG\r\n\x1a\n"


def draw(name: str, keys: str, *, said: str = "", model: str = "m") -> None:
    for key in keys:
        fill(name, key, Response("", image=PNG + (said or key).encode()), model=model)


def drawn(name: str, keys: str) -> dict[str, bytes]:
    with Store.open(f"sqlite:///{name}") as store:
        found = store.responses(keys)
        return {key: store.picture(response.image_file) for key, response in found.items()}


def files(folder: str) -> list[Path]:
    return sorted(Path(folder, "images").glob("*/*"))


def test_merge_brings_pictures_along(capsys: pytest.CaptureFixture[str]) -> None:
    draw("a/one.sqlite", "ab", said="one")
    draw("b/two.sqlite", "bcd", said="two")
    draw("b/two.sqlite", "e")
    fill("b/two.sqlite", "f", Response("words"))
    draw("b/two.sqlite", "g")
    with Store.open("sqlite:///b/two.sqlite") as two:
        (two.pictures.folder / two.responses("g")["g"].image_file).unlink()
    assert main(["store", "merge", "a/one.sqlite", "b/two.sqlite"]) == 0
    assert capsys.readouterr().out == "b/two.sqlite: 4 responses copied\n"
    expected = {"a": PNG + b"one", "b": PNG + b"one", "c": PNG + b"two", "d": PNG + b"two", "e": PNG + b"e"}
    assert drawn("a/one.sqlite", "abcdeg") == expected
    assert had("a/one.sqlite", "f") == {"f": "words"}
    with Store.open("sqlite:///a/one.sqlite") as one, Store.open("sqlite:///b/two.sqlite") as two:
        lines = {line["key"]: line for line in two.pictures.manifest()}
        copied = [line for line in one.pictures.manifest() if str(line["key"]) in "cde"]
    assert copied == [lines[key] for key in "cde"]


def test_merge_mends_a_picture_that_was_lost() -> None:
    draw("a/one.sqlite", "a", said="lost")
    files("a")[0].unlink()
    draw("b/two.sqlite", "a", said="there")
    assert main(["store", "merge", "a/one.sqlite", "b/two.sqlite"]) == 0
    assert drawn("a/one.sqlite", "a") == {"a": PNG + b"there"}


def test_prune_deletes_pictures_nobody_needs() -> None:
    draw("one.sqlite", "ab")
    draw("one.sqlite", "c", said="a", model="other")
    draw("one.sqlite", "d", said="neighbour")
    draw("two.sqlite", "d", said="neighbour")
    Path("not a store").write_text("SQLite format 2")
    with closing(sqlite3.connect("another's.sqlite")) as other, other:
        other.execute("create table things (name)")
    assert len(files(".")) == 3
    assert main(["store", "prune", "one.sqlite", "--model", "m"]) == 0
    assert drawn("one.sqlite", "abcd") == {"c": PNG + b"a"}
    assert drawn("two.sqlite", "d") == {"d": PNG + b"neighbour"}
    assert len(files(".")) == 2


def test_export_of_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    draw("one.sqlite", "ab")
    draw("one.sqlite", "c", model="other")
    fill("one.sqlite", "d")
    assert main(["store", "export", "one.sqlite", "--model", "m", "--images", "copied"]) == 0
    assert capsys.readouterr().out == "copied: 2 pictures copied\n"
    lines = [json.loads(line) for line in Path("copied/manifest.jsonl").read_text().splitlines()]
    assert [line["prompt"] for line in lines] == ["prompt a", "prompt b"]
    assert [Path("copied", line["file"]).read_bytes() for line in lines] == [PNG + b"a", PNG + b"b"]
    assert main(["store", "export", "one.sqlite"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("file") for line in told[:2]] == [line["file"] for line in lines]
    assert "file" not in told[3]
