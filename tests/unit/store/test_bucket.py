"""Pictures in a bucket: looked up without being read, and checked by their names when read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from pytest_factorfair.store.durable.bucket import Bucket
from tests import keeping
from tests.bucket import KEY, SECRET, Service
from tests.keeping import PNG

WAIT = 30
pytestmark = pytest.mark.usefixtures("_in_tmp_path")


@pytest.fixture
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def store(bucket: str) -> Iterator[Store]:
    with opened("one", bucket) as store:
        yield store


def opened(name: str, pictures: str = "") -> Store:
    """Open a store in a file, with the given place for pictures."""
    store = Store.open(f"sqlite:///{name}/responses.sqlite", pictures=pictures)
    store.settle_pictures()
    return store


def put(store: Store, key: str, image: bytes | None) -> str:
    """Store a picture; return its name."""
    response = Response("" if image else "words", image=image)
    return (
        keeping.put(store, key, response, model="m", prompt=f"prompt {key}", repeat=0).result(WAIT).image_file
    )


def images(store: Store, keys: str) -> dict[str, bytes]:
    return {key: store.pictures.read(response.image_file) for key, response in store.responses(keys).items()}


def test_a_picture_is_an_object_and_its_row_names_it(store: Store, bucket: str, s3: Service) -> None:
    name = put(store, "a", PNG + b"a")
    assert put(store, "b", PNG + b"a") == name
    assert put(store, "c", None) == ""
    assert s3.files(bucket) == [name]
    assert store.count("abcd") == 3
    assert store.pictures.read(name) == PNG + b"a"
    claimed = store.claim("abcd").result(WAIT)
    assert (claimed.mine, set(claimed.had)) == (("d",), {"a", "b", "c"})
    assert not list(Path("one").glob("images"))


def test_a_prefix_is_a_separate_storage(bucket: str, s3: Service) -> None:
    with opened("one", f"{bucket}/deep/down") as store_one, opened("two", f"{bucket}/up") as store_two:
        name = put(store_one, "a", PNG + b"a")
        assert s3.files(bucket) == [f"deep/down/{name}"]
        assert put(store_two, "a", PNG + b"a") == name
        assert len(s3.files(bucket)) == 2


def test_a_picture_that_is_lost_or_cut_is_asked_again(store: Store, bucket: str, s3: Service) -> None:
    lost, cut, altered = (put(store, key, PNG + key.encode()) for key in "abc")
    s3.delete(bucket, lost)
    s3.replace(bucket, cut, PNG)
    s3.replace(bucket, altered, PNG + b"?")  # as large: found only where it is read
    assert set(store.responses("abc")) == {"c"}
    assert store.count("abc") == 1
    assert store.claim("abc").result(WAIT).mine == ("a", "b")
    for key in "ab":
        put(store, key, PNG + key.encode())
    assert images(store, "ab") == {"a": PNG + b"a", "b": PNG + b"b"}
    with pytest.raises(StoreError, match="is damaged: delete it"):
        store.pictures.read(altered)


def test_a_picture_that_cannot_be_looked_up_is_not_lost(store: Store, s3: Service) -> None:
    """Pictures that cannot be looked up count as an error, not as lost: nothing is asked again."""
    name = put(store, "a", PNG + b"a")
    s3.allow(0)
    try:
        for attempt in (
            lambda: store.count("a"),
            lambda: store.responses("a"),
            lambda: store.claim("a").result(WAIT),
            lambda: store.pictures.read(name),
            lambda: put(store, "b", PNG + b"b"),
        ):
            with pytest.raises(StoreError, match="access is denied: check the credentials") as caught:
                attempt()
            assert "\n" not in str(caught.value)
            assert KEY not in str(caught.value)
            assert SECRET not in str(caught.value)
    finally:
        s3.allow(float("inf"))
    assert images(store, "ab") == {"a": PNG + b"a"}
    put(store, "b", PNG + b"b")
    assert store.claim("ab").result(WAIT).mine == ()


def test_a_store_knows_where_its_pictures_are(bucket: str, s3: Service) -> None:
    with opened("one", bucket) as store:
        put(store, "a", PNG + b"a")
    with opened("one") as store:  # a run that forgets to name it
        assert images(store, "a") == {"a": PNG + b"a"}
        put(store, "b", PNG + b"b")
    assert len(s3.files(bucket)) == 2
    for address in ("s3://another", "/a/folder"):
        with pytest.raises(StoreError) as caught:
            opened("one", address)
        assert str(caught.value) == (
            f"one/responses.sqlite: its pictures are in {bucket}, not in {address}; leave out "
            "--factorfair-pictures, or name another store"
        )


def test_a_store_with_pictures_beside_it(bucket: str) -> None:
    with opened("one") as store:
        put(store, "a", PNG + b"a")
    with pytest.raises(StoreError) as caught:
        opened("one", bucket)
    assert str(caught.value) == (
        f"one/responses.sqlite: its pictures are beside it, not in {bucket}; copy both: factorfair merge OUT "
        f"one/responses.sqlite --pictures={bucket}"
    )


def test_a_folder_of_one_name_on_two_hosts(tmp_path: Path) -> None:
    """A folder with the same path on two hosts is rejected unless it is the same storage."""
    folder = tmp_path / "mounted"
    with opened("one", str(folder)) as store:
        put(store, "a", PNG + b"a")
    assert not (folder / "manifest.jsonl").exists()
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="which is not a folder of this host; name it with"):
        opened("one")
    folder.mkdir()
    with pytest.raises(StoreError, match="is other storage: name one that all hosts reach"):
        opened("one", str(folder))
    with opened("one", str(tmp_path / "elsewhere")) as store:  # mounted under another name
        assert images(store, "a") == {"a": PNG + b"a"}


def test_export_writes_the_manifest(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    names = [put(store, key, PNG + key.encode()) for key in "ab"]
    assert main(["store", "export", "one", "--images", "copied"]) == 0
    assert capsys.readouterr().out == "copied: 2 pictures copied\n"
    lines = [json.loads(line) for line in Path("copied/manifest.jsonl").read_text().splitlines()]
    assert [(line["file"], line["prompt"], line["key"]) for line in lines] == [
        (names[0], "prompt a", "a"),
        (names[1], "prompt b", "b"),
    ]
    assert [Path("copied", name).read_bytes() for name in names] == [PNG + b"a", PNG + b"b"]


def test_prune_needs_a_decision_about_shared_pictures(
    bucket: str, s3: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened("one", bucket) as store_one, opened("two", bucket) as store_two:
        for store in (store_one, store_two):
            put(store, "a", PNG + b"a")
        put(store_one, "b", PNG + b"b")
        put(store_one, "c", PNG + b"b")
    assert main(["store", "prune", "one", "--key", "a", "b"]) == 4
    assert capsys.readouterr().err == (
        f"{bucket}: other stores may use the pictures there: add --pictures=delete to delete those of the deleted "
        "responses, or --pictures=keep\n"
    )
    assert main(["store", "prune", "one", "--key", "a", "--pictures=keep"]) == 0
    assert len(s3.files(bucket)) == 2
    assert main(["store", "prune", "one", "--key", "b", "--pictures=delete"]) == 0  # c needs the picture
    assert len(s3.files(bucket)) == 2
    assert main(["store", "prune", "one", "--key", "c", "--pictures=delete"]) == 0
    with opened("two") as store_two:
        assert images(store_two, "a") == {"a": PNG + b"a"}
    assert len(s3.files(bucket)) == 1


def test_stores_that_share_a_bucket_are_merged_without_it(bucket: str, s3: Service) -> None:
    with opened("one", bucket) as store_one, opened("two", bucket) as store_two:
        put(store_one, "a", PNG + b"a")
        put(store_two, "b", PNG + b"b")
    assert main(["merge", "out", "one", "two"]) == 0
    assert len(s3.files(bucket)) == 2
    with opened("out") as out:
        assert out.pictures.location == bucket
        assert images(out, "ab") == {"a": PNG + b"a", "b": PNG + b"b"}


def test_pictures_move_between_folders_and_buckets(bucket: str, s3: Service) -> None:
    with opened("one", bucket) as store_one, opened("two") as store_two:
        put(store_one, "a", PNG + b"a")
        put(store_two, "b", PNG + b"b")
    assert main(["merge", "beside", "one", "two"]) == 0
    with opened("beside") as merged:
        assert images(merged, "ab") == {"a": PNG + b"a", "b": PNG + b"b"}
    assert len(keeping.manifest(Path("beside/images"))) == 2
    assert len(s3.files(bucket)) == 1
    assert main(["merge", "up", "beside", f"--pictures={bucket}/up"]) == 0
    with opened("up") as up:
        assert images(up, "ab") == {"a": PNG + b"a", "b": PNG + b"b"}
    assert len(s3.files(bucket)) == 3


def test_verify_reads_every_object(
    store: Store, bucket: str, s3: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged, lost, _ = (put(store, key, PNG + key.encode()) for key in "abc")
    s3.replace(bucket, damaged, PNG + b"?")
    s3.delete(bucket, lost)
    assert main(["store", "verify", "one", "--delete"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"{bucket}/{damaged}: the picture is damaged: delete it, and it is asked for again" in lines
    assert f"{bucket}/{lost}: pictures cannot be read: there is no such picture" in lines
    assert lines[-1] == "2 pictures lost or damaged"
    assert set(store.responses("abc")) == {"c"}


def test_verify_deletes_nothing_that_it_cannot_read(
    store: Store,
    bucket: str,
    s3: Service,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = put(store, "a", PNG + b"a")
    deleted: list[object] = []
    monkeypatch.setattr(Bucket, "delete", lambda _, files: deleted.extend(files))
    s3.allow(0)
    try:
        assert main(["store", "verify", "one", "--delete"]) == 4
    finally:
        s3.allow(float("inf"))
    assert capsys.readouterr().err.startswith(f"{bucket}/{name}: pictures cannot be read: access is denied: ")
    assert deleted == []
