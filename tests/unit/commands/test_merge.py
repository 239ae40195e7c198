"""``factorfair merge``: merging shards, or any stores, into one."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Detection, Face, Response, Usage
from pytest_factorfair.store import Store
from pytest_factorfair.store.pictures import Folder
from pytest_factorfair.store.sharing.shards import ShardRow
from tests import forkserver, keeping
from tests.keeping import PNG, draw, drawn, files, fill, had
from tests.project import program

FINGERPRINT = {"models": {"m": {"provider": "p"}}, "sampling": {"seed": 0, "samples": 24}}


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shard(
    number: int, keys: str = "", count: int = 3, *, calls: int = 10, cost: float | None = 0.5, **fields: Any
) -> str:
    """Make a folder with the store of a shard that has made some calls."""
    folder = f"shard{number}"
    fill(f"{folder}/responses.sqlite", keys or str(number), Response(f"of {number}"))
    fingerprint = {**FINGERPRINT, **fields.pop("fingerprint", {})}
    usage = Usage(calls=calls, tokens_in=7, cost=cost)
    row = ShardRow(
        number, count, fingerprint, f"2026-01-0{number}", **{"finished": True, "usage": usage, **fields}
    )
    with Store.open(f"sqlite:///{folder}/responses.sqlite") as store:
        store.enter(row).result(30)
    return folder


def entered(name: str) -> dict[int, Usage]:
    with Store.open(f"sqlite:///{name}") as store:
        return {row.number: row.usage for row in store.shards()}


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_shards_become_one_store_with_their_usage(capsys: pytest.CaptureFixture[str]) -> None:
    shards = [shard(1, "ab"), shard(2, "c", calls=20), shard(3, "d")]
    for copied in ((2, 1, 1), (0, 0, 0)):  # twice the same: nothing changes
        assert main(["merge", "merged", *shards]) == 0
        lines = told(capsys)
        assert [line.split(", ")[1] for line in lines[:3]] == [
            f"{number} response{'s' * (number != 1)} copied" for number in copied
        ]
        assert lines[0].startswith("shard1: shard 1 of 3, ")
        assert lines[3] == "merged: 40 calls in 3 shards, cost $1.50"
        assert lines[4] == (
            "next: pytest --factorfair-model=... --factorfair-store=sqlite:///merged/responses.sqlite"
        )
        assert had("merged/responses.sqlite", "abcd") == dict(
            zip("abcd", ("of 1", "of 1", "of 2", "of 3"), strict=True)
        )
        expected = Usage(calls=10, tokens_in=7, cost=0.5)
        assert entered("merged/responses.sqlite") == {
            1: expected, 2: Usage(calls=20, tokens_in=7, cost=0.5), 3: expected,
        }  # fmt: skip


def test_a_cost_that_is_unknown_stays_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", "merged", shard(1, cost=None), shard(2), shard(3)]) == 0
    assert "merged: 30 calls in 3 shards, cost unknown" in told(capsys)


def test_missing_and_unfinished_shards_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    shards = [shard(1, count=4), shard(3, count=4, finished=False)]
    assert main(["merge", "merged", *shards]) == 1
    assert told(capsys) == [
        "shard 2 of 4 is missing",
        "shard3: shard 3 of 4 is not finished: run it again to continue it",
        "shard 4 of 4 is missing",
        "nothing was merged; run what is missing, or merge without it: --partial",
    ]
    assert not Path("merged").exists()
    assert main(["merge", "merged", *shards, "--partial"]) == 0
    assert sorted(had("merged/responses.sqlite", "13")) == ["1", "3"]
    told(capsys)
    # The others follow; the first is not needed again.
    assert main(["merge", "merged", shard(2, count=4), shard(3, "3x", count=4), shard(4, count=4)]) == 0
    assert "merged: 40 calls in 4 shards, cost $2.00" in told(capsys)
    assert sorted(had("merged/responses.sqlite", "1234x")) == ["1", "2", "3", "4", "x"]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (
            {"fingerprint": {"sampling": {"seed": 1, "samples": 24}}},
            "shard2: a shard of another run: sampling.seed is 1, that of shard1 is 0; give the shards of one run",
        ),
        (
            {"fingerprint": {"models": {"m": {"provider": "q"}}}},
            'shard2: a shard of another run: models.m.provider is "q", that of shard1 is "p"; give the shards of one run',
        ),
    ],
)
def test_shards_of_unlike_runs(
    capsys: pytest.CaptureFixture[str], second: dict[str, Any], words: str
) -> None:
    refused(capsys, [shard(1), shard(2, **second), shard(3)], words)


def test_a_shard_given_twice(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shard1").mkdir()
    shard(1)
    Path("shard1").rename("copy")
    words = "shard1: it holds shard 1 of 3, and so does copy: give each shard once"
    refused(capsys, ["copy", shard(1), shard(2), shard(3)], words)


def test_a_store_that_is_no_shard_among_shards(capsys: pytest.CaptureFixture[str]) -> None:
    fill("other.sqlite", "z")
    words = "other.sqlite: it holds no shard of a run, but shard1 does: merge them separately"
    refused(capsys, [shard(1), "other.sqlite", shard(2), shard(3)], words)


def refused(capsys: pytest.CaptureFixture[str], sources: Sequence[str], words: str) -> None:
    """Run a merge that must fail: one line, exit code 4, and no store; return the line."""
    assert main(["merge", "merged", *sources]) == 4
    assert capsys.readouterr().err.splitlines() == [words]
    assert not Path("merged").exists()


def test_only_the_latest_run_of_a_store_is_merged(capsys: pytest.CaptureFixture[str]) -> None:
    """A store that is reused, as in nightly runs, also contains the shards of earlier runs."""
    shard_one, shard_two = shard(1, count=2), shard(2, count=2)
    with Store.open(f"sqlite:///{shard_one}/responses.sqlite") as store:
        former = {**FINGERPRINT, "sampling": {"seed": 9, "samples": 24}}
        store.enter(ShardRow(2, 5, former, "2025-12-31", usage=Usage(calls=99))).result(30)
    assert main(["merge", "merged", shard_one, shard_two]) == 0
    assert "merged: 20 calls in 2 shards, cost $1.00" in told(capsys)


def test_merge_copies_missing_responses(capsys: pytest.CaptureFixture[str]) -> None:
    fill("one.sqlite", "ab", Response("one"))
    fill("one.sqlite", "c", Response(""))
    fill("two.sqlite", "bcd", Response("two"))
    fill("two.sqlite", "e", Response(""))
    for copied in ("3 responses", "0 responses"):
        assert main(["merge", "one.sqlite", "sqlite:///two.sqlite"]) == 0
        assert capsys.readouterr().out == f"sqlite:///two.sqlite: {copied} copied\n"
        assert had("one.sqlite", "abcde") == {"a": "one", "b": "one", "c": "two", "d": "two"}
    assert had("two.sqlite", "abcd") == {"b": "two", "c": "two", "d": "two"}


def test_merge_copies_more_rows_than_a_chunk_has(capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open("sqlite:///two.sqlite") as store:
        waiting = [
            keeping.put(store, f"k{n:04}", Response("A"), model="m", prompt="p", repeat=n)
            for n in range(1201)
        ]
        for done in waiting:
            done.result(30)
    fill("one.sqlite", "a")
    assert main(["merge", "one.sqlite", "two.sqlite"]) == 0
    assert capsys.readouterr().out == "two.sqlite: 1,201 responses copied\n"


def test_merge_looks_at_all_sources_before_it_writes(capsys: pytest.CaptureFixture[str]) -> None:
    fill("two.sqlite", "b")
    Path("three.sqlite").write_text("not a database, but long enough to be read as one" * 9)
    for last in ("three.sqlite", "none.sqlite"):
        assert main(["merge", "one.sqlite", "two.sqlite", last]) == 4
        (line,) = capsys.readouterr().err.splitlines()
        assert last in line
    assert main(["merge", "two.sqlite", "two.sqlite"]) == 4
    assert capsys.readouterr().err == "two.sqlite: a store cannot be merged into itself\n"
    assert not Path("one.sqlite").exists()


def test_merge_brings_pictures_along(capsys: pytest.CaptureFixture[str]) -> None:
    draw("a/one.sqlite", "ab", content="one")
    draw("b/two.sqlite", "bcd", content="two")
    draw("b/two.sqlite", "e")
    fill("b/two.sqlite", "f", Response("words"))
    draw("b/two.sqlite", "g")
    with Store.open("sqlite:///b/two.sqlite") as two:
        Path(two.pictures.location, two.responses("g")["g"].image_file).unlink()
    assert main(["merge", "a/one.sqlite", "b/two.sqlite"]) == 0
    assert capsys.readouterr().out == "b/two.sqlite: 4 responses copied\n"
    expected = {"a": PNG + b"one", "b": PNG + b"one", "c": PNG + b"two", "d": PNG + b"two", "e": PNG + b"e"}
    assert drawn("a/one.sqlite", "abcdeg") == expected
    assert had("a/one.sqlite", "f") == {"f": "words"}
    lines = {line["key"]: line | {"time": ""} for line in keeping.manifest(Path("b/images"))}
    copied = [line | {"time": ""} for line in keeping.manifest(Path("a/images")) if line["key"] in "cde"]
    assert copied == [lines[key] for key in "cde"]
    # On one disk a picture takes no space of its own.
    assert {path.stat().st_nlink for path in files("b") if path.read_bytes() == PNG + b"two"} == {2}


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM])
def test_pictures_are_copied_where_they_cannot_be_linked(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    draw("b/two.sqlite", "abc")
    Store.open("sqlite:///a/one.sqlite").close()
    monkeypatch.setattr(os, "link", refuse)
    assert main(["merge", "a/one.sqlite", "b/two.sqlite"]) == 0
    assert drawn("a/one.sqlite", "abc") == {key: PNG + key.encode() for key in "abc"}
    assert {path.stat().st_nlink for path in files("a")} == {1}


def test_merge_mends_a_picture_that_was_lost() -> None:
    draw("a/one.sqlite", "a", content="lost")
    files("a")[0].unlink()
    draw("b/two.sqlite", "a", content="there")
    assert main(["merge", "a/one.sqlite", "b/two.sqlite"]) == 0
    assert drawn("a/one.sqlite", "a") == {"a": PNG + b"there"}


def test_detections_come_along() -> None:
    seen = Detection((Face({"gender": "Female"}, {"gender": 0.9}, (0, 1, 2, 3)),))
    with Store.open("sqlite:///two.sqlite") as two:
        two.detections.keep("d", {f"p{number:04}": seen for number in range(1100)})
    assert main(["merge", "one.sqlite", "two.sqlite"]) == 0
    with Store.open("sqlite:///one.sqlite") as store:
        assert store.detections.found("d", ["p0000", "p1099", "none"]) == {"p0000": seen, "p1099": seen}


def test_a_full_disk_is_one_line_and_the_merge_goes_on_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "images")

    draw("b/two.sqlite", "abc")
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "adopt", full)
        assert main(["merge", "a/one.sqlite", "b/two.sqlite"]) == 4
    assert (
        capsys.readouterr().err
        == "a/images: pictures cannot be written: [Errno 28] No space left on device: 'images'\n"
    )
    assert main(["merge", "a/one.sqlite", "b/two.sqlite"]) == 0
    assert len(drawn("a/one.sqlite", "abc")) == 3


KILLED = program("killed_merge")


def test_a_merge_that_was_killed_is_no_merge_until_it_is_repeated() -> None:
    for number, keys in ((1, "abcde"), (2, "fgh")):
        draw(f"shard{number}/responses.sqlite", keys)
        shard(number, f"{number}", count=2)
    assert subprocess.run([forkserver.python(), "-c", KILLED], check=False).returncode == -9
    assert entered("merged/responses.sqlite") == {}
    assert 0 < len(drawn("merged/responses.sqlite", "abcdefgh")) < 8
    assert main(["merge", "merged", "shard1", "shard2"]) == 0
    assert sorted(entered("merged/responses.sqlite")) == [1, 2]
    assert drawn("merged/responses.sqlite", "abcdefgh") == {key: PNG + key.encode() for key in "abcdefgh"}
    assert not list(Path("merged/images").glob("*.partial-*"))
