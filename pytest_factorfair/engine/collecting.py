"""Take batches on from wherever they are: find, poll, download, and store what they answered."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair.domain import Query, Request, Response, excerpt, plural
from pytest_factorfair.engine.dispatcher import LONGEST, priced
from pytest_factorfair.errors import (
    AGAIN,
    TO_DO,
    FatalModelError,
    ModelError,
    PendingError,
    RetryableModelError,
)
from pytest_factorfair.models.batches import BatchState
from pytest_factorfair.models.prices import Price
from pytest_factorfair.redaction import concealed, secrets
from pytest_factorfair.store import BatchItem, BatchRow, Origin, Step, Store

if TYPE_CHECKING:
    from pytest_factorfair.engine.holds import Holds
    from pytest_factorfair.engine.retry import Retry
    from pytest_factorfair.models.batches import BatchLine, BatchModel, BatchReply, BatchService, BatchStatus

LISTED = 360.0
"""Seconds after which a service lists a batch that it has accepted."""

CLOCKS = 600.0
"""Seconds by which the clocks of a service and of this host may differ."""

QUOTA_PAUSES = (300.0, 600.0, 1200.0, 2400.0, 4800.0)
"""Seconds to wait after refusals for a service's quota; one more ends the run."""

LATE = 5
"""Polls for which a batch may have ended without results."""

GONE = frozenset({"404", "410"})
"""Statuses of a service that no longer has what is asked for."""

DOWNLOADS = 3
"""Times that results are read if reading is cut off."""

STORED = 100
"""Answers that are stored together."""

QUOTA, CREATED_AGAIN = "quota", "created again"
"""Causes in a batch's row: the service's quota refused it; it was not listed, and created a second time."""


@dataclass(slots=True)
class Job:
    """The questions of one model that batches are to answer; ``tell`` is given lines to show.

    ``services`` are those that batches may be at, by name. ``patient`` is whether the run waits for batches,
    and ``leads`` whether only this process collects them. ``tries`` counts the batches that did not answer a
    key, and ``errors`` are final. ``most`` is how many lines the service's quota allows, ``refusals`` how
    often in a row it refused even these, and ``pause`` the seconds to wait since. ``late`` counts the polls
    for which a batch has had no results. ``failing`` is since when services have failed, and ``failed``
    whether one has in this round of polls. ``progress`` is what the last call said.
    """

    model: BatchModel
    services: Mapping[str, BatchService]
    patient: bool
    tell: Callable[[str], None]
    waiting: dict[str, Query]
    tries: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)
    most: int | None = None
    refusals: int = 0
    pause: float = 0.0
    late: Counter[str] = field(default_factory=Counter)
    failing: float | None = None
    failed: bool = False
    leads: bool = False
    progress: str = ""


class Collected(NamedTuple):
    """What came of a batch: the refused lines by key, and the number of lines of no item."""

    refused: Mapping[str, str]
    ignored: int


class Collector:
    """Takes each batch of a job one step further; runs only in the loop's thread.

    Only one process at a time does so with a batch. The others wait for its answers in the store. Of the
    models that are ``formed``, it is known what their service accepts.
    """

    def __init__(self, store: Store, holds: Holds, retry: Retry) -> None:
        self._store = store
        self._batches = store.batches
        self._holds = holds
        self._retry = retry
        self._secrets = secrets()
        self.formed: set[int] = set()

    async def advance(self, job: Job, rows: Sequence[BatchRow]) -> bool:
        """Take batches further where possible; whether any was.

        Raises:
            PendingError: a batch needs the user, or its service does not answer.
            FatalModelError: the service refuses a batch, or all of its lines.
        """
        job.progress, job.failed = "", False
        for row in rows:
            self._holds.adopt(row)
        led = [row for row in rows if await asyncio.wrap_future(self._batches.lead(row.name))]
        job.leads = len(led) == len(rows)
        submitted = [row for row in led if row.batch_id]
        advanced = False
        for row in led:
            if not row.batch_id:
                advanced |= await self._sent(job, row)
        for service in job.services.values():
            at_service = [row for row in submitted if _takes(service, row)]
            if not at_service or (statuses := await self._polled(job, service, at_service)) is None:
                continue
            for row in at_service:
                if (status := statuses.get(row.batch_id)) is None:
                    raise self._lost(row, f"{service.name} has no batch {row.batch_id} any more")
                advanced |= await self._finished(job, row, status)
        for row in submitted:
            self._service(job, row)  # only now, as others may be collected
        if not job.failed:
            job.failing = None
        return advanced

    async def create(self, job: Job, row: BatchRow, lines: Sequence[BatchLine] = ()) -> bool:
        """Create a batch of an uploaded file; False if it must be created later.

        It is in doubt if the service does not say whether it created it.

        Raises:
            PendingError: the service has refused it for a while, or the run is not patient.
            ModelError: it will always refuse it.
        """
        began = self._retry.clock()
        await self._update(row, state=Step.CREATING, submitted=began)
        try:
            status = await self._service(job, row).create(row.name, row.file_id or None, lines)
        except RetryableModelError as error:
            if error.billable:
                return True
            try:
                self.endure(job, error, "no batch was created")
            except PendingError:
                await self.discard(row)
                raise
            if row.file_id:
                await self._update(row, state=Step.UPLOADED)
            else:
                await self.discard(row)
            return False
        except ModelError as error:
            if error.billable:
                return True
            await self.discard(row)
            raise
        await self._created(row, status)
        return True

    def endure(self, job: Job, error: ModelError, state: str) -> None:
        """Let a job go on although its service fails; ``state`` says what that leaves.

        Raises:
            PendingError: the service has failed for a while or will always fail, or the run is not patient.
        """
        job.failed = True
        current_time = self._retry.clock()
        job.failing = current_time if job.failing is None else job.failing
        may_recover = isinstance(error, RetryableModelError) and job.patient
        if not may_recover or current_time - job.failing >= self._retry.patience:
            raise PendingError(f"{error}: {state}{TO_DO}{AGAIN}") from None
        job.progress = f"batch: {error}"

    async def discard(self, row: BatchRow) -> None:
        """Delete a batch that was not created: nothing was paid."""
        unsent = [item.key for item in self._batches.items(row.name)]
        await asyncio.wrap_future(self._batches.delete(row.name))
        self._holds.free(unsent, unsent=True)

    def _service(self, job: Job, row: BatchRow) -> BatchService:
        """The service of a batch.

        Raises:
            PendingError: this run does not reach it, or not with the key of that batch.
        """
        service = job.services.get(row.service)
        if service is not None and _takes(service, row):
            return service
        where = row.service if service is None else f"another key of {row.service}"
        raise PendingError(
            f"batch {row.short} was submitted with {where}: run it again with that one, or "
            f"factorfair batch forget {self._store.location} {row.short}"
        )

    async def _update(self, row: BatchRow, **values: object) -> None:
        await asyncio.wrap_future(self._batches.update(row.name, **values))

    async def _created(self, row: BatchRow, status: BatchStatus) -> None:
        await self._update(row, batch_id=status.id, state=Step.SUBMITTED, expires=status.expires)

    # Until the service has the batch

    async def _sent(self, job: Job, row: BatchRow) -> bool:
        """Finish what a killed process began: send the batch, find it at the service, or give it up."""
        if row.state == Step.CREATING:
            return await self._recovered(job, row)
        return await self._begun_again(job, row)

    async def _begun_again(self, job: Job, row: BatchRow) -> bool:
        """Create a batch of its file, or without one free its keys; whether either was possible."""
        if row.file_id:
            return await self.create(job, row)
        await self.discard(row)
        return True

    async def _recovered(self, job: Job, row: BatchRow) -> bool:
        """Find a batch that was perhaps created; create it again if the service does not list it.

        Raises:
            PendingError: the service cannot list batches, or cannot be reached.
        """
        try:
            candidates = await self._candidates(self._service(job, row), row)
        except ModelError as error:
            self.endure(job, error, f"whether batch {row.short} was created is unknown")
            return False
        if candidates is None:
            command = f"factorfair batch adopt {self._store.location} {row.short} ID"
            raise self._lost(row, f"{row.service} does not list batches; if it shows this one, {command}")
        if candidates:
            certain = [candidate for candidate in candidates if _is_certain(candidate)]
            for candidate in certain[:1]:
                await self._created(row, candidate)
            return bool(certain)
        if self._retry.clock() - (row.submitted or row.created) < LISTED:
            return False
        await self._update(row, cause=CREATED_AGAIN)
        return await self._begun_again(job, row)

    async def _candidates(self, service: BatchService, row: BatchRow) -> Sequence[BatchStatus] | None:
        keys = {item.key for item in self._batches.items(row.name)}
        return await service.find(row.name, row.file_id or None, row.created - CLOCKS, row.lines, keys)

    def _lost(self, row: BatchRow, why: str) -> PendingError:
        return PendingError(
            f"batch {row.short}: {why}; to ask its questions again, which may be paid twice, "
            f"factorfair batch forget {self._store.location} {row.short}"
        )

    # At the service

    async def _polled(
        self, job: Job, service: BatchService, rows: Sequence[BatchRow]
    ) -> Mapping[str, BatchStatus] | None:
        """The states of batches by id; None if the service does not answer now.

        Raises:
            PendingError: it has not answered for a while, or never will.
        """
        try:
            statuses = await service.statuses([row.batch_id for row in rows])
        except ModelError as error:
            self.endure(job, error, "the batches are still there")
            return None
        running = [status for status in statuses if status.state == BatchState.RUNNING]
        if running:
            done, failed = sum(status.done for status in running), sum(status.failed for status in running)
            job.progress = f"batch: {done:,} of {sum(row.lines for row in rows):,} done, {failed:,} failed"
        return {status.id: status for status in statuses}

    async def _finished(self, job: Job, row: BatchRow, status: BatchStatus) -> bool:
        """Collect a batch that has ended, or give up one that failed; whether it was either.

        Raises:
            FatalModelError: the service refuses the batch, or all of its lines.
            PendingError: it was cancelled, or the service's quota is too small.
        """
        if status.state == BatchState.RUNNING:
            return False
        if status.state == BatchState.FAILED:
            await self._failed(job, row, status)
            return True
        if not status.outputs and status.done:
            job.late[row.name] += 1
            if job.late[row.name] > LATE:
                raise self._lost(row, f"{row.service} counts {status.done:,} answers, and has no results")
            return False
        job.refusals = 0
        if row.cause == CREATED_AGAIN:
            await self._cancel_twins(job, row)
        await self._update(row, state=Step.ENDED)
        if (unanswered := await self._collect(job, row, status)) is None:
            return False
        await asyncio.wrap_future(self._batches.end(row.name))
        if status.state == BatchState.CANCELLED and unanswered:
            raise PendingError(
                f"batch {row.short} was cancelled, {unanswered:,} of {row.lines:,} are left{TO_DO}{AGAIN}"
            )
        return True

    async def _failed(self, job: Job, row: BatchRow, status: BatchStatus) -> None:
        """Free the keys of a batch that the service did not begin, because of its quota."""
        keys = [item.key for item in self._batches.items(row.name)]
        await asyncio.wrap_future(self._batches.end(row.name, QUOTA if status.quota else status.message))
        self._holds.free(keys, unsent=True)
        if not status.quota:
            raise FatalModelError(f"{row.service} refuses the batch: {status.message}", billable=False)
        busy = bool(self._batches.holding(job.waiting))  # they may fill the quota
        job.most = row.lines if busy else max(1, row.lines // 2)
        job.refusals += not busy
        if job.refusals > len(QUOTA_PAUSES):
            raise PendingError(f"{row.service}: its quota allows no batch{TO_DO}{AGAIN} later")
        if job.refusals:
            job.pause = QUOTA_PAUSES[job.refusals - 1]

    async def _cancel_twins(self, job: Job, row: BatchRow) -> None:
        """Cancel another batch with the same file, which the service listed too late."""
        service = self._service(job, row)
        for twin in await self._candidates(service, row) or ():
            if twin.id != row.batch_id and _is_certain(twin):
                await service.cancel(twin.id)
                job.tell(f"factorfair: note: a second batch {twin.id} is cancelled; it may be billed")

    # Results

    async def _collect(self, job: Job, row: BatchRow, status: BatchStatus) -> int | None:
        """Store the answers of a batch; returns the number of lines without one.

        None means that the service does not send all results now.
        """
        items = {item.key: item for item in self._batches.items(row.name)}
        for attempt in range(1, DOWNLOADS + 1):
            try:
                collected = await self._read(job, row, status, items)
                break
            except ModelError as error:
                if error.cause.detail in GONE:
                    raise self._lost(row, f"{error}: its results are paid and lost") from None
                if attempt == DOWNLOADS or not isinstance(error, RetryableModelError):
                    self.endure(job, error, "the results are still there")
                    return None
        refused = collected.refused
        answered = row.lines - len(items)  # also by a download that was cut, or in a run that was killed
        if not answered and len(refused) >= self._retry.alike:
            await asyncio.wrap_future(self._batches.end(row.name, refusal := next(iter(refused.values()))))
            raise FatalModelError(f"{refusal} ({len(refused):,} lines of a batch, and none was answered)")
        if answered and id(job.model) not in self.formed:
            job.model.take_form(row.formed)
            self.formed.add(id(job.model))
        self._holds.free(items)
        for key, item in items.items():
            job.tries[key] = item.tries + 1
            reason = refused.get(key, "")
            if not reason and job.tries[key] >= self._retry.attempts:
                reason = f"not answered, in {job.tries[key]} batches"
            if reason and job.waiting.pop(key, None) is not None:
                job.errors[key] = excerpt(concealed(reason), LONGEST)
        unanswered = f", {len(items):,} not" if items else ""
        ignored = f"; {plural(collected.ignored, 'line')} ignored" if collected.ignored else ""
        job.tell(f"factorfair: batch: {plural(answered, 'question')} answered{unanswered}{ignored}")
        return len(items)

    async def _read(
        self, job: Job, row: BatchRow, status: BatchStatus, items: dict[str, BatchItem]
    ) -> Collected:
        """Read the results, and store the answers; answered ``items`` are removed."""
        refused: dict[str, str] = {}
        answered: list[tuple[BatchItem, Response]] = []
        ignored = 0
        try:
            async for reply in self._service(job, row).results(status):
                if (item := items.get(reply.key)) is None:
                    ignored += 1
                    continue
                outcome = await self._outcome(job, row, item, reply)
                if isinstance(outcome, str):
                    refused |= {item.key: outcome} if outcome else {}
                    continue
                del items[item.key]
                refused.pop(item.key, None)
                answered.append((item, outcome))
                if len(answered) == STORED:
                    await self._store_answers(job, row, answered)
                    answered = []
        finally:
            await self._store_answers(job, row, answered)
        return Collected(refused, ignored)

    async def _outcome(self, job: Job, row: BatchRow, item: BatchItem, reply: BatchReply) -> Response | str:
        """The response of a line; why it has none, or "" if it may be asked again."""
        request = Request(json.loads(item.prompt), item.repeat, item.seed)
        try:
            response = await job.model.response(reply.reply, request, row.formed)
        except RetryableModelError:
            return ""
        except ModelError as error:
            return str(error)
        token_in, token_out, answer = row.price_in, row.price_out, row.price_answer
        price = None if token_in is None else Price(token_in, token_out or 0.0, answer or 0.0)
        return priced(response, price, self._secrets)

    async def _store_answers(
        self, job: Job, row: BatchRow, answered: Sequence[tuple[BatchItem, Response]]
    ) -> None:
        origin = Origin(row.model, row.identity)
        writes = [
            self._store.draft(
                item.key,
                response,
                origin,
                prompt=json.loads(item.prompt),
                repeat=item.repeat,
                seed=item.seed,
                replace=row.replace,
            )
            for item, response in answered
        ]
        if writes:
            await asyncio.wrap_future(self._store.put(*writes))
        for item, response in answered:
            job.waiting.pop(item.key, None)
            self._holds.settle(item.key, response)


def _takes(service: BatchService, row: BatchRow) -> bool:
    """Whether a batch is at this service, and of the same account."""
    return (service.name, service.account) == (row.service, row.account)


def _is_certain(status: BatchStatus) -> bool:
    """Whether a batch that ``find`` returned is the one that was looked for."""
    return bool(status.name or status.file_id) or status.state != BatchState.RUNNING
