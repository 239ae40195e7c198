"""Batches against a service in memory, whose faults the tests choose; time passes by sleeping."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.batches.batching import PILOT, Batching, Plan
from pytest_factorfair.batches.protocol import BatchLine, BatchReply, BatchState, BatchStatus
from pytest_factorfair.domain import Ceilings, Query, Request, Response
from pytest_factorfair.engine import Engine, LocalLimits, Retry
from pytest_factorfair.errors import (
    BudgetError,
    Cause,
    FatalModelError,
    PendingError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models.openai_errors import Complaint, ServiceError, error_of
from pytest_factorfair.models.prices import Price
from pytest_factorfair.store import ClaimResult, Store, keys
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import Clock, FakeModel, queries

WAIT = 30
HALF = Price(token_in=0.5, token_out=1.0)
COST = 2.0  # of an answer by batch


def _key(line: BatchLine) -> str:
    return line.key


def error(status: int) -> ServiceError:
    raised = error_of(status, f"status {status}", Complaint(""), headers={})
    return ServiceError(raised, Complaint("wrong"), status=None)


@dataclass
class Service:
    """Answers a batch at the poll number ``polls``; ``replies`` are those of the next batches, by key."""

    clock: Clock
    name: str = "there"
    account: str = "a"
    max_lines: int = 50_000
    max_bytes: int = 10**9
    discount: float | None = 0.5
    offline: bool = False
    polls: int = 1
    quota: int = 10**9
    lag: float = 0.0
    lost: list[BaseException] = field(default_factory=list)
    """What the next creations raise after they have created the batch."""
    throttled: Counter[str] = field(default_factory=Counter)
    """How often the next calls of a method are refused."""
    state: BatchState = BatchState.ENDED
    withheld: bool = False
    """Whether batches that have ended have no file of results."""
    silent: dict[str, int] = field(default_factory=dict)
    """How many batches do not answer a key."""
    errors: dict[str, ServiceError] = field(default_factory=dict)
    without_files: bool = False
    batches: dict[str, tuple[str, str, list[BatchLine], float]] = field(default_factory=dict)
    polled: Counter[str] = field(default_factory=Counter)
    completions: Counter[str] = field(default_factory=Counter)
    files: dict[str, list[BatchLine]] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        return [len(lines) for _, _, lines, _ in self.batches.values()]

    def encoded(self, line: BatchLine) -> bytes:
        return line.key.encode()

    async def check(self) -> None:
        pass

    async def upload(self, name: str, lines: Sequence[BatchLine]) -> str | None:
        self._throttle("upload")
        self.files[name] = list(lines)
        return None if self.without_files else name

    async def create(self, name: str, file_id: str | None, lines: Sequence[BatchLine]) -> BatchStatus:
        self._throttle("create")
        batch_id = f"batch-{len(self.batches)}"
        sent = self.files[name]
        assert (file_id is None) == self.without_files
        assert sorted(lines, key=_key) == sorted(sent, key=_key) if lines else file_id
        self.batches[batch_id] = (name, file_id or "", sent, self.clock())
        if self.lost:
            raise self.lost.pop()
        return BatchStatus(batch_id, BatchState.RUNNING, name=name, file_id=file_id)

    async def find(
        self,
        name: str,
        file_id: str | None,  # noqa: ARG002  # as the protocol has it
        since: float,
        lines: int,  # noqa: ARG002
        keys: Collection[str],  # noqa: ARG002
    ) -> Sequence[BatchStatus] | None:
        return [
            BatchStatus(batch_id, BatchState.RUNNING, name=batch_name)
            for batch_id, (batch_name, _, lines, created) in self.batches.items()
            if batch_name == name and self.clock() >= created + self.lag >= since
        ]

    async def statuses(self, ids: Sequence[str]) -> Sequence[BatchStatus]:
        self._throttle("statuses")
        return [self._status(batch_id) for batch_id in ids]

    def _throttle(self, method: str) -> None:
        if self.throttled[method]:
            self.throttled[method] -= 1
            raise RetryableModelError("status 429", throttled=True)

    def _status(self, batch_id: str) -> BatchStatus:
        name, file_id, lines, _ = self.batches[batch_id]
        self.polled[batch_id] += 1
        running = BatchStatus(batch_id, BatchState.RUNNING, name=name, file_id=file_id, total=len(lines))
        if len(lines) > self.quota:
            return replace(running, state=BatchState.FAILED, quota=True, message="too many tokens")
        if self.polled[batch_id] < self.polls and batch_id not in self.cancelled:
            return running
        outputs = () if self.withheld else (batch_id,)
        failed = sum(bool(self.silent.get(line.key)) for line in lines)
        return replace(running, state=self.state, done=len(lines) - failed, failed=failed, outputs=outputs)

    async def results(self, status: BatchStatus) -> AsyncIterator[BatchReply]:
        self._throttle("results")
        for line in reversed(self.batches[status.id][2]):
            if line.key in self.errors:
                yield BatchReply(line.key, self.errors[line.key])
            elif self.silent.get(line.key):
                self.silent[line.key] -= 1
            else:
                self.completions[line.key] += 1
                yield BatchReply(line.key, {"text": f"batch: {line.body['prompt']}"})

    async def cancel(self, batch_id: str) -> None:
        self.cancelled.append(batch_id)

    async def close(self) -> None:
        pass


@dataclass
class Model(FakeModel):
    batches: Service | None = None
    batch_price: Price | None = HALF
    form: tuple[str, ...] = ("f",)

    def take_form(self, form: Sequence[str]) -> None:
        self.form = tuple(form)

    def body(self, request: Request) -> Mapping[str, object]:
        return {"prompt": request.prompt}

    async def response(
        self,
        reply: Mapping[str, object] | ServiceError,
        request: Request,
        form: Sequence[str],
    ) -> Response:
        assert tuple(form) == ("f",)
        if isinstance(reply, ServiceError):
            raise reply.error
        assert reply["text"] == f"batch: {request.prompt}"
        return Response(str(reply["text"]), tokens_in=2, tokens_out=1)


@dataclass
class Ground:
    """A store, a service and a model. ``run`` is a run of its own, which may raise."""

    store: Store
    make_engine: MakeEngine
    clock: Clock
    service: Service
    model: Model
    told: list[str] = field(default_factory=list)
    asked: tuple[Query, ...] = queries(300)
    used: LocalLimits = field(default_factory=LocalLimits)

    def run(self, mode: str = "wait", *, ceilings: Ceilings | None = None) -> list[str]:
        """Bring the answers, then ask; returns the texts of the answers."""
        retry = Retry(attempts=3, sleep=self.clock.sleep, clock=self.clock)
        self.used = LocalLimits(ceilings, now=self.clock())
        engine: Engine = self.make_engine(retry=retry, limits=self.used)
        batching = Batching(self.store, engine, price=lambda _: HALF, estimate=lambda *_: 10.0)
        service = None if mode == "collect" else self.service
        plan = Plan(mode, service, {"there": self.service})  # type: ignore[arg-type]  # a mode
        try:
            batching.submit(self.model, self.asked, plan, self.told.append).result(WAIT)
            exchanges = engine.submit(self.model, self.asked).result(WAIT)
        finally:
            engine.close()
        return [exchange.response.text if exchange.response else exchange.error for exchange in exchanges]

    @property
    def keys(self) -> tuple[str, ...]:
        return keys(self.model.identity, self.asked)

    def by_batch(self, texts: list[str]) -> int:
        return sum(text.startswith("batch: ") for text in texts)


@pytest.fixture
def ground(store: Store, make_engine: MakeEngine) -> Ground:
    clock = Clock()
    service = Service(clock)
    return Ground(store, make_engine, clock, service, Model(batches=service))


def test_all_but_the_pilot_is_answered_by_one_batch_whose_cost_is_half(ground: Ground) -> None:
    texts = ground.run()
    assert ground.by_batch(texts) == 297
    assert len(ground.model.asked) == 3
    assert len(ground.service.batches) == 1
    assert ground.used.usage.calls == 300
    assert ground.used.usage.cost == ground.used.usage.batch_cost == 297 * COST
    assert ground.used.usage.batched == 297
    assert ground.told == [
        "factorfair: pilot: 3 answers at full price",
        "factorfair: batch 1 of 1: 297 questions submitted to there (at most $2,970.00)",
        "factorfair: batch: 297 questions answered",
    ]
    assert [row.state for row in ground.store.batches.all()] == ["collected"]


def test_fewer_than_a_hundred_questions_are_asked_one_by_one(ground: Ground) -> None:
    ground.asked = queries(99)
    assert ground.by_batch(ground.run()) == 0
    assert ground.told == ["factorfair: 99 questions asked one by one, at full price"]


def test_a_batch_that_is_left_is_collected_by_a_later_run_which_asks_nothing(ground: Ground) -> None:
    ground.service.polls = 2
    with pytest.raises(
        PendingError, match=r"297 answers are in 1 batch at there since .*; to do: run the same"
    ):
        ground.run("leave")
    with pytest.raises(PendingError, match="297 answers are in 1 batch at there since"):
        ground.make_engine().submit(ground.model, ground.asked).result(WAIT)  # it asks none of them
    assert len(ground.model.asked) == 3
    assert ground.by_batch(ground.run("collect")) == 297
    assert (len(ground.model.asked), ground.used.usage.calls, ground.used.usage.cost) == (3, 0, 297 * COST)


def test_polls_become_rarer_and_are_few_in_a_day(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    ground.service.polls = 153
    claim, claims = ground.store.claim, Counter[str]()

    def counted(keys: Sequence[str], *, refresh: bool) -> Future[ClaimResult]:
        claims["all"] += 1
        return claim(keys, refresh=refresh)

    monkeypatch.setattr(ground.store, "claim", counted)
    ground.run()
    assert claims["all"] < 10  # each takes 0.1 s for the keys of a release check
    assert ground.clock.slept[:4] == [15.0, 22.5, 33.75, 50.625]
    assert max(ground.clock.slept) == 600.0
    assert sum(ground.clock.slept) > 24 * 3600


@pytest.mark.parametrize(("lag", "created", "pending"), [(0.0, 1, 0), (300.0, 1, 2), (1e9, 2, 3)])
def test_a_creation_without_a_reply_is_looked_up_before_it_is_repeated(
    ground: Ground, lag: float, created: int, pending: int
) -> None:
    ground.service.lag = lag
    ground.service.lost = [RetryableModelError("reset", cause=Cause("connection"))]
    for _ in range(pending):
        with pytest.raises(PendingError):
            ground.run("leave")
        ground.clock.now += 120.0
    assert ground.by_batch(ground.run()) == 297
    assert len(ground.service.batches) == created
    assert len(ground.service.files) == 1
    assert set(ground.service.completions.values()) == {1}


def test_two_batches_of_one_file_leave_one(ground: Ground) -> None:
    ground.service.lag = 500.0  # longer than is waited for
    ground.service.lost = [RetryableModelError("reset", cause=Cause("connection"))]
    ground.service.polls = 20
    assert ground.by_batch(ground.run()) == 297
    assert ground.service.cancelled == ["batch-0"]
    assert set(ground.service.completions.values()) == {1}

    assert ground.used.usage.calls == 3 + 2 * 297  # each creation is on the account
    assert (ground.used.usage.completed, ground.used.usage.unreadable) == (2 * 297, 297)
    assert ground.used.usage.cost == ground.used.usage.batch_cost == 2 * 297 * COST


@pytest.mark.parametrize("without_files", [False, True])
def test_a_creation_without_a_reply_is_repeated_once(ground: Ground, *, without_files: bool) -> None:
    """In whichever run; then the user decides. Without files, the lines are sent again from the store."""
    ground.service.lag, ground.service.without_files = 1e9, without_files
    for run in range(4):
        ground.service.lost = [RetryableModelError("status 500", cause=Cause("status", "500"))]
        match = "whether it was created is unknown" if not run else "adopt .* ID; .* forget"
        with pytest.raises(PendingError, match=match):
            ground.run("leave" if run < 3 else "wait")
        ground.clock.now += 400.0
        assert ground.service.sizes == [297] * min(run + 1, 2)
    (row,) = ground.store.batches.open()
    assert (row.state, row.held) == ("creating", 2 * 2970.0)
    ground.store.batches.update(row.name, batch_id="batch-1", state="submitted", cause="").result(WAIT)
    ground.service.lost = []
    assert ground.by_batch(ground.run()) == 297
    assert (ground.used.usage.cost, ground.service.sizes) == (297 * COST, [297, 297])


def test_a_second_creation_that_is_refused_was_none(ground: Ground) -> None:
    ground.service.lag = 1e9
    ground.service.lost = [RetryableModelError("status 500", cause=Cause("status", "500"))]
    with pytest.raises(PendingError):
        ground.run("leave")
    ground.clock.now += 400.0
    ground.service.throttled["create"] = 1
    with pytest.raises(PendingError, match="status 429: no batch was created"):
        ground.run("leave")
    assert ground.used.usage.calls == 0
    ground.clock.now += 400.0
    assert ground.by_batch(ground.run("leave")) == 297
    assert ground.service.sizes == [297, 297]


def test_unanswered_lines_go_into_another_batch_and_few_are_asked_one_by_one(ground: Ground) -> None:
    silent = [key for key in ground.keys[3:] if key > "8"]
    assert len(silent) > 100
    ground.service.silent = dict.fromkeys(silent, 1) | {silent[0]: 9}
    texts = ground.run()
    assert len(ground.service.batches) == 2
    assert ground.by_batch(texts) == 296
    assert set(ground.service.completions.values()) == {1}


def test_a_refused_line_is_an_error_of_its_question(ground: Ground) -> None:
    wrong = ground.keys[7]
    ground.service.errors = {wrong: error(400)}
    texts = ground.run()
    assert texts[7] == "status 400"
    assert (ground.by_batch(texts), len(ground.model.asked)) == (296, 3)


def test_a_batch_of_refused_lines_ends_the_run_and_frees_the_keys(ground: Ground) -> None:
    ground.service.errors = dict.fromkeys(ground.keys, error(400))
    with pytest.raises(FatalModelError, match=r"status 400 \(297 lines of a batch, and none was answered\)"):
        ground.run()
    ground.service.errors = {}
    assert ground.by_batch(ground.run()) == 294  # after another pilot


@pytest.mark.parametrize(
    ("status", "message"), [(404, "paid and lost; .* factorfair batch forget"), (401, "still there")]
)
def test_results_are_lost_only_if_the_service_has_them_no_longer(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, status: int, message: str
) -> None:
    async def results(_: BatchStatus) -> AsyncIterator[BatchReply]:
        for refusal in [error(status)]:
            raise refusal.error
            yield

    with monkeypatch.context() as patch:
        patch.setattr(ground.service, "results", results)
        with pytest.raises(PendingError, match=message):
            ground.run()
    assert ground.by_batch(ground.run()) == 297
    assert ground.service.sizes == [297]


def test_batches_after_a_refused_one_are_no_calls(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> str:
        raise RejectedRequestError("status 413", billable=False)

    monkeypatch.setattr(ground.service, "upload", refuse)
    ground.service.max_lines = 106  # of which 100 are used
    with pytest.raises(FatalModelError, match="status 413"):
        ground.run()
    assert ground.used.usage.calls == 3  # of the pilot


def test_answers_that_a_service_counts_and_does_not_send_are_not_asked_again(ground: Ground) -> None:
    ground.service.withheld = True
    with pytest.raises(PendingError, match=r"there counts 297 answers, and has no results; .* forget"):
        ground.run()
    assert ground.service.sizes == [297]


def test_no_batch_is_sent_without_a_pilot(ground: Ground, file: Path) -> None:
    """Not even if another process has claimed all questions at first."""
    with Store.open(f"sqlite:///{file}") as other:
        other.claim(ground.keys, refresh=False).result(WAIT)
        sleep, asked_before_batches = ground.clock.sleep, []

        async def release(seconds: float) -> None:
            await asyncio.wrap_future(other.release(ground.keys))
            await sleep(seconds)

        create = ground.service.create

        async def created(*args: Any) -> BatchStatus:
            asked_before_batches.append(len(ground.model.asked))
            return await create(*args)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ground.clock, "sleep", release)
            patch.setattr(ground.service, "create", created)
            assert ground.by_batch(ground.run()) == 297
    assert asked_before_batches == [3]


def test_after_a_refused_upload_nothing_is_asked_one_by_one(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> str:
        raise RejectedRequestError("status 403", billable=False)

    monkeypatch.setattr(ground.service, "upload", refuse)
    engine: Engine = ground.make_engine()
    plan = Plan("wait", ground.service, {"there": ground.service})
    batching = Batching(ground.store, engine, price=lambda _: HALF, estimate=lambda *_: 10.0)
    with pytest.raises(FatalModelError, match="status 403"):
        batching.submit(ground.model, ground.asked, plan, ground.told.append).result(WAIT)
    with pytest.raises(FatalModelError, match="status 403"):
        engine.submit(ground.model, ground.asked).result(WAIT)
    assert len(ground.model.asked) == 3


def test_the_quota_of_a_service_makes_batches_small_and_one_at_a_time(ground: Ground) -> None:
    ground.service.quota = 100
    assert ground.by_batch(ground.run()) == 222  # of the last batch, too few are left
    assert ground.service.sizes == [297, 148, 74, 74, 74]
    assert set(ground.service.completions.values()) == {1}
    assert {300.0, 600.0} <= set(ground.clock.slept)


@pytest.mark.parametrize(
    ("method", "state"),
    [
        ("upload", "no batch was sent"),
        ("create", "no batch was created"),
        ("statuses", "the batches are still there"),
        ("results", "the results are still there"),
    ],
)
def test_a_service_that_fails_is_tried_again_for_a_while(ground: Ground, method: str, state: str) -> None:
    """A later run goes on from there: it collects what was submitted, and submits what was not."""
    ground.service.throttled[method] = 1000
    with pytest.raises(PendingError, match=f"status 429: {state}"):
        ground.run()
    assert ground.clock.slept[:2] == [15.0, 22.5]
    assert 300 <= sum(ground.clock.slept) < 500
    submitted = method in ("statuses", "results")
    assert len(ground.store.batches.open()) == submitted
    ground.service.throttled[method] = 5
    assert ground.by_batch(ground.run()) == sum(ground.service.sizes) == (297 if submitted else 294)
    assert ground.used.usage.calls == (0 if submitted else 297)
    assert len(ground.service.batches) == 1
    assert set(ground.service.completions.values()) == {1}


def test_a_batch_that_is_cancelled_elsewhere_ends_the_run_and_the_next_one_asks_the_rest(
    ground: Ground,
) -> None:
    ground.service.state = BatchState.CANCELLED
    ground.service.silent = dict.fromkeys(ground.keys[150:], 1)
    with pytest.raises(PendingError, match=r"batch \w{8} was cancelled, 149 of 297 are left"):
        ground.run()
    assert ground.store.count(ground.keys) == 151
    ground.service.state = BatchState.ENDED
    assert ground.by_batch(ground.run()) == 294
    assert ground.service.sizes == [297, 146]


def test_a_line_is_a_call(ground: Ground) -> None:
    with pytest.raises(BudgetError):
        ground.run(ceilings=Ceilings(calls=200))
    assert sum(ground.service.completions.values()) == 197


def test_a_limit_on_cost_sends_what_fits_and_the_rest_as_it_is_collected(ground: Ground) -> None:
    """A line holds $10, and then costs $2: 150 lines hold $1,500, and free $1,200, which 120 lines hold."""
    texts = ground.run(ceilings=Ceilings(cost=1500.0))
    assert ground.service.sizes == [150, 120]
    assert ground.by_batch(texts) == 270  # the rest is too little for another batch
    assert ground.used.usage.cost == 270 * COST


def test_a_limit_on_cost_ends_the_run_once_it_allows_no_further_batch(ground: Ground) -> None:
    """128 lines hold $1,280, and cost $256; 102 hold the rest, and cost $204; 82 would hold what is left."""
    ceilings = Ceilings(cost=1280.0)
    ground.asked = queries(600)
    expected = (
        r"max-cost \$1,280.00 allows a batch of 82 of 367 questions, which may cost \$10.0000 each; to do: "
    )
    with pytest.raises(BudgetError, match=f"^{expected}lower max_tokens, or raise it$"):
        ground.run(ceilings=ceilings)
    assert (ground.service.sizes, ground.used.usage.cost) == ([128, 102], 230 * COST)
    with pytest.raises(BudgetError, match="allows a batch of 82 of 134 questions"):
        ground.run(ceilings=ceilings)  # a run of its own, with another pilot
    assert (
        ground.by_batch(ground.run(ceilings=ceilings)) == 600 - 3 * PILOT - 3
    )  # the last three are no batch
    assert set(ground.service.completions.values()) == {1}


def test_a_batch_of_an_earlier_run_counts_towards_the_limit_on_cost_before_another_is_sent(
    ground: Ground,
) -> None:
    ground.service.polls = 2
    with pytest.raises(PendingError):
        ground.run("leave")
    ground.asked = queries(600)  # of which 297 hold $2,970, and then cost $594
    texts = ground.run(ceilings=Ceilings(cost=2994.0))
    assert ground.service.sizes == [297, 240]
    assert ground.by_batch(texts) == 297 + 240  # the rest is too little for another batch


def test_a_limit_on_cost_that_allows_less_than_a_batch_sends_none(ground: Ground) -> None:
    with pytest.raises(BudgetError, match=r"max-cost \$100.00 allows a batch of 10 of 297 questions"):
        ground.run(ceilings=Ceilings(cost=100.0))
    assert (ground.service.sizes, ground.used.usage.calls) == ([], 3)


@pytest.mark.parametrize("accounts", ["ab", "ba"])
def test_of_batches_of_two_keys_those_of_this_one_are_collected(ground: Ground, accounts: str) -> None:
    ground.service.polls = 99
    for account, asked in zip(accounts, (queries(300), queries(600)), strict=True):
        ground.service.account, ground.asked = account, asked
        with pytest.raises(PendingError):
            ground.run("leave")
    batch_of = dict(zip(accounts, ground.service.batches, strict=True))
    ground.service.account, ground.service.polls = "a", 1
    polled = ground.service.polled[batch_of["b"]]
    with pytest.raises(PendingError, match="another key of there"):
        ground.run("leave")
    assert ground.service.polled[batch_of["b"]] == polled
    assert [row.state for row in ground.store.batches.all() if row.account == "a"] == ["collected"]


def test_a_batch_of_another_key_is_left_alone(ground: Ground) -> None:
    ground.service.polls = 9
    with pytest.raises(PendingError):
        ground.run("leave")
    ground.service.account = "b"
    polled = ground.service.polled.total()
    with pytest.raises(PendingError, match="was submitted with another key of there"):
        ground.run("leave")
    assert ground.service.polled.total() == polled


def test_an_answer_that_is_cut_off_ends_the_run_before_a_batch(ground: Ground) -> None:
    async def cut(_: Request) -> Response:
        return Response("A ...", finish="length", cost=0.0)

    ground.model.reply = cut
    with pytest.raises(FatalModelError, match="max_tokens"):
        ground.run()
    assert not ground.service.files
