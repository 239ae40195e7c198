"""A checkpoint as files: whether a folder is one, and what tells it from every other."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from pytest_factorfair.errors import InputError
from pytest_factorfair.models.spec import ModelSpec

_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")
_WEIGHTS = ".safetensors"
_TOLD = (_WEIGHTS, ".json", ".jinja", ".model", ".txt")
_SAMPLES, _SAMPLE = 64, 2**16


def folder(spec: ModelSpec) -> Path | None:
    """The folder of the spec's checkpoint; None for the id of a model of the Hugging Face hub.

    Raises:
        InputError: there is no such folder, or what is in it is no checkpoint.
    """
    path = Path(spec.target).expanduser()
    where = f"model '{spec.text}': '{spec.target}'"
    if path.is_dir():
        return _checked(path, where)
    if path.exists():
        raise InputError(f"{where} is a file; name the folder of the checkpoint")
    if not _HUB_ID.fullmatch(spec.target):
        raise InputError(
            f"{where} is no folder in {Path.cwd()}; a model of the hub is written organisation/name"
        )
    return None


def digest(path: Path) -> str:
    """A SHA-256 of all small files, and of each file of weights its name, size and 64 samples of 64 KB.

    The samples lie evenly from the first byte to the last: a change of one layer shows, while reading
    all of a large checkpoint would take minutes.
    """
    told = hashlib.sha256()
    for file in sorted(path.iterdir()):
        if file.suffix in _TOLD and file.is_file():
            told.update(f"{file.name}:{file.stat().st_size}\n".encode())
            told.update(b"".join(_samples(file)) if file.suffix == _WEIGHTS else file.read_bytes())
    return told.hexdigest()


def _samples(file: Path) -> Iterator[bytes]:
    step = max(_SAMPLE, (file.stat().st_size - _SAMPLE) // (_SAMPLES - 1))
    with file.open("rb") as content:
        for number in range(_SAMPLES):
            content.seek(number * step)
            yield content.read(_SAMPLE)


def _checked(path: Path, where: str) -> Path:
    """Transformers says all this too, but only after seconds, and in many lines."""
    config = path / "config.json"
    if not config.is_file():
        raise InputError(f"{where} holds no config.json, so it is no checkpoint of a model")
    try:
        json.loads(config.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{config}: cannot be read as JSON: {error}") from None
    if not any(path.glob(f"*{_WEIGHTS}")):
        raise InputError(f"{where} holds no *.safetensors; pickled weights are not loaded, they can run code")
    return path
