"""The responses of a run in the store, which is opened on first use, and those that the store lost."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.domain import plural
from pytest_factorfair.errors import FactorfairError, StoreError

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Settings
    from pytest_factorfair.store import CallTexts, Store


class Responses:
    """The responses of a run, as one of its processes reads, writes and rescues them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._store: Store | None = None
        self._recalled = False
        self.taken_up = 0
        """Responses that an earlier run rescued, and that are now in the store."""
        self.rescued = 0
        """Responses that the store could not take, or has lost, as far as any process knows."""
        self.trouble = ""
        """Why it has lost them, or takes no more."""

    @property
    def store(self) -> Store:
        """The response store.

        Raises:
            StoreError: it cannot be opened or created.
        """
        if self._store is None:
            self._store = self._open()
        return self._store

    @property
    def opened(self) -> bool:
        """Whether this process has opened the store."""
        return self._store is not None

    @property
    def store_unavailable(self) -> bool:
        """Whether nothing is asked because the store fails."""
        return self._store is not None and self._store.outage.ongoing

    def stop_waiting(self) -> None:
        """Wait no longer for a store that fails."""
        if self._store is not None:
            self._store.outage.hurry()

    def has(self, keys: Collection[str]) -> bool:
        """Whether the store has the responses with all these keys."""
        return self.store.count(keys) == len(keys)

    def span(self, keys: Iterable[str]) -> tuple[str, str] | None:
        """The times at which the first and the last response with these keys arrived; None without any.

        Raises:
            StoreError: the store cannot be read.
        """
        return self.store.span(keys)

    def call_texts(self, keys: Iterable[str]) -> Mapping[str, CallTexts]:
        """Prompts and responses by key; without the store if that is in ``trouble``.

        Raises:
            StoreError: the store cannot be read, or a row is damaged.
        """
        requested_keys = tuple(keys)
        try:
            return self.store.call_texts(requested_keys)
        except StoreError:
            if not self.trouble:
                raise
            return self.store.remembered(requested_keys)

    def picture(self, key: str) -> bytes:
        """The encoded picture of a response in the store.

        Raises:
            StoreError: it has none.
        """
        response = self.store.responses([key]).get(key)
        if response is None:
            raise StoreError(f"{self.store.location}: no response has the key {key}")
        return self.store.pictures.read(response.image_file)

    def recall(self, failure: FactorfairError | None) -> None:
        """Rescue, once, what this process has stored and the store has lost.

        ``failure`` is what ended the asking.
        """
        if self._recalled or self._store is None:
            return
        self._recalled = True
        rescued, why = self._store.recall()
        self.rescued += rescued
        self.trouble = self.trouble or why or (str(failure) if isinstance(failure, StoreError) else "")

    def add_worker(self, rescued: int, trouble: str) -> None:
        """Add how many responses a worker rescued, and why."""
        self.rescued += rescued
        if trouble:
            self.trouble = self.trouble or trouble
            self.store.outage.hurry()  # it has waited for all

    @property
    def rescue_note(self) -> str:
        """A note on where rescued responses are; "" if there are none."""
        if not self.rescued:
            return ""
        folder = os.path.relpath(Path(self._settings.own_pictures).parent)
        return (
            f"{plural(self.rescued, 'paid response')} that the store does not have: rescued in "
            f"{folder}/rescued-*.jsonl. The same command takes them up once the store works."
        )

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def _open(self) -> Store:
        from pytest_factorfair.store import PATIENCE, Store

        settings, since = self._settings, ""
        if settings.max_age is not None:
            since = (datetime.now(UTC) - timedelta(seconds=settings.max_age)).isoformat(timespec="seconds")
        store = Store.open(
            settings.store,
            read_only=settings.reuse == "only",
            pictures=settings.pictures or "",
            folder=Path(settings.own_pictures),
            rescue=Path(settings.own_pictures).parent,
            patience=min(PATIENCE, settings.patience),
            since=since,
        )
        try:
            self.taken_up = store.take_up()
        except StoreError:
            store.close()
            raise
        return store
