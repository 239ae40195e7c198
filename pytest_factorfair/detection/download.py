"""Model files from their publishers, fetched on request and checked against a known SHA-256."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from pytest_factorfair.errors import InputError, MissingExtraError, nearest

_LARGEST = 2**30  # bytes; the largest of these models has 85 MB
_CHUNK = 2**20
_TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch: its URL, the SHA-256 it must have, and its licence."""

    url: str
    sha256: str
    licence: str = ""


_ZOO = "https://media.githubusercontent.com/media/opencv/opencv_zoo"
_YUNET = "models/face_detection_yunet/face_detection_yunet"

# The checksums are the publishers' own: the Git LFS pointers of OpenCV's model zoo, uniface's table.
KNOWN: Mapping[str, Download] = {
    "fairface": Download(
        "https://github.com/yakhyo/fairface-onnx/releases/download/weights/fairface.onnx",
        "9c8c47d437cd310538d233f2465f9ed0524cb7fb51882a37f74e8bc22437fdbf",
        "CC BY 4.0, Kärkkäinen and Joo (FairFace); exported to ONNX by yakhyo/fairface-onnx (MIT)",
    ),
    "yunet": Download(
        f"{_ZOO}/47534e27c9851bb1128ccc0102f1145e27f23f98/{_YUNET}_2026may.onnx",
        "ebafce4e3c118d6554634be5c27ab333b4c047a9a8c3faf1d7cf93101c22f0f0",
        "MIT, Shiqi Yu (YuNet, for OpenCV 5)",
    ),
    "yunet-opencv4": Download(
        f"{_ZOO}/82b38c8f98e7b52aa171400f3e4c722352d0669f/{_YUNET}_2023mar.onnx",
        "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
        "MIT, Shiqi Yu (YuNet, for OpenCV 4)",
    ),
}


def known(name: str) -> Download:
    """The source of a model by its name.

    Raises:
        InputError: there is no such model.
    """
    if name not in KNOWN:
        raise InputError(f"unknown model '{name}'{nearest(name, KNOWN)}; any other needs a URL and a SHA-256")
    return KNOWN[name]


def fetch(source: Download, folder: Path) -> Path:
    """Download a file into a folder, or keep the one there if its checksum is right.

    The file appears complete and with the right checksum, or not at all; an older file is kept on failure.

    Raises:
        InputError: the URL is invalid, the download fails, or its checksum is wrong.
        MissingExtraError: pooch is not installed.
    """
    try:
        url = urlsplit(source.url)
    except ValueError:  # brackets without an IPv6 address
        url = urlsplit("")
    if url.scheme not in ("http", "https") or not Path(url.path).name:
        raise InputError(f"'{source.url}' is not a valid URL of a file; expected http://... or https://...")
    if not find_spec("pooch"):
        raise MissingExtraError("downloading a model", "images")
    pooch = import_module("pooch")
    pooch.get_logger().setLevel("WARNING")  # errors are reported in one line of our own
    download = pooch.HTTPDownloader(progressbar=_Limit(), chunk_size=_CHUNK, timeout=_TIMEOUT)
    file = folder / Path(url.path).name
    try:
        pooch.retrieve(source.url, source.sha256, file.name, folder, downloader=download)
        file.chmod(0o644)  # pooch keeps the mode of a temporary file, which only its owner can read
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"'{source.url}' cannot be downloaded to {folder}: {reason}") from error
    return file


class _Limit:
    """pooch's progress bar, used to stop an endless download."""

    total = 0

    def __init__(self) -> None:
        self._size = 0

    def update(self, size: int) -> None:
        self._size += size
        if max(self._size, self.total) > _LARGEST:
            raise OSError(f"it is larger than {_LARGEST} bytes")

    def reset(self) -> None:
        self._size = 0

    def close(self) -> None:
        """Nothing to close."""
