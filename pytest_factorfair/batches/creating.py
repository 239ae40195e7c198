"""Create batches at their service, and find those that a killed run was creating."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_factorfair.batches.protocol import ELSEWHERE, BatchLine, BatchState
from pytest_factorfair.domain import Request, plural
from pytest_factorfair.errors import TO_DO, InputError, ModelError, PendingError, RetryableModelError
from pytest_factorfair.store import Store
from pytest_factorfair.store.batches import BatchRow, Step

if TYPE_CHECKING:
    from pytest_factorfair.batches.holds import Holds
    from pytest_factorfair.batches.job import Job
    from pytest_factorfair.batches.protocol import BatchStatus
    from pytest_factorfair.engine.retry import Retry

LISTED = 300.0
"""Seconds after which a batch that the service does not list counts as not created."""

CLOCKS = 600.0
"""Seconds by which the clocks of a service and of this host may differ."""

UNCONFIRMED = "unconfirmed"
"""The cause in the row of a batch that may exist, and is not created a third time."""


class Creator:
    """Takes batches from their row in the store to their service; runs only in the loop's thread.

    A service may have created a batch without saying so. Then it is looked for, and created once more if the
    service does not list it; what both may cost is held.
    """

    def __init__(self, store: Store, holds: Holds, retry: Retry) -> None:
        self._store = store
        self._batches = store.batches
        self._holds = holds
        self._retry = retry
        self._second_holds: dict[str, Collection[str]] = {}  # the keys of a second hold, by batch

    async def create(self, job: Job, row: BatchRow, lines: Sequence[BatchLine] = ()) -> bool:
        """Create a batch of an uploaded file; False if it must be created later.

        It is in doubt if the service does not say whether it created it.

        Raises:
            PendingError: the service has refused it for a while, or the run does not wait.
            ModelError: it will always refuse it.
            InputError: it has no batches, or none with ids.
        """
        began = self._retry.clock()
        await self._update(row, state=Step.CREATING, submitted=began)
        try:
            status = await job.service_of(row, self._store).create(row.name, row.file_id or None, lines)
        except (ModelError, InputError) as error:
            if isinstance(error, ModelError) and error.billable:
                return True
            await self._not_created(job, row, error)
            return False
        if not status.id:
            await self._update(row, cause=UNCONFIRMED)
            raise InputError(
                f"model '{row.model}': {row.service} has no batches (it created one without an id): "
                f"{ELSEWHERE}; it may answer the questions nevertheless: {self._ways_out(row)}"
            )
        await self.created(row, status)
        return True

    async def _not_created(self, job: Job, row: BatchRow, error: ModelError | InputError) -> None:
        """Note that the service has refused to create a batch, which may exist if this was the second time.

        Raises:
            PendingError, ModelError, InputError: as ``create``.
        """
        final: Exception | None = error
        if isinstance(error, RetryableModelError):
            try:
                job.endure(error, "no batch was created", self._retry)
                final = None
            except PendingError as pending:
                final = pending
        if row.cause == UNCONFIRMED:
            self._holds.free(self.take_second_hold(row), unsent=True)
            await self._update(row, cause="", held=row.held)
        elif final is None and row.file_id:
            await self._update(row, state=Step.UPLOADED)
        else:
            await self.discard(row)
        if final is not None:
            raise final

    async def resume(self, job: Job, row: BatchRow) -> bool:
        """Finish what a killed process began: send the batch, find it at the service, or give it up."""
        if row.state == Step.CREATING:
            return await self._recovered(job, row)
        if row.file_id:
            return await self.create(job, row)
        await self.discard(row)
        return True

    async def _recovered(self, job: Job, row: BatchRow) -> bool:
        """Find a batch that was perhaps created; create it again, once, if the service does not list it.

        Raises:
            PendingError: the service cannot list batches, cannot be reached, or has confirmed nothing for a
                while; or the limits of the run do not allow as many lines again.
        """
        try:
            candidates = await self._candidates(job, row)
        except ModelError as error:
            job.endure(error, f"whether batch {row.short} was created is unknown", self._retry)
            return False
        except InputError as error:
            raise InputError(f"{error}; it may have batch {row.short}: {self._ways_out(row)}") from None
        if candidates is None:
            raise self._unconfirmed(row, f"{row.service} does not list batches")
        if candidates:
            certain = [candidate for candidate in candidates if _is_certain(candidate)]
            if certain:
                await self.created(row, certain[0])
            return bool(certain)
        is_late = self._retry.clock() - (row.submitted or row.created) >= LISTED
        if is_late and row.cause != UNCONFIRMED:
            return await self._repeat(job, row)
        try:
            doubt = RetryableModelError(f"{row.service} does not list batch {row.short}")
            job.endure(doubt, "whether it was created is unknown", self._retry)
        except PendingError:
            if row.cause == UNCONFIRMED:
                raise self._unconfirmed(row, f"{row.service} neither confirms nor lists it") from None
            raise
        return False

    async def _repeat(self, job: Job, row: BatchRow) -> bool:
        """Create a batch again that is not listed. Both may be billed, so that it takes another hold.

        Raises:
            PendingError: the limits of the run do not allow it.
        """
        requests = {
            item.key: Request(json.loads(item.prompt), item.repeat, item.seed)
            for item in self._batches.items(row.name)
        }
        repeated = {f"{key} again": request for key, request in requests.items()}  # beside the first hold
        held, refusal = await self._holds.take(job.model, repeated)
        if refusal is not None:
            self._holds.free([*repeated][:held], unsent=True)
            raise self._unconfirmed(
                row,
                f"{row.service} neither confirms nor lists it, and the limits of the run do not allow "
                f"{plural(row.lines, 'line')} again",
            )
        self._second_holds[row.name] = repeated.keys()
        amounts = row.held, self._holds.sum(repeated)
        both = None if None in amounts else sum(filter(None, amounts))
        await self._update(row, cause=UNCONFIRMED, held=both)
        lines = []
        if not row.file_id:
            job.model.take_form(row.formed)
            lines = [BatchLine(key, job.model.body(request)) for key, request in requests.items()]
        return await self.create(job, replace(row, cause=UNCONFIRMED), lines)

    async def _candidates(self, job: Job, row: BatchRow) -> Sequence[BatchStatus] | None:
        """The batches of the service that may be this one; None if it does not list batches."""
        service = job.service_of(row, self._store)
        keys = {item.key for item in self._batches.items(row.name)}
        return await service.find(row.name, row.file_id or None, row.created - CLOCKS, row.lines, keys)

    async def twins(self, job: Job, row: BatchRow) -> Sequence[BatchStatus]:
        """Other batches with the same lines, which the service listed too late."""
        candidates = await self._candidates(job, row) or ()
        return [
            candidate
            for candidate in candidates
            if _is_certain(candidate)
            and candidate.id != row.batch_id
            and candidate.state != BatchState.FAILED
        ]

    async def created(self, row: BatchRow, status: BatchStatus) -> None:
        """Note that the service has a batch."""
        await self._update(row, batch_id=status.id, state=Step.SUBMITTED, expires=status.expires)

    def take_second_hold(self, row: BatchRow) -> list[str]:
        """The keys of the second hold of a batch that was created twice, once."""
        return [*self._second_holds.pop(row.name, ())]

    async def discard(self, row: BatchRow) -> None:
        """Delete a batch that was not created: nothing was paid."""
        unsent = [item.key for item in self._batches.items(row.name)]
        await asyncio.wrap_future(self._batches.delete(row.name))
        self._holds.free(unsent, unsent=True)

    async def _update(self, row: BatchRow, **values: object) -> None:
        await asyncio.wrap_future(self._batches.update(row.name, **values))

    def _unconfirmed(self, row: BatchRow, why: str) -> PendingError:
        return PendingError(f"batch {row.short}: {why}{TO_DO}{self._ways_out(row)}")

    def _ways_out(self, row: BatchRow) -> str:
        """What a user can do about a batch that may exist."""
        adopt = f"factorfair batch adopt {self._store.location} {row.short} ID"
        return f"if the service shows it elsewhere, {adopt}; {forget(row, self._store)}"


def _is_certain(status: BatchStatus) -> bool:
    """Whether a batch that ``find`` returned is the one that was looked for."""
    return bool(status.name or status.file_id) or status.state != BatchState.RUNNING


def forget(row: BatchRow, store: Store) -> str:
    """How a user can give up a batch whose answers cannot be collected."""
    command = f"factorfair batch forget {store.location} {row.short}"
    return f"to ask its questions again, which may be paid twice, {command}"
