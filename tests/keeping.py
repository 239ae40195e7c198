"""Write responses and pictures to a store, and read them back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_factorfair.domain import Response
from pytest_factorfair.store import Origin, Store

PNG = b"\x89PNG\r\n\x1a\n"
PLAIN = Response("A")
NOTHING: Mapping[str, object] = MappingProxyType({})


def put(
    store: Store,
    key: str,
    response: Response,
    *,
    model: str,
    identity: Mapping[str, object] = NOTHING,
    **where: Any,
) -> Future[Response]:
    """Store a response; return it as stored once it is committed."""
    write = store.draft(key, response, Origin.of(model, identity), **where)
    stored: Future[Response] = Future()

    def settle(done: Future[None]) -> None:
        if (error := done.exception()) is None:
            stored.set_result(write.response)
        else:
            stored.set_exception(error)

    store.put(write).add_done_callback(settle)
    return stored


def manifest(folder: Path) -> list[dict[str, Any]]:
    """The lines of the manifest in a folder of pictures, which must all be complete."""
    path = folder / "manifest.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def fill(name: str, keys: str, response: Response = PLAIN, *, model: str = "m") -> None:
    """Create a store with a response for each letter of ``keys``."""
    with Store.open(f"sqlite:///{name}") as store:
        for key in keys:
            put(store, key, response, model=model, prompt=f"prompt {key}", repeat=0).result(30)


def had(name: str, keys: str) -> dict[str, str]:
    """The stored texts, by key."""
    with Store.open(f"sqlite:///{name}") as store:
        return {key: response.text for key, response in store.responses(keys).items()}


def draw(name: str, keys: str, *, content: str = "", model: str = "m") -> None:
    """Create a store like ``fill``, with pictures, which differ unless ``content`` is given."""
    for key in keys:
        fill(name, key, Response("", image=PNG + (content or key).encode()), model=model)


def drawn(name: str, keys: str) -> dict[str, bytes]:
    """The stored pictures, by key."""
    with Store.open(f"sqlite:///{name}") as store:
        responses = store.responses(keys)
        return {key: store.pictures.read(response.image_file) for key, response in responses.items()}


def files(folder: str) -> list[Path]:
    """The picture files next to the stores in a folder."""
    return sorted(Path(folder, "images").glob("*/*"))
