"""Writing one response into a store."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType
from typing import Any

from pytest_factorfair.domain import Response
from pytest_factorfair.store import Origin, Store

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
    kept: Future[Response] = Future()

    def settle(done: Future[None]) -> None:
        if (error := done.exception()) is None:
            kept.set_result(write.response)
        else:
            kept.set_exception(error)

    store.put(write).add_done_callback(settle)
    return kept
