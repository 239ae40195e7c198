"""Pictures next to the store: complete before their row, named by hash, asked for again if lost."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import threading
import tracemalloc
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import PictureError, StoreError
from pytest_factorfair.store import Store
from pytest_factorfair.store.pictures import Folder, Picture, file_of
from tests import forkserver, keeping
from tests.project import program

WAIT = 30
PNG, JPG, WEBP = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"RIFF\x00\x00\x00\x00WEBP"


def picture(number: int = 0) -> bytes:
    """Bytes that begin like a PNG; the store does not check more."""
    return PNG + b"picture %d" % number


def put(store: Store, key: str, image: bytes, *, replace: bool = False) -> Response:
    response = Response("", cost=0.0, image=image)
    row = keeping.put(
        store,
        key,
        response,
        model="m",
        prompt=f"prompt of {key}",
        repeat=2,
        seed=7,
        identity={"provider": "p", "steps": 20},
        replace=replace,
    )
    return row.result(WAIT)


@pytest.mark.parametrize(("image", "kind"), [(PNG + b"1", "png"), (JPG + b"2", "jpg"), (WEBP + b"3", "webp")])
def test_picture_is_a_file_and_its_row_names_it(store: Store, file: Path, image: bytes, kind: str) -> None:
    digest = hashlib.sha256(image).hexdigest()
    name = f"{digest[:2]}/{digest}.{kind}"
    response = put(store, "k", image)
    assert response == Response("", cost=0.0, image_file=name)
    assert store.responses(["k"]) == {"k": response}
    assert (file.parent / "images" / name).read_bytes() == image == store.pictures.read(name)
    assert (file.parent / "images" / ".gitignore").exists()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("select picture from responses").fetchall() == [(name,)]
        assert "picture 0" not in str(connection.execute("select body from responses").fetchall())


def test_store_that_is_no_file_has_the_folder_it_is_given(url: str, backend: str, tmp_path: Path) -> None:
    with Store.open(url, folder=tmp_path / "here") as store:
        name = put(store, "k", picture()).image_file
        folder = "here" if backend == "postgresql" else "kept/images"
        assert (tmp_path / folder / name).is_file()
        assert store.count(["k"]) == 1


@pytest.mark.parametrize(
    ("image", "error"),
    [(b"", PictureError), (b"GIF89a", PictureError), (b"<html>", PictureError), ("no bytes", TypeError)],
)
def test_bytes_that_are_no_picture_are_refused_at_once(
    store: Store, image: bytes, error: type[Exception]
) -> None:
    with pytest.raises(error):
        keeping.put(store, "k", Response("", image=image), model="m", prompt="p", repeat=0)


def test_the_manifest_names_the_query_of_each_picture(store: Store, file: Path) -> None:
    names = [put(store, f"k{number}", picture(number)).image_file for number in range(3)]
    lines = (file.parent / "images" / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line)["file"] for line in lines] == names
    line = json.loads(lines[1])
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "file": names[1],
        "key": "k1",
        "model": "m",
        "prompt": "prompt of k1",
        "repeat": 2,
        "seed": 7,
        "identity": {"provider": "p", "steps": 20},
    }


def test_line_that_was_cut_off_is_ended(store: Store, file: Path) -> None:
    put(store, "a", picture(1))
    manifest = file.parent / "images" / "manifest.jsonl"
    with manifest.open("ab") as torn:
        torn.write(b'{"file": "ab/')
    put(store, "b", picture(2))
    first_line, torn_line, last_line = manifest.read_text().splitlines()
    assert [json.loads(line)["key"] for line in (first_line, last_line)] == ["a", "b"]
    assert torn_line == '{"file": "ab/'


@pytest.mark.parametrize("harm", ["missing", "cut"])
def test_row_without_its_picture_is_asked_again(store: Store, file: Path, harm: str) -> None:
    name = put(store, "k", picture(1)).image_file
    put(store, "other", picture(2))
    path = file.parent / "images" / name
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(picture(1)[:-1])
    with pytest.raises(
        StoreError, match="cannot be read: No such file" if harm == "missing" else "is damaged"
    ):
        store.pictures.read(name)
    assert set(store.responses(["k", "other"])) == {"other"}
    assert store.count(["k", "other"]) == 1
    claim = store.claim(["k", "other"]).result(WAIT)
    assert (claim.claimed, set(claim.stored)) == (("k",), {"other"})
    put(store, "k", picture(4))  # models draw something else each time
    assert store.pictures.read(store.responses(["k"])["k"].image_file) == picture(4)


def test_looking_up_pictures_reads_none(store: Store, file: Path) -> None:
    """Pictures are looked up without being read, because millions of them are terabytes."""
    name = put(store, "k", picture(1)).image_file
    (file.parent / "images" / name).write_bytes(picture(3))  # as large, and another
    assert store.count(["k"]) == 1
    assert set(store.responses(["k"])) == {"k"}
    assert set(store.claim(["k"]).result(WAIT).stored) == {"k"}
    with pytest.raises(StoreError, match="is damaged: delete it, and it is asked for again"):
        store.pictures.read(name)


def test_storing_a_picture_again_repairs_a_damaged_file(store: Store, file: Path) -> None:
    name = put(store, "k", picture()).image_file
    (file.parent / "images" / name).write_bytes(b"")
    assert put(store, "k", picture(), replace=True).image_file == name
    assert store.pictures.read(name) == picture()


@pytest.mark.parametrize(
    "name", ["../responses.sqlite", "/etc/passwd", "ab/cd.png", f"00/{'1' * 64}.png", ""]
)
def test_only_names_of_pictures_are_read(store: Store, name: str) -> None:
    with pytest.raises(StoreError, match="not the name of a picture"):
        store.pictures.read(name)


def test_picture_that_a_model_has_kept_itself(store: Store) -> None:
    """Its row has its size, so it is found again; what is not there has no row."""
    name = put(store, "k", picture()).image_file

    def named(key: str, image_file: str) -> Future[Response]:
        response = Response("", image_file=image_file)
        return keeping.put(store, key, response, model="m", prompt="p", repeat=0)

    assert named("same", name).result(WAIT).image_file == name
    assert store.count(["k", "same"]) == 2
    with pytest.raises(StoreError, match="a replica reported it as stored, and it is missing"):
        named("lost", file_of(picture(1))).result(WAIT)
    with pytest.raises(PictureError, match=r"'\.\./k\.png' is not the name of a stored picture"):
        named("wrong", "../k.png")
    named("later", name).result(WAIT)
    assert set(store.responses(["k", "same", "lost", "wrong", "later"])) == {"k", "same", "later"}


def test_pictures_are_read_ahead_in_order(tmp_path: Path) -> None:
    """Pictures are read in advance, in order, as many as the place reads at once."""
    together = threading.Barrier(Folder.at_once, timeout=WAIT)

    class Far(Folder):
        def _content(self, file: str) -> bytes:
            together.wait()
            return super()._content(file)

    images = [picture(number) for number in range(3 * Folder.at_once)]
    far = Far(tmp_path)
    far.keep([Picture(file_of(image), image, {}) for image in images])
    assert [future.result() for future in far.reading(map(file_of, images))] == images


def test_same_picture_twice_is_one_file_and_two_lines(store: Store, file: Path) -> None:
    assert put(store, "a", picture()) == put(store, "b", picture())
    assert len(list(file.parent.glob("images/*/*"))) == 1
    assert len(keeping.manifest(Path(store.pictures.location))) == 2


def test_pictures_do_not_stay_in_memory(store: Store) -> None:
    size = 2**20
    tracemalloc.start()
    try:
        waiting = []
        for number in range(40):
            image = PNG + number.to_bytes(8, "big") * (size // 8)
            waiting.append(
                keeping.put(store, f"k{number}", Response("", image=image), model="m", prompt="p", repeat=0)
            )
            del image
            waiting[-1].result(WAIT)
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(row.result().image is None for row in waiting)
    assert allocated < 4 * size


FILL = program("fill_disk_with_pictures")


def test_full_disk(url: str, file: Path) -> None:
    command = [forkserver.python(), "-c", FILL, url]
    completed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert completed.stderr == ""
    lines = completed.stdout.splitlines()
    assert len(lines) == 2  # the first failure is that of all that follow
    for line in lines:
        assert line == f"{file}: the response store cannot be written: [Errno 27] File too large"
    with Store.open(url) as store:
        assert set(store.responses(["first", "k1", "k400000", "k2"])) == {"first", "k1"}
    assert list(file.parent.glob("images/*.partial-*")) == []


def test_a_folder_that_is_not_writable_is_reported(store: Store, file: Path) -> None:
    store.outage.patience = 0.1
    (file.parent / "images").write_text("a file in the way")
    row = keeping.put(store, "k", Response("", image=picture()), model="m", prompt="p", repeat=0)
    with pytest.raises(
        StoreError, match=r"responses\.sqlite: the response store cannot be written: .*images"
    ):
        row.result(WAIT)
    assert store.count(["k"]) == 0


FLOOD = program("flood_of_pictures")


def test_kill_leaves_no_row_without_its_picture_and_loses_none(url: str, file: Path) -> None:
    processes = [
        subprocess.Popen([forkserver.python(), "-c", FLOOD, url, name], stdout=subprocess.PIPE)
        for name in "ab"
    ]
    seen: list[bytes] = []
    for process in processes:
        assert process.stdout is not None
        seen += [process.stdout.readline() for _ in range(60)]
    for process in processes:
        process.kill()
        assert process.stdout is not None
        seen += process.stdout.readlines()
        assert process.wait() == -9
        process.stdout.close()
    committed = {line.decode().strip() for line in seen if line.endswith(b"\n")}
    assert len(committed) >= 120
    with closing(sqlite3.connect(file)) as connection:
        rows = dict(connection.execute("select key, picture from responses").fetchall())
    assert committed <= rows.keys()
    pictures = Folder(file.parent / "images")
    for key, name in rows.items():
        assert pictures.read(name) == PNG + key.encode() * 2000
    listed = {(line["key"], line["file"]) for line in keeping.manifest(Path(pictures.location))}
    assert set(rows.items()) <= listed
    assert {file_of(PNG + key.encode() * 2000) for key in committed} <= set(rows.values())


APPEND = program("append_to_manifest")


def test_lines_of_several_processes_stay_whole(tmp_path: Path) -> None:
    command = [forkserver.python(), "-c", APPEND, str(tmp_path / "images")]
    processes = [
        subprocess.Popen([*command, str(worker)], stdin=subprocess.PIPE, text=True) for worker in range(4)
    ]
    for process in processes:
        process.communicate("\n", timeout=120)
        assert process.returncode == 0
    keys = {line["key"] for line in keeping.manifest(tmp_path / "images")}
    assert keys == {f"{worker}-{number}" for worker in range(4) for number in range(50)}
