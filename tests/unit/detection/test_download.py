"""Downloads against a real server on loopback: whole, with the right checksum, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from pytest_factorfair.detection import download
from pytest_factorfair.detection.download import KNOWN, Source, fetch, fetch_from
from pytest_factorfair.errors import InputError

BODY = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/missing.onnx":
            self.send_error(404)
            return
        if self.path == "/moved.onnx":
            self.send_response(302)
            self.send_header("Location", "/model.onnx")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[:1000] if self.path == "/cut.onnx" else BODY)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def source(server: Server, file: str, sha256: str = DIGEST) -> Source:
    return Source(f"http://127.0.0.1:{server.server_port}/{file}", sha256)


@pytest.mark.parametrize("file", ["model.onnx", "moved.onnx", "model.onnx?download=true"])
def test_a_file_comes_whole_and_is_kept(server: Server, tmp_path: Path, file: str) -> None:
    folder = tmp_path / "new" / "folder"
    path = fetch_from(source(server, file), folder)
    assert path == folder / file.partition("?")[0]
    assert path.read_bytes() == BODY
    asked = len(server.asked)
    assert fetch_from(source(server, file, DIGEST.upper()), folder) == path
    assert len(server.asked) == asked
    assert [each.name for each in folder.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("missing.onnx", "cannot be downloaded to .*: HTTP Error 404: Not Found"),
        ("cut.onnx", "is not what it should be"),
    ],
)
def test_what_does_not_come(server: Server, tmp_path: Path, file: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        fetch_from(source(server, file), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_another_file_than_it_should_be(server: Server, tmp_path: Path) -> None:
    older = tmp_path / "model.onnx"
    older.write_bytes(b"older")
    with pytest.raises(InputError) as error:
        fetch_from(source(server, "model.onnx", "0" * 64), tmp_path)
    assert str(error.value).endswith(f"is not what it should be: its SHA-256 is {DIGEST}, not {'0' * 64}")
    assert older.read_bytes() == b"older"
    fetch_from(source(server, "model.onnx"), tmp_path)
    assert older.read_bytes() == BODY
    assert list(tmp_path.iterdir()) == [older]


def test_a_file_without_end(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_MOST", 2**16)
    with pytest.raises(InputError, match="it is larger than 65536 bytes"):
        fetch_from(source(server, "model.onnx"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with Server() as gone:
        away = source(gone, "model.onnx")
    with pytest.raises(InputError, match=r"cannot be downloaded to .*refused"):
        fetch_from(away, tmp_path)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/a", "https://host", "model.onnx", "http://[a/b"]
)
def test_no_address_of_a_file(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="is no address of a file"):
        fetch_from(Source(url, DIGEST), tmp_path)


def test_known_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model 'yunt' is known; did you mean 'yunet'"):
        fetch("yunt", tmp_path)
    assert {each.file for each in KNOWN.values()} == {
        "fairface.onnx", "face_detection_yunet_2026may.onnx", "face_detection_yunet_2023mar.onnx",
    }  # fmt: skip
    assert all(len(each.sha256) == 64 and each.licence for each in KNOWN.values())


def test_a_known_model_that_lies_there_is_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "KNOWN", {"model": source(server, "model.onnx")})
    assert fetch("model", tmp_path).read_bytes() == BODY
    assert fetch("model", tmp_path).name == "model.onnx"
    assert server.asked == ["/model.onnx"]
