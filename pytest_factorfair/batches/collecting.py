"""Take batches on from wherever they are: find, poll, download, and store what they answered."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_factorfair.batches.protocol import ELSEWHERE, BatchLine, BatchState
from pytest_factorfair.domain import Query, Request, Response, excerpt, plural
from pytest_factorfair.engine.dispatcher import LONGEST, priced
from pytest_factorfair.errors import (
    AGAIN,
    TO_DO,
    BudgetError,
    FatalModelError,
    InputError,
    ModelError,
    PendingError,
    RetryableModelError,
)
from pytest_factorfair.models.prices import Price
from pytest_factorfair.redaction import concealed, secrets
from pytest_factorfair.store import Origin, Store
from pytest_factorfair.store.batches import BatchItem, BatchRow, Step

if TYPE_CHECKING:
    from pytest_factorfair.batches.holds import Holds
    from pytest_factorfair.batches.protocol import BatchModel, BatchReply, BatchService, BatchStatus
    from pytest_factorfair.engine.retry import Retry

LISTED = 300.0
"""Seconds after which a batch that the service does not list counts as not created."""

CLOCKS = 600.0
"""Seconds by which the clocks of a service and of this host may differ."""

QUOTA_PAUSES = (300.0, 600.0, 1200.0, 2400.0, 4800.0)
"""Seconds to wait after refusals for a service's quota; one more ends the run."""

LATE = 5
"""Polls for which a batch may have ended without results."""

GONE = frozenset({"404", "410"})
"""Statuses of a service that no longer has what is asked for."""

DOWNLOADS = 3
"""Times that results are read in a row if some of them cannot be."""

UNREADABLE = 0.05
"""The share of a batch's lines that are asked again although they were completed, and so paid for."""

STORED = 100
"""Answers that are stored together."""

QUOTA, UNCONFIRMED = "quota", "unconfirmed"
"""Causes in a batch's row: the service's quota refused it; it may exist, and is not created again."""


@dataclass(slots=True)
class Job:
    """The questions of one model that batches are to answer; ``tell`` is given lines to show.

    ``services`` are those that batches may be at, by name. ``patient`` is whether the run waits for batches,
    and ``leads`` whether only this process collects them. ``tries`` counts the batches that did not answer a
    key, and ``errors`` are final. ``most`` is how many lines the service's quota allows, ``refusals`` how
    often in a row it refused even these, and ``pause`` the seconds to wait since. ``late`` counts the polls
    for which a batch has had no results. ``failing`` is since when services have failed, and ``failed``
    whether one has in this round of polls. ``stop`` is why no more may be sent, and ``progress`` what the
    last call said.
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
    stop: BudgetError | None = None
    progress: str = ""


@dataclass(slots=True)
class Download:
    """What came of a batch: answered ``items`` are stored, and removed.

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
        """As many keys as there are unreadable lines, which they may be of."""
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

    def __init__(self, store: Store, holds: Holds, retry: Retry) -> None:
        self._store = store
        self._batches = store.batches
        self._holds = holds
        self._retry = retry
        self._secrets = secrets()
        self._repeated: dict[str, Collection[str]] = {}  # by batch, the names of its second hold
        self.formed: set[int] = set()

    async def advance(self, job: Job, rows: Sequence[BatchRow]) -> bool:
        """Take batches further where possible; whether any was.

        Raises:
            PendingError: a batch needs the user, or its service does not answer.
            FatalModelError: the service refuses a batch, or all of its lines.
        """
        job.progress, job.failed = "", False
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
            InputError: it has no batches, or none with ids.
        """
        began = self._retry.clock()
        await self._update(row, state=Step.CREATING, submitted=began)
        try:
            status = await self._service(job, row).create(row.name, row.file_id or None, lines)
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
        await self._created(row, status)
        return True

    async def _not_created(self, job: Job, row: BatchRow, error: ModelError | InputError) -> None:
        """Note that the service has refused to create a batch, which may exist if this was the second time.

        Raises:
            PendingError, ModelError, InputError: as ``create``.
        """
        final: Exception | None = error
        if isinstance(error, RetryableModelError):
            try:
                self.endure(job, error, "no batch was created")
                final = None
            except PendingError as pending:
                final = pending
        if row.cause == UNCONFIRMED:
            self._holds.free(self._repeated.pop(row.name, ()), unsent=True)
            await self._update(row, cause="", held=row.held)
        elif final is None and row.file_id:
            await self._update(row, state=Step.UPLOADED)
        else:
            await self.discard(row)
        if final is not None:
            raise final

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
            candidates = await self._candidates(self._service(job, row), row)
        except ModelError as error:
            self.endure(job, error, f"whether batch {row.short} was created is unknown")
            return False
        except InputError as error:
            raise InputError(f"{error}; it may have batch {row.short}: {self._ways_out(row)}") from None
        if candidates is None:
            raise self._unconfirmed(row, f"{row.service} does not list batches")
        if candidates:
            certain = [candidate for candidate in candidates if _is_certain(candidate)]
            for candidate in certain[:1]:
                await self._created(row, candidate)
            return bool(certain)
        is_late = self._retry.clock() - (row.submitted or row.created) >= LISTED
        if is_late and row.cause != UNCONFIRMED:
            return await self._repeat(job, row)
        try:
            doubt = RetryableModelError(f"{row.service} does not list batch {row.short}")
            self.endure(job, doubt, "whether it was created is unknown")
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
        self._repeated[row.name] = repeated.keys()
        amounts = row.held, self._holds.sum(repeated)
        both = None if None in amounts else sum(filter(None, amounts))
        await self._update(row, cause=UNCONFIRMED, held=both)
        lines = []
        if not row.file_id:
            job.model.take_form(row.formed)
            lines = [BatchLine(key, job.model.body(request)) for key, request in requests.items()]
        return await self.create(job, replace(row, cause=UNCONFIRMED), lines)

    async def _candidates(self, service: BatchService, row: BatchRow) -> Sequence[BatchStatus] | None:
        keys = {item.key for item in self._batches.items(row.name)}
        return await service.find(row.name, row.file_id or None, row.created - CLOCKS, row.lines, keys)

    def _lost(self, row: BatchRow, why: str) -> PendingError:
        return PendingError(f"batch {row.short}: {why}{TO_DO}{self._forget(row)}")

    def _unconfirmed(self, row: BatchRow, why: str) -> PendingError:
        return PendingError(f"batch {row.short}: {why}{TO_DO}{self._ways_out(row)}")

    def _ways_out(self, row: BatchRow) -> str:
        """What a user can do about a batch that may exist."""
        adopt = f"factorfair batch adopt {self._store.location} {row.short} ID"
        return f"if the service shows it elsewhere, {adopt}; {self._forget(row)}"

    def _forget(self, row: BatchRow) -> str:
        forget = f"factorfair batch forget {self._store.location} {row.short}"
        return f"to ask its questions again, which may be paid twice, {forget}"

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
        try:
            twins = await self._twins(job, row) if row.cause == UNCONFIRMED else ()
            if status.state == BatchState.FAILED:
                if twins:  # of which this one was too many
                    await self._created(row, twins[0])
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
            self.endure(job, error, "the batches are still there")
            return False
        job.refusals = 0
        await self._update(row, state=Step.ENDED)
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
        job.most = row.lines if busy else max(1, row.lines // 2)
        job.refusals += not busy
        if job.refusals > len(QUOTA_PAUSES):
            raise PendingError(f"{row.service}: its quota allows no batch{TO_DO}{AGAIN} later")
        if job.refusals:
            job.pause = QUOTA_PAUSES[job.refusals - 1]

    async def _twins(self, job: Job, row: BatchRow) -> Sequence[BatchStatus]:
        """Other batches with the same lines, which the service listed too late."""
        candidates = await self._candidates(self._service(job, row), row) or ()
        return [
            candidate
            for candidate in candidates
            if _is_certain(candidate)
            and candidate.id != row.batch_id
            and candidate.state != BatchState.FAILED
        ]

    async def _cancelled(self, job: Job, row: BatchRow, twin: BatchStatus) -> int:
        """Cancel another batch with the same lines; returns how many of them it has completed."""
        service = self._service(job, row)
        await service.cancel(twin.id)
        job.tell(f"factorfair: note: a second batch {twin.id} is cancelled; it may be billed")
        return sum(status.done for status in await service.statuses([twin.id]))

    # Results

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
        repeated = [*self._repeated.pop(row.name, ())]
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
        job.tell(f"factorfair: batch: {plural(answered, 'question')} answered{unanswered}{lost}{ignored}")
        return len(items)

    async def _downloaded(self, job: Job, row: BatchRow, status: BatchStatus, download: Download) -> bool:
        """Read the results, again if some of them cannot be; whether the service has sent them.

        Raises:
            PendingError: they are gone; or they are paid for and have not been readable for a while.
        """
        for attempt in range(1, DOWNLOADS + 1):
            try:
                await self._read(job, row, download, self._service(job, row).results(status))
            except ModelError as error:
                if error.cause.detail in GONE:
                    why = f"{error}: its results are paid and lost"
                    raise self._paid_and_lost(row, status, download, why) from None
                if attempt == DOWNLOADS or not isinstance(error, RetryableModelError):
                    self.endure(job, error, "the results are still there")
                    return False
            else:
                download.unreadable = _unreadable(row, status, download)
                if not download.unreadable:
                    return True
        if download.unreadable <= UNREADABLE * row.lines:
            return True
        lines = f"{download.unreadable:,} of {row.lines:,} lines"
        try:  # a proxy may have replied
            self.endure(job, RetryableModelError(f"{lines} cannot be read"), "they are paid")
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
        """The response of a line; why it has none, or "" if it may be asked again. None is unreadable."""
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


def _takes(service: BatchService, row: BatchRow) -> bool:
    """Whether a batch is at this service, and of the same account."""
    return (service.name, service.account) == (row.service, row.account)


def _is_certain(status: BatchStatus) -> bool:
    """Whether a batch that ``find`` returned is the one that was looked for."""
    return bool(status.name or status.file_id) or status.state != BatchState.RUNNING


def _unreadable(row: BatchRow, status: BatchStatus, download: Download) -> int:
    """The number of lines that a service has completed, of those that were neither answered nor failed.

    Errors beyond those that it counts are among the lines that it counts as completed. Without any count, all
    lines of a batch that has ended are.
    """
    unanswered, failed = len(download.items), len(download.failed)
    if not (status.done or status.failed):
        return unanswered - failed if status.state == BatchState.ENDED else 0
    completed = status.done - max(0, failed - status.failed)
    return max(0, min(unanswered - failed, completed - (row.lines - unanswered)))
