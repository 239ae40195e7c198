"""A store whose file is removed while open: its responses are written again, and this is reported."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.domain import Detection, Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from tests import keeping

WAIT = 30


def put(store: Store, *keys: str) -> None:
    rows = [keeping.put(store, key, Response("A"), model="m", prompt="p", repeat=0) for key in keys]
    for row in rows:
        row.result(WAIT)


def remove_all(file: Path) -> None:
    for path in file.parent.glob("responses.sqlite*"):
        path.unlink()


def remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def remove_log(file: Path) -> None:
    file.with_name("responses.sqlite-wal").unlink()


def remove_log_and_index(file: Path) -> None:
    remove_log(file)
    file.with_name("responses.sqlite-shm").unlink()


def move(file: Path) -> None:
    file.rename(file.with_name("moved.sqlite"))


def replace(file: Path) -> None:
    file.unlink()
    with Store.open(f"sqlite:///{file}") as another:
        put(another, "theirs")


@pytest.mark.parametrize(
    "remove", [Path.unlink, remove_all, remove_folder, remove_log, remove_log_and_index, move, replace]
)
def test_nothing_is_lost_and_every_process_reports_the_removal(
    file: Path, remove: Callable[[Path], None]
) -> None:
    url = f"sqlite:///{file}"
    early = [f"k{number}" for number in range(150)]
    with Store.open(url) as store_one, Store.open(url) as store_two:
        put(store_one, *early)
        put(store_two, "two")
        remove(file)
        for store, key in ((store_one, "late"), (store_two, "two late"), (store_one, "on its way")):
            with pytest.raises(StoreError, match=r"responses\.sqlite.*: removed during the run; ") as caught:
                put(store, key)
            assert "\n" not in str(caught.value)
    with Store.open(url) as reopened:
        reopened.verify()
        expected_keys = {*early, "two", "late", "two late", "on its way"} | (
            {"theirs"} if remove is replace else set()
        )
        assert set(reopened.responses([*expected_keys, "theirs"])) == expected_keys
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


def test_the_place_of_pictures_and_their_detections_are_written_again(file: Path, tmp_path: Path) -> None:
    url, named = f"sqlite:///{file}", tmp_path / "named"
    with Store.open(url, pictures=str(named)) as store:
        mark = store.settle_pictures()
        drawn = Response("", image=keeping.PNG + b"k")
        keeping.put(store, "k", drawn, model="m", prompt="p", repeat=0).result(WAIT)
        (picture,) = (response.image_file for response in store.responses(["k"]).values())
        store.detections.keep("detector", {picture: Detection()})
        store.detections.close()
        remove_all(file)
        with pytest.raises(StoreError, match="removed during the run"):
            put(store, "late")
    with Store.open(url) as reopened:
        assert reopened.pictures.location == str(named)
        assert reopened.pictures.read(reopened.responses(["k"])["k"].image_file) == drawn.image
        assert reopened.detections.found("detector", [picture]) == {picture: Detection()}
    with Store.open(url, pictures=str(named)) as reopened:
        assert reopened.settle_pictures() == mark


def test_claims_notice_the_removal_before_anything_is_asked(store: Store, file: Path) -> None:
    put(store, "k")
    file.unlink()
    with pytest.raises(StoreError, match="removed during the run"):
        store.claim(["other"]).result(WAIT)


def test_what_was_removed_after_the_last_commit_is_written_as_the_store_closes(file: Path) -> None:
    with Store.open(f"sqlite:///{file}") as store:
        store.claim(["k"]).result(WAIT)
        put(store, "k")
        remove_folder(file)
    with Store.open(f"sqlite:///{file}") as reopened:
        assert reopened.count(["k"]) == 1


def test_a_path_that_cannot_be_written_again_is_reported_in_one_line(file: Path) -> None:
    with Store.open(f"sqlite:///{file}") as store:
        put(store, "k")
        remove_folder(file)
        file.parent.write_text("a file in place of the folder")
        with pytest.raises(
            StoreError, match="was removed during the run and cannot be written again"
        ) as caught:
            put(store, "late")
        assert "\n" not in str(caught.value)


def test_log_of_a_removed_file_is_not_taken_for_that_of_a_new_one(file: Path) -> None:
    with Store.open(f"sqlite:///{file}") as store:
        put(store, "k")
        leftovers = {
            name: file.with_name(name).read_bytes()
            for name in ("responses.sqlite-wal", "responses.sqlite-shm")
        }
    file.unlink()
    for name, content in leftovers.items():
        file.with_name(name).write_bytes(content)
    with Store.open(f"sqlite:///{file}") as reopened:
        put(reopened, "new")
        reopened.verify()
        assert set(reopened.responses(["k", "new"])) == {"new"}
