"""Collect batches that their service has: poll them, download results, and store the answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_factorfair.batches.creating import UNCONFIRMED, forget
from pytest_factorfair.batches.job import takes
from pytest_factorfair.batches.protocol import BatchState
from pytest_factorfair.domain import Request, Response, excerpt, plural
from pytest_factorfair.engine.dispatcher import LONGEST, priced
from pytest_factorfair.errors import (
    AGAIN,
    TO_DO,
    FatalModelError,
    ModelError,
    PendingError,
    RetryableModelError,
)
from pytest_factorfair.models.prices import Price
from pytest_factorfair.redaction import concealed, secrets
from pytest_factorfair.store import Origin, Store
from pytest_factorfair.store.batches import BatchItem, BatchRow, Step

if TYPE_CHECKING:
    from pytest_factorfair.batches.creating import Creator
    from pytest_factorfair.batches.holds import Holds
    from pytest_factorfair.batches.job import Job
    from pytest_factorfair.batches.protocol import BatchReply, BatchService, BatchStatus
    from pytest_factorfair.engine.retry import Retry

QUOTA_PAUSES = (300.0, 600.0, 1200.0, 2400.0, 4800.0)
"""Seconds to wait after refusals for a service's quota; one more ends the run."""

LATE = 5
"""Polls for which a batch may have ended without results."""

NOT_FOUND = frozenset({"404", "410"})
"""Statuses of a service that no longer has what is asked for."""

DOWNLOADS = 3
"""Times that results are read in a row if some of them cannot be."""

UNREADABLE = 0.05
"""The share of a batch's lines that are asked again although they were completed, and so paid for."""

STORED = 100
"""Answers that are stored together."""

QUOTA = "quota"
"""The cause in the row of a batch that the service's quota refused."""


@dataclass(slots=True)
class Download:
    """The results of a batch as they are read; an answered item is stored, and removed from ``items``.

    Of the others, ``failed`` are the keys of lines with an error, and ``refused`` those that are final, with
    the reason. ``costs`` are those of the answers, as far as they are known. ``ignored`` counts the lines of
    no question of the batch, and ``unreadable`` the completed lines besides answers and errors.
    """

    items: dict[str, BatchItem]
    keys: Collection[str]
    failed: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    costs: list[float] = field(default_factory=list)
    ignored: int = 0
    unreadable: int = 0

    @property
    def paid(self) -> list[str]:
        """Keys without an answer or error, one for each unreadable line: it may be any of theirs."""
        return [key for key in self.items if key not in self.failed][: self.unreadable]

    @property
    def cost(self) -> float | None:
        """The mean cost of an answer, None if none is known."""
        return sum(self.costs) / len(self.costs) if self.costs else None


class Collector:
    """Takes each batch of a job one step further; runs only in the loop's thread.

    Only one process at a time does so with a batch. The others wait for its answers in the store. Of the
    models that are ``formed``, it is known what their service accepts.
    """

    def __init__(self, store: Store, creator: Creator, holds: Holds, retry: Retry) -> None:
        self._store = store
        self._batches = store.batches
        self._creator = creator
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
        led = [row for row in rows if await asyncio.wrap_future(self._batches.lead(row.name))]
        job.collects_alone = len(led) == len(rows)
        submitted = [row for row in led if row.batch_id]
        advanced = False
        for row in led:
            if not row.batch_id:
                advanced |= await self._creator.resume(job, row)
        for service in job.services.values():
            at_service = [row for row in submitted if takes(service, row)]
            if not at_service or (statuses := await self._polled(job, service, at_service)) is None:
                continue
            for row in at_service:
                if (status := statuses.get(row.batch_id)) is None:
                    raise self._lost(row, f"{service.name} has no batch {row.batch_id} any more")
                advanced |= await self._finished(job, row, status)
        for row in submitted:
            job.service_of(row, self._store)  # only now, as others may be collected
        if not job.failed:
            job.failing_since = None
        return advanced

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
            job.endure(error, "the batches are still there", self._retry)
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
        try:
            twins = await self._creator.twins(job, row) if row.cause == UNCONFIRMED else ()
            if status.state == BatchState.FAILED:
                if twins:  # of which this one was too many
                    await self._creator.created(row, twins[0])
                else:
                    await self._failed(job, row, status)
                return True
            if not status.outputs and status.done:
                job.late[row.name] += 1
                if job.late[row.name] > LATE:
                    why = f"{row.service} counts {status.done:,} answers, and has no results"
                    raise self._paid_and_lost(row, status, self._download(row), why)
                return False
            twice = [await self._cancelled(job, row, twin) for twin in twins]
        except RetryableModelError as error:
            job.endure(error, "the batches are still there", self._retry)
            return False
        job.refusals = 0
        await asyncio.wrap_future(self._batches.update(row.name, state=Step.ENDED))
        if (unanswered := await self._collect(job, row, status, sum(twice))) is None:
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
        job.most_lines = row.lines if busy else max(1, row.lines // 2)
        job.refusals += not busy
        if job.refusals > len(QUOTA_PAUSES):
            raise PendingError(f"{row.service}: its quota allows no batch{TO_DO}{AGAIN} later")
        if job.refusals:
            job.pause = QUOTA_PAUSES[job.refusals - 1]

    async def _cancelled(self, job: Job, row: BatchRow, twin: BatchStatus) -> int:
        """Cancel another batch with the same lines; returns how many of them it has completed."""
        service = job.service_of(row, self._store)
        await service.cancel(twin.id)
        job.announce(f"factorfair: note: a second batch {twin.id} is cancelled; it may be billed")
        return sum(status.done for status in await service.statuses([twin.id]))

    async def _collect(self, job: Job, row: BatchRow, status: BatchStatus, twice: int) -> int | None:
        """Store the answers of a batch; returns the number of lines without one.

        None means that the service does not send all results now. ``twice`` is how many of its lines another
        batch has completed, too.

        Raises:
            PendingError: results that are paid for cannot be read, or are gone.
            FatalModelError: the service refuses all lines.
        """
        download = self._download(row)
        if not await self._downloaded(job, row, status, download):
            return None
        items, paid, refused = download.items, download.paid, download.refused
        answered = row.lines - len(items)  # also by a download that was cut, or in a run that was killed
        if not answered and len(refused) >= self._retry.most_at_first:
            await asyncio.wrap_future(self._batches.end(row.name, refusal := next(iter(refused.values()))))
            raise FatalModelError(f"{refusal} ({len(refused):,} lines of a batch, and none was answered)")
        if answered and id(job.model) not in self.formed:
            job.model.take_form(row.formed)
            self.formed.add(id(job.model))
        repeated = self._creator.take_second_hold(row)
        self._holds.bill(paid + repeated[:twice], download.cost)
        self._holds.free([*items, *repeated])
        for key, item in items.items():
            job.tries[key] = item.tries + 1
            reason = refused.get(key, "")
            if not reason and job.tries[key] >= self._retry.attempts:
                reason = f"not answered, in {job.tries[key]} batches"
            if reason and job.waiting.pop(key, None) is not None:
                job.errors[key] = excerpt(concealed(reason), LONGEST)
        unanswered = f", {len(items):,} not" if items else ""
        lost = f", of which {len(paid):,} were completed and cannot be read" if paid else ""
        ignored = f"; {plural(download.ignored, 'line')} ignored" if download.ignored else ""
        job.announce(f"factorfair: batch: {plural(answered, 'question')} answered{unanswered}{lost}{ignored}")
        return len(items)

    async def _downloaded(self, job: Job, row: BatchRow, status: BatchStatus, download: Download) -> bool:
        """Read the results, repeatedly if some are unreadable; returns whether the service sent them.

        Raises:
            PendingError: they are gone; or they are paid for and have not been readable for a while.
        """
        for attempt in range(1, DOWNLOADS + 1):
            try:
                await self._read(job, row, download, job.service_of(row, self._store).results(status))
            except ModelError as error:
                if error.cause.detail in NOT_FOUND:
                    why = f"{error}: its results are paid and lost"
                    raise self._paid_and_lost(row, status, download, why) from None
                if attempt == DOWNLOADS or not isinstance(error, RetryableModelError):
                    job.endure(error, "the results are still there", self._retry)
                    return False
            else:
                download.unreadable = _unreadable(row, status, download)
                if not download.unreadable:
                    return True
        if download.unreadable <= UNREADABLE * row.lines:
            return True
        lines = f"{download.unreadable:,} of {row.lines:,} lines"
        try:  # a proxy may have replied
            job.endure(RetryableModelError(f"{lines} cannot be read"), "they are paid", self._retry)
        except PendingError:
            why = f"{lines} are paid, not readable: {row.service} completed them"
            raise self._paid_and_lost(row, status, download, why) from None
        return False

    def _download(self, row: BatchRow) -> Download:
        items = {item.key: item for item in self._batches.items(row.name)}
        return Download(items, frozenset(items))

    def _paid_and_lost(
        self, row: BatchRow, status: BatchStatus, download: Download, why: str
    ) -> PendingError:
        """The error of a batch with completed lines that cannot be read; they are put on the bill."""
        download.unreadable = _unreadable(row, status, download)
        self._holds.bill(download.paid, download.cost)
        return self._lost(row, why)

    def _lost(self, row: BatchRow, why: str) -> PendingError:
        return PendingError(f"batch {row.short}: {why}{TO_DO}{forget(row, self._store)}")

    async def _read(
        self, job: Job, row: BatchRow, download: Download, results: AsyncIterator[BatchReply]
    ) -> None:
        """Store the answers among results."""
        answered: list[tuple[BatchItem, Response]] = []
        download.ignored = 0
        try:
            async for reply in results:
                if (item := download.items.get(reply.key)) is None:
                    download.ignored += reply.key not in download.keys
                    continue
                outcome = await self._outcome(job, row, item, reply)
                if outcome is None:
                    continue
                if isinstance(outcome, str):
                    download.failed.add(item.key)
                    download.refused |= {item.key: outcome} if outcome else {}
                    continue
                del download.items[item.key]
                download.failed.discard(item.key)
                download.refused.pop(item.key, None)
                download.costs += [] if outcome.cost is None else [outcome.cost]
                answered.append((item, outcome))
                if len(answered) == STORED:
                    await self._store_answers(job, row, answered)
                    answered = []
        finally:
            await self._store_answers(job, row, answered)

    async def _outcome(
        self, job: Job, row: BatchRow, item: BatchItem, reply: BatchReply
    ) -> Response | str | None:
        """The response of a line, or the error; "" if it may be asked again, and None if it is unreadable."""
        request = Request(json.loads(item.prompt), item.repeat, item.seed)
        try:
            response = await job.model.response(reply.reply, request, row.formed)
        except RetryableModelError as error:
            return None if error.cause.kind == "reply" else ""
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


def _unreadable(row: BatchRow, status: BatchStatus, download: Download) -> int:
    """The number of completed lines that were neither answered nor failed: they cannot be read.

    Errors beyond those that it counts are among the lines that it counts as completed. Without any count, all
    lines of a batch that has ended are.
    """
    unanswered, failed = len(download.items), len(download.failed)
    if not (status.done or status.failed):
        return unanswered - failed if status.state == BatchState.ENDED else 0
    completed = status.done - max(0, failed - status.failed)
    return max(0, min(unanswered - failed, completed - (row.lines - unanswered)))
