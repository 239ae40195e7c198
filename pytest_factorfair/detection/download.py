"""Model files from where they are published: only when a user asks for one, and only what it should be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from urllib.request import urlopen

from pytest_factorfair.detection.spec import digest
from pytest_factorfair.errors import InputError, nearest

_CHUNK = 2**20
_MOST = 2**30  # bytes; the largest of these models has 85 MB
_TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A file to fetch: its URL, the SHA-256 it must have, and the licence it comes under."""

    url: str
    sha256: str
    licence: str = ""

    @property
    def file(self) -> str:
        return Path(urlsplit(self.url).path).name


_ZOO = "https://media.githubusercontent.com/media/opencv/opencv_zoo"
_YUNET = "models/face_detection_yunet/face_detection_yunet"

# The checksums are those their publishers give: the Git LFS pointers of OpenCV's model zoo, uniface's table.
KNOWN: Mapping[str, Source] = {
    "fairface": Source(
        "https://github.com/yakhyo/fairface-onnx/releases/download/weights/fairface.onnx",
        "9c8c47d437cd310538d233f2465f9ed0524cb7fb51882a37f74e8bc22437fdbf",
        "CC BY 4.0, Kärkkäinen and Joo (FairFace); exported to ONNX by yakhyo/fairface-onnx (MIT)",
    ),
    "yunet": Source(
        f"{_ZOO}/47534e27c9851bb1128ccc0102f1145e27f23f98/{_YUNET}_2026may.onnx",
        "ebafce4e3c118d6554634be5c27ab333b4c047a9a8c3faf1d7cf93101c22f0f0",
        "MIT, Shiqi Yu (YuNet, for OpenCV 5)",
    ),
    "yunet-opencv4": Source(
        f"{_ZOO}/82b38c8f98e7b52aa171400f3e4c722352d0669f/{_YUNET}_2023mar.onnx",
        "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
        "MIT, Shiqi Yu (YuNet, for OpenCV 4)",
    ),
}


def fetch(name: str, folder: Path) -> Path:
    """Download a known model into a folder; one that lies there already, and is right, is kept.

    Raises:
        InputError: no model goes by that name, or see ``fetch_from``.
    """
    if name not in KNOWN:
        raise InputError(
            f"no model '{name}' is known{nearest(name, KNOWN)}; any other takes a URL and a SHA-256"
        )
    return fetch_from(KNOWN[name], folder)


def fetch_from(source: Source, folder: Path) -> Path:
    """Download a file into a folder, whole and with the right checksum, or not at all.

    Raises:
        InputError: the URL is none, the file cannot be had or written, or it is not what it should be.
    """
    if not _is_address(source.url) or not source.file:
        raise InputError(f"'{source.url}' is no address of a file")
    target, due = folder / source.file, source.sha256.lower()
    if target.is_file() and digest(target) == due:
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as place:
            part = Path(place) / source.file
            _download(source.url, part)
            if (found := digest(part)) != due:
                raise InputError(
                    f"'{source.url}' is not what it should be: its SHA-256 is {found}, not {due}"
                )
            os.replace(part, target)  # noqa: PTH105 - it goes over an older file on every system
    except (HTTPException, OSError) as error:
        raise InputError(f"'{source.url}' cannot be downloaded to {folder}: {error}") from error
    return target


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:  # brackets that hold no IPv6 address
        return False


def _download(url: str, part: Path) -> None:
    with urlopen(url, timeout=_TIMEOUT) as reply, part.open("wb") as content:  # noqa: S310 - http, https
        taken = 0
        while chunk := reply.read(_CHUNK):
            taken += len(chunk)
            if taken > _MOST:
                raise OSError(f"it is larger than {_MOST} bytes")
            content.write(chunk)
