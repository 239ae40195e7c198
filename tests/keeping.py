"""Writing one response into a store."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from pytest_factorfair.domain import Response
from pytest_factorfair.store import Store


def put(store: Store, key: str, response: Response, **where: Any) -> Future[Response]:
    """The response as it is kept, once it is committed."""
    write = store.draft(key, response, **where)
    kept: Future[Response] = Future()

    def settle(done: Future[None]) -> None:
        if (error := done.exception()) is None:
            kept.set_result(write.response)
        else:
            kept.set_exception(error)

    store.put(write).add_done_callback(settle)
    return kept
