"""Downloads from a server on loopback: complete and with the right checksum, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import util
from pathlib import Path
from threading import Thread

import pytest

from pytest_factorfair.detection import model_files
from pytest_factorfair.detection.model_files import KNOWN, Download, fetch, known
from pytest_factorfair.errors import InputError, MissingExtraError

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
        """Do not log requests."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def source(server: Server, file: str, sha256: str = DIGEST) -> Download:
    return Download(f"http://127.0.0.1:{server.server_port}/{file}", sha256)


@pytest.mark.parametrize("file", ["model.onnx", "moved.onnx", "model.onnx?download=true"])
def test_a_file_comes_whole_and_is_kept(server: Server, tmp_path: Path, file: str) -> None:
    folder = tmp_path / "new" / "folder"
    path = fetch(source(server, file), folder)
    assert path == folder / file.partition("?")[0]
    assert path.read_bytes() == BODY
    assert path.stat().st_mode & 0o444 == 0o444
    asked = len(server.asked)
    assert fetch(source(server, file, DIGEST.upper()), folder) == path
    assert len(server.asked) == asked
    assert [child.name for child in folder.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.onnx", "cannot be downloaded to .*: 404 Client Error: Not Found for url"),
        ("cut.onnx", r"cannot be downloaded to .*: .*IncompleteRead\(1000 bytes read"),
    ],
)
def test_a_failed_download_leaves_nothing(server: Server, tmp_path: Path, file: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fetch(source(server, file), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_checksum_keeps_the_older_file(server: Server, tmp_path: Path) -> None:
    older = tmp_path / "model.onnx"
    older.write_bytes(b"older")
    with pytest.raises(InputError) as error:
        fetch(source(server, "model.onnx", "0" * 64), tmp_path)
    assert f"does not match the known hash: expected {'0' * 64} but got {DIGEST}" in str(error.value)
    assert "\n" not in str(error.value)
    assert older.read_bytes() == b"older"
    fetch(source(server, "model.onnx"), tmp_path)
    assert older.read_bytes() == BODY
    assert list(tmp_path.iterdir()) == [older]


def test_a_file_without_end(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "_LARGEST", 2**16)
    with pytest.raises(InputError, match="it is larger than 65536 bytes"):
        fetch(source(server, "model.onnx"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with Server() as gone:
        away = source(gone, "model.onnx")
    with pytest.raises(InputError, match=r"cannot be downloaded to .*refused"):
        fetch(away, tmp_path)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/a", "https://host", "model.onnx", "http://[a/b"]
)
def test_an_invalid_url(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="is not a valid URL of a file"):
        fetch(Download(url, DIGEST), tmp_path)


def test_known_models() -> None:
    with pytest.raises(InputError, match="unknown model 'yunt'; did you mean 'yunet'"):
        known("yunt")
    assert known("yunet") is KNOWN["yunet"]
    assert {model.url.rpartition("/")[2] for model in KNOWN.values()} == {
        "fairface.onnx", "face_detection_yunet_2026may.onnx", "face_detection_yunet_2023mar.onnx",
    }  # fmt: skip
    assert all(len(model.sha256) == 64 and model.licence for model in KNOWN.values())


def test_a_download_without_pooch_names_the_extra(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        model_files, "find_spec", lambda name: None if name == "pooch" else util.find_spec(name)
    )
    with pytest.raises(MissingExtraError, match=r"downloading a model needs an extra: .*\[images\]"):
        fetch(source(server, "model.onnx"), tmp_path)
    assert server.asked == []
