"""Answers by batch: send what is missing, wait, and collect, until all answers are in the store.

The dispatcher then takes them from there. Each batch has a row in the store, which is written before and
after every step that may be paid for (``store/batches.py``). So a process that is killed loses nothing: the
next run reads the row, and goes on from there (``creating.py`` and ``collecting.py``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_factorfair.batches.collecting import Collector
from pytest_factorfair.batches.creating import Creator
from pytest_factorfair.batches.holds import Holds
from pytest_factorfair.batches.job import Job
from pytest_factorfair.batches.protocol import BatchLine
from pytest_factorfair.domain import Query, Request, Stop, dollars, plural
from pytest_factorfair.errors import (
    TO_DO,
    BudgetError,
    FatalModelError,
    InputError,
    ModelError,
    PendingError,
    RetryableModelError,
)
from pytest_factorfair.models.protocol import stored_name
from pytest_factorfair.store import Origin, Store, keys
from pytest_factorfair.store.batches import BatchItem, BatchRow, Step, pending

if TYPE_CHECKING:
    from pytest_factorfair.batches.protocol import BatchModel, BatchService
    from pytest_factorfair.engine import Engine
    from pytest_factorfair.engine.budget import Estimate
    from pytest_factorfair.engine.dispatcher import PriceOf

LEAST = 100
"""Lines of a batch; fewer questions are asked one by one: nobody waits a day for them."""

PILOT = 3
"""Questions that are asked one by one before the first batch, to find out what the service refuses."""

MARGIN = 0.95
"""The part of a service's limits that a batch uses."""

FIRST_POLL, SLOWER, LAST_POLL = 15.0, 1.5, 600.0
"""Seconds before the first poll, the growth of the pauses, and the longest pause."""

TOGETHER = 500
"""Lines that are counted towards the limits of a run in one transaction."""

BUSY = 1.0
"""Seconds after which it is checked again whether other processes have asked for keys."""


MINUTE = 60


class Plan(NamedTuple):
    """How a run uses batches: it waits for them, leaves them, or only collects those of earlier runs.

    ``service`` takes new batches, and ``services`` are all that the run can reach, by name.
    """

    mode: Literal["wait", "leave", "collect"]
    service: BatchService | None
    services: Mapping[str, BatchService]


class Batching:
    """Sends batches and collects their answers, in the loop of the engine.

    ``price`` and ``estimate`` are those by batch; with ``refresh``, stored answers are not taken.
    """

    def __init__(
        self,
        store: Store,
        engine: Engine,
        *,
        price: PriceOf,
        estimate: Estimate,
        refresh: bool = False,
    ) -> None:
        self._store = store
        self._engine = engine
        self._dispatcher = engine.dispatcher
        self._limits = engine.limits
        self._retry = engine.retry
        self._price = price
        self._refresh = refresh
        self._holds = Holds(store, self._limits, self._retry, estimate)
        self._creator = Creator(store, self._holds, self._retry)
        self._collector = Collector(store, self._creator, self._holds, self._retry)

    def submit(
        self, model: BatchModel, queries: Iterable[Query], plan: Plan, announce: Callable[[str], None]
    ) -> Future[None]:
        """Fetch the answers of batches to these queries into the store; ``announce`` shows lines to the user.

        The future raises what ``fetch`` does. An error of the model ends the asking for good: its questions
        must not be asked one by one, at full price.
        """

        async def fetched() -> None:
            try:
                await self.fetch(model, tuple(queries), plan, announce)
            except ModelError as error:
                fatal = FatalModelError(str(error), cause=error.cause, billable=error.billable)
                self._dispatcher.fail(fatal)
                raise fatal from None

        return self._engine.run(fetched())

    async def fetch(
        self, model: BatchModel, queries: Sequence[Query], plan: Plan, announce: Callable[[str], None]
    ) -> None:
        """Fetch the answers to these queries into the store; a few may be left to single calls.

        Raises:
            PendingError: batches are not done, and this run does not wait for them any longer.
            FatalModelError: the service refuses a batch, or all of its lines.
            BudgetError: a limit of the run is reached.
            StoreError: the store cannot be read or written.
        """
        names = keys(model.identity, queries)
        waiting = dict(zip(names, queries, strict=True))
        job = Job(model, plan.services, plan.mode == "wait", announce, waiting)
        self._dispatcher.asked[id(model)] = model
        deadline = self._limits.deadline
        seconds = None if deadline is None else max(0.0, deadline - self._limits.clock())
        try:
            async with asyncio.timeout(seconds) as limit:  # of a service that hangs, too
                await self._answer(job, plan)
        except TimeoutError:
            if not limit.expired():
                raise
            raise await self._out_of_time(job) from None
        finally:
            self._dispatcher.failed |= job.errors
            if self._refresh:
                self._dispatcher.fresh |= set(names) - job.waiting.keys() - job.errors.keys()
        if job.waiting and plan.service is not None:
            announce(f"factorfair: {plural(len(job.waiting), 'question')} asked one by one, at full price")

    async def _answer(self, job: Job, plan: Plan) -> None:
        """Send and collect batches until too few questions are left for one."""
        pause = FIRST_POLL
        while job.waiting:
            if job.pause and job.waits:
                await self._wait(job, (), job.pause)
            job.pause = 0.0
            free, others_ask = await self._claimed(job)
            rows = self._rows(job)
            sendable = job.stop is None and _worthwhile(plan, free)
            untried = sendable and self._is_untried(job, plan)
            sent: int | None = 0
            try:
                if sendable and not (untried or (job.most_lines and rows)):
                    sent = await self._send(job, plan, free, alone=not rows)
            finally:
                await asyncio.wrap_future(self._store.release(free))
            if untried:
                await self._pilot(job, plan, free)
                continue
            rows = self._rows(job)
            pause = FIRST_POLL if sent else pause
            if rows and sent is not None and await self._collector.advance(job, rows):
                continue
            if not rows and job.stop is not None and _worthwhile(plan, free):
                self._limits.end(str(job.stop))
                raise job.stop
            if not (rows or others_ask or _worthwhile(plan, free)):
                return
            if not others_ask and not job.waits:
                raise pending(rows)
            if rows and job.collects_alone and not others_ask and sent is not None:
                pause = await self._polled(job, rows, pause)
                continue
            await self._wait(job, rows, pause if rows or not others_ask else BUSY)
            pause = min(pause * SLOWER, LAST_POLL) if rows or sent is None else pause

    async def _polled(self, job: Job, rows: Sequence[BatchRow], pause: float) -> float:
        """Poll batches that only this process collects until one of them changes; returns the next pause.

        No other process can answer or free their keys meanwhile, so none is looked up.
        """
        names = {row.name for row in rows}
        while True:
            await self._wait(job, rows, pause)
            pause = min(pause * SLOWER, LAST_POLL)
            rows = [row for row in self._store.batches.open() if row.name in names]
            if len(rows) < len(names) or await self._collector.advance(job, rows):
                return pause

    async def _claimed(self, job: Job) -> tuple[list[str], bool]:
        """Claim the keys that no other process asks; also return whether others ask some."""
        claim = await asyncio.wrap_future(self._store.claim(job.waiting, refresh=self._refresh))
        for key in claim.stored:
            del job.waiting[key]
        self._holds.free(claim.stored)
        return [*claim.claimed], bool(claim.elsewhere)

    def _is_untried(self, job: Job, plan: Plan) -> bool:
        """Whether it is not known yet what the service accepts."""
        online = plan.service is not None and not plan.service.offline
        return online and id(job.model) not in self._collector.formed

    async def _pilot(self, job: Job, plan: Plan, free: Sequence[str]) -> None:
        """Ask a few questions by single calls before the first batch of a model.

        They find a wrong key, refused parameters, and answers that are cut off.
        """
        assert plan.service is not None  # noqa: S101  # otherwise no batch is worthwhile
        await plan.service.check()
        asked = free[:: len(free) // PILOT][:PILOT]
        exchanges = await self._dispatcher.case(job.model, tuple(job.waiting[key] for key in asked))
        responses = [exchange.response for exchange in exchanges if exchange.response is not None]
        if not responses:
            raise FatalModelError(f"{exchanges[0].error} (all {PILOT} questions of the pilot failed)")
        if any(response.finish == "length" for response in responses):
            raise FatalModelError(
                f"{stored_name(job.model)}: an answer of the pilot was cut off at max_tokens{TO_DO}raise it: "
                "--factorfair-model-arg=max_tokens=N"
            )
        self._collector.formed.add(id(job.model))
        for exchange in exchanges:
            if exchange.response is not None:
                del job.waiting[exchange.key]
        dropped = sorted({name for response in responses for name in response.dropped})
        refused = f"; not accepted: {', '.join(dropped)}" if dropped else ""
        job.announce(f"factorfair: pilot: {plural(len(responses), 'answer')} at full price{refused}")

    async def _send(self, job: Job, plan: Plan, free: Sequence[str], *, alone: bool) -> int | None:
        """Send as many keys as the limits of the run allow, in batches that the service accepts.

        Returns the number of lines, None if the service does not take all of them now.
        """
        service = plan.service
        assert service is not None  # noqa: S101  # otherwise no batch is worthwhile
        capacity = min(int(service.max_lines * MARGIN), job.most_lines or service.max_lines)
        if job.most_lines is not None:
            free = free[:capacity]  # the service's quota allows one batch at a time
        batches = _divided(await self._affordable(job, plan, free, alone=alone), service, capacity)
        for number, lines in enumerate(batches, start=1):
            row = None
            try:
                row = await self._submit(job, service, lines)
            finally:
                if row is None:
                    unsent = (line.key for later in batches[number:] for line in later)
                    self._holds.free(unsent, unsent=True)
            if row is None:
                return None
            questions = plural(len(lines), "question")
            if service.offline:
                file = f"{service.name}/{row.name}"
                message = f"{questions} are in {file}.jsonl; put the replies into {file}.output.jsonl"
            else:
                worth = f" (at most {dollars(row.held)})" if row.held else ""
                message = f"batch {number} of {len(batches)}: {questions} submitted to {service.name}{worth}"
            job.announce(f"factorfair: {message}")
        job.failing_since = None
        return sum(map(len, batches))

    async def _affordable(self, job: Job, plan: Plan, free: Sequence[str], *, alone: bool) -> list[BatchLine]:
        """Reserve what lines may cost; returns the lines that the limits of the run allow.

        What a limit on cost leaves out goes into later batches: lines cost much less than they may, so each
        batch that is collected frees a part of the budget. Unless the job is ``alone``, its batches that hold
        another part are collected first. If no batch is worthwhile any more, ``job.stop`` says why.
        """
        lines: list[BatchLine] = []
        for start in range(0, len(free), TOGETHER):
            requests = {key: Request.of(job.waiting[key]) for key in free[start : start + TOGETHER]}
            held, refusal = await self._holds.take(job.model, requests)
            lines += [
                BatchLine(key, job.model.body(request)) for key, request in islice(requests.items(), held)
            ]
            if refusal is None:
                continue
            if isinstance(refusal, Stop):
                job.stop = BudgetError(refusal.reason)
                break
            keys = [line.key for line in lines]
            if alone and _worthwhile(plan, keys):
                break
            if alone:
                job.stop = self._too_dear(keys, len(free))
            self._holds.free(keys, unsent=True)
            return []
        return lines

    def _too_dear(self, keys: Sequence[str], total: int) -> BudgetError:
        """The error of a run whose limit on cost allows a batch of only these keys."""
        limit, held = self._limits.ceilings.cost or 0.0, self._holds.sum(keys)
        most = f", which may cost ${held / len(keys):,.4f} each" if held else ""
        return BudgetError(
            f"max-cost {dollars(limit)} allows a batch of {len(keys):,} of {plural(total, 'question')}{most}"
            f"{TO_DO}lower max_tokens, or raise it"
        )

    async def _submit(self, job: Job, service: BatchService, lines: Sequence[BatchLine]) -> BatchRow | None:
        """Plan, upload and create a batch; None if the service does not take it now."""
        price, held = self._price(job.model), self._holds.sum(line.key for line in lines)
        origin = Origin.of(stored_name(job.model), job.model.identity)
        row = BatchRow(
            BatchRow.new_name(),
            service.name,
            service.account,
            origin.model,
            origin.identity,
            json.dumps(job.model.form),
            len(lines),
            held,
            price_in=None if price is None else price.token_in,
            price_out=None if price is None else price.token_out,
            price_answer=None if price is None else price.answer,
            replace=self._refresh,
            created=self._retry.clock(),
        )
        items = []
        for line in lines:
            query = job.waiting[line.key]
            prompt = json.dumps(query.prompt)
            items.append(BatchItem(line.key, prompt, query.repeat, query.seed, job.tries[line.key]))
        await asyncio.wrap_future(self._store.batches.plan(row, items))
        try:
            file_id = await service.upload(row.name, lines)
        except RetryableModelError as error:
            await self._creator.discard(row)
            job.endure(error, "no batch was sent", self._retry)
            return None
        except (ModelError, InputError):
            await self._creator.discard(row)
            raise
        row = replace(row, file_id=file_id or "")
        await asyncio.wrap_future(
            self._store.batches.update(row.name, file_id=row.file_id, state=Step.UPLOADED)
        )
        return row if await self._creator.create(job, row, lines) else None

    async def _out_of_time(self, job: Job) -> PendingError | BudgetError:
        """The error of a run whose minutes are used up; batches that were not being created are given up."""
        for row in self._rows(job):
            is_sent = row.state not in (Step.PLANNED, Step.UPLOADED)
            if not is_sent and await asyncio.wrap_future(self._store.batches.lead(row.name)):
                await self._creator.discard(row)
        rows = self._rows(job)
        return pending(rows) if rows else BudgetError(self._limits.ceilings.out_of_time)

    async def _wait(self, job: Job, rows: Sequence[BatchRow], seconds: float) -> None:
        """Pause before the next poll.

        Raises:
            PendingError: the run has used up its minutes.
        """
        deadline = self._limits.deadline
        if deadline is not None and self._limits.clock() + seconds >= deadline:
            raise pending(rows)
        if job.progress:
            minutes = f"{seconds:.0f} s" if seconds < 2 * MINUTE else f"{seconds / MINUTE:.0f} min"
            job.announce(f"{job.progress}, next look in {minutes}")
        await self._retry.sleep(seconds)

    def _rows(self, job: Job) -> list[BatchRow]:
        """The batches that have questions of a job; what they may cost is held."""
        rows = self._store.batches.holding(job.waiting)
        for row in rows:
            self._holds.adopt(row)
        return rows


def _worthwhile(plan: Plan, free: Sequence[str]) -> bool:
    """Whether these keys are enough for a batch."""
    return plan.service is not None and len(free) >= (1 if plan.service.offline else LEAST)


def _divided(lines: Sequence[BatchLine], service: BatchService, capacity: int) -> list[list[BatchLine]]:
    """The lines in batches of at most this many, and of as many bytes as the service takes."""
    batches: list[list[BatchLine]] = []
    size = 0
    for line in lines:
        length = len(service.encoded(line))
        if not batches or len(batches[-1]) >= capacity or size + length > service.max_bytes * MARGIN:
            batches.append([])
            size = 0
        batches[-1].append(line)
        size += length
    return batches
