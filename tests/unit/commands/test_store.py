"""``factorfair store ls|verify|export|prune``."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Response, plural
from pytest_factorfair.logs.formats import open_log
from tests import forkserver
from tests.keeping import PNG, draw, drawn, files, fill, had

TODAY = "9999-12-31"


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_ls_lists_models_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "abc")
    fill("one.sqlite", "d", Response("", "stop"))
    fill("one.sqlite", "e", model="o\x1b[31m")
    assert main(["store", "ls", "one.sqlite"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("m: 4 responses, 1 of them unusable, 20")
    assert lines[1].startswith("o?[31m: 1 response, 20")


@pytest.mark.parametrize("length", [1, 100_000])  # written as the command ends, and before
def test_a_closed_pipe_ends_the_command_quietly(length: int) -> None:
    fill("one.sqlite", "a", Response("x" * length))
    reading, writing = os.pipe()
    os.close(reading)
    command = [forkserver.python(), "-m", "pytest_factorfair.commands.cli", "store", "export", "one.sqlite"]
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


def test_export_is_what_replay_takes(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "ab", Response("\ud800 <b>\x1b[31m", tokens_in=3))
    fill("one.sqlite", "c", model="other")
    fill("one.sqlite", "d", Response("cut", "length"))
    assert main(["store", "export", "one.sqlite", "--model", "m"]) == 0
    output = capsys.readouterr().out
    assert output.isascii()
    prompts = ["prompt a", "prompt b", "prompt d"]
    assert [json.loads(line)["prompt"] for line in output.splitlines()] == prompts
    Path("answers.jsonl").write_text(output)
    replies = [*open_log(Path("answers.jsonl")).replies()]
    assert [reply.prompt for reply in replies] == prompts
    assert [reply.tokens_in for reply in replies] == [3, 3, None]
    assert [reply.finish for reply in replies] == ["stop", "stop", "length"]


@pytest.mark.parametrize(
    ("arguments", "remaining"),
    [
        (["--unusable"], "abc"),
        (["--model", "other"], "ab"),
        (["--before", "2020-01-01"], "abc"),
        (["--before", TODAY], ""),
        (["--before", TODAY, "--model", "other"], "ab"),
    ],
)
def test_prune_deletes_the_selected_responses(
    capsys: pytest.CaptureFixture[str], arguments: list[str], remaining: str
) -> None:
    fill("one.sqlite", "ab")
    fill("one.sqlite", "c", model="other")
    fill("one.sqlite", "d", Response(""))
    assert main(["store", "prune", "one.sqlite", *arguments]) == 0
    assert "".join(sorted(had("one.sqlite", "abcd"))) == remaining
    with closing(sqlite3.connect("one.sqlite")) as store:
        rows = store.execute("select count(*) from responses").fetchone()[0]
    assert capsys.readouterr().out == f"{plural(4 - rows, 'response')} deleted\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ls", "none.sqlite"], "none.sqlite: no such response store"),
        (["ls", "mysql://host/db"], "cannot be kept in 'mysql'"),
        (["verify", "none.sqlite"], "none.sqlite: no such response store"),
        (["prune", "one.sqlite"], "choose what to delete"),
        (
            ["prune", "one.sqlite", "--before", "tomorrow"],
            "expected a date such as 2026-01-31, got 'tomorrow'",
        ),
    ],
)
def test_wrong_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    fill("one.sqlite", "a")
    assert main(["store", *arguments]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("none.sqlite").exists()


def test_prune_deletes_pictures_nobody_needs() -> None:
    draw("one.sqlite", "ab")
    draw("one.sqlite", "c", content="a", model="other")
    draw("one.sqlite", "d", content="neighbour")
    draw("two.sqlite", "d", content="neighbour")
    Path("not a store").write_text("SQLite format 2")
    with closing(sqlite3.connect("another's.sqlite")) as connection, connection:
        connection.execute("create table things (name)")
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
    exported = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("file") for line in exported[:2]] == [line["file"] for line in lines]
    assert "file" not in exported[3]


def test_verify_reads_every_picture(capsys: pytest.CaptureFixture[str]) -> None:
    draw("one.sqlite", "abcd")
    assert main(["store", "verify", "one.sqlite"]) == 0
    assert capsys.readouterr().out == "0 pictures lost or damaged\n"
    lost, damaged, *_ = files(".")
    lost.unlink()
    damaged.write_bytes(PNG + b"?")  # as large as before
    assert main(["store", "verify", "one.sqlite"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.partition(": the picture ")[2] for line in lines) == [
        "",
        "cannot be read: No such file or directory",
        "is damaged: delete it, and it is asked for again",
    ]
    assert lines[-1] == "2 pictures lost or damaged"
    assert main(["store", "verify", "one.sqlite", "--delete"]) == 1
    assert len(drawn("one.sqlite", "abcd")) == 2
